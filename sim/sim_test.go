package sim_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/phalanx-go/phalanx/sim"
)

// seldom lists events that a thousand seeds need not meet.
var seldom = []string{
	"cycle broken by the path in WAIT", "get of a copy that no owner has heard of", "place ordered of no member", "struck: a warming owner", "struck: a sender",
	"lease asked about", "receiver moved", "owner says nothing: ErrUnavailable", "fault: two-way partition of groups", "eviction refused", "late watch ended",
	"place ended: its coordinator is gone", "leave: fenced meanwhile", "leave failed", "refused by a node that leaves: place",
	"lost place found by asking", "check finds that a copy has changed in memory", "target starts over that streams into another reduce",
}

// TestMain collects garbage less often, as cmd/sim does.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800)
	}
	os.Exit(m.Run())
}

// TestSeeds runs many small clusters.
func TestSeeds(t *testing.T) {
	seeds := uint64(1000)
	if testing.Short() {
		seeds = 200
	}
	var mu sync.Mutex
	met := map[string]bool{}
	var next atomic.Uint64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := next.Add(1); seed <= seeds && !t.Failed(); seed = next.Add(1) {
				cfg := sim.Config{Seed: seed}
				r := sim.Run(cfg)
				if r.Err != nil {
					cfg, small := sim.Shrink(cfg, r)
					t.Errorf("seed %d: %v\nmade small:\n%s\n%v\nreplay: go run ./cmd/sim %s -v", seed, r.Err,
						strings.Join(small.Script, "\n"), small.Err, cfg.Replay())
				}
				mu.Lock()
				for what := range r.Met {
					met[what] = true
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, what := range append(sim.Faults(), sim.Rare()...) {
		if !met[what] && !slices.Contains(seldom, what) && !t.Failed() && !testing.Short() {
			t.Errorf("no run has met: %s", what)
		}
	}
}

// TestReplay compares the traces of two runs with the same seed.
func TestReplay(t *testing.T) {
	hashes := map[uint64]uint64{}
	for seed := uint64(1); seed <= 20; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			a, b := sim.Run(sim.Config{Seed: seed}), sim.Run(sim.Config{Seed: seed})
			if a.Hash != b.Hash || a.Steps != b.Steps {
				t.Errorf("one run has %d steps and hash %x, the other %d and %x", a.Steps, a.Hash, b.Steps, b.Hash)
			}
			if other, ok := hashes[a.Hash]; ok {
				t.Errorf("seeds %d and %d give the same trace", other, seed)
			}
			hashes[a.Hash] = seed
		})
	}
}

// TestParts runs parts of a schedule, as Shrink does.
func TestParts(t *testing.T) {
	r := sim.Run(sim.Config{Seed: 1})
	for _, c := range []sim.Config{{Seed: 1, Only: []int{}}, {Seed: 1, Only: r.Actions[:2]}, {Seed: 1, Only: r.Actions[:2], Calm: true}} {
		few := sim.Run(c)
		if few.Err != nil || len(few.Actions) != len(c.Only) {
			t.Errorf("%s did the actions %v: %v", c.Replay(), few.Actions, few.Err)
		}
		if again := sim.Run(c); again.Hash != few.Hash {
			t.Errorf("%s is not the same run twice", c.Replay())
		}
	}
}
