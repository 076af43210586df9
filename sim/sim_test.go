package sim_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/phalanx-go/phalanx/sim"
)

// rare is what the seeds must meet, so that a workload that never gets there is
// noticed.
var rare = []string{
	"message lost", "message twice", "join", "shard moved", "asked a node that does not own", "late grant given back",
	"lease of a partial copy", "transfer resumed", "stream broken", "bad piece", "sender ahead", "sender behind",
	"prefix cleared: reset", "prefix cleared: aborted", "put fails half-way", "put of equal bytes", "put waits for another",
	"put final without its caller", "inline", "eviction granted", "reduce inline", "reduce attaches to another",
	"reduce gets the recorded answer", "reduce: ancestors cleared", "reduce: replaced", "reduce: completed", "place cleared",
	"source of a reduce starts over", "bad piece asked for again", "receiver found slow", "stream beside a slow one", "receiver moved",
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
				r := sim.Run(sim.Config{Seed: seed})
				if r.Err != nil {
					t.Errorf("seed %d: %v\nreplay: go run ./cmd/sim --seed %d -v", seed, r.Err, seed)
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
	for _, what := range rare {
		if !met[what] && !t.Failed() && !testing.Short() {
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
