//go:build mistakes

package sim_test

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/internal/planted"
	"github.com/phalanx-go/phalanx/sim"
)

// enoughSeeds is how many seeds a mistake may take to be found.
const enoughSeeds = 20_000

// TestPlanted has the cores make one mistake after the other, and says after
// how many seeds the simulator finds it.
func TestPlanted(t *testing.T) {
	defer planted.Plant(planted.None)
	for _, m := range planted.All() {
		t.Run(m.String(), func(t *testing.T) {
			planted.Plant(m)
			began := time.Now()
			found := hunt()
			if found == nil {
				t.Fatalf("%d seeds do not find it", enoughSeeds)
			}
			planted.Plant(planted.None)
			if r := sim.Run(sim.Config{Seed: found.Seed}); r.Err != nil {
				t.Fatalf("seed %d fails without it too: %v", found.Seed, r.Err)
			}
			first, _, _ := strings.Cut(found.Err.Error(), "\n")
			checkShrunk(t, m, *found)
			t.Logf("found by seed %d, in %v: %s", found.Seed, time.Since(began).Round(time.Millisecond), first)
		})
	}
}

// hunt returns the first run that fails, or nil.
func hunt() *sim.Result {
	var mu sync.Mutex
	var first *sim.Result
	var next atomic.Uint64
	var over atomic.Bool
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := next.Add(1); seed <= enoughSeeds && !over.Load(); seed = next.Add(1) {
				r := sim.Run(sim.Config{Seed: seed})
				if r.Err == nil {
					continue
				}
				over.Store(true)
				mu.Lock()
				if first == nil || r.Seed < first.Seed {
					first = &r
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return first
}

// checkShrunk makes the failure small, and runs the small one again.
func checkShrunk(t *testing.T, m planted.Mistake, r sim.Result) {
	t.Helper()
	if len(r.Actions) > 12 && r.Time > 10*time.Second {
		return // it would take long
	}
	planted.Plant(m)
	cfg, small := sim.Shrink(r)
	if len(small.Actions) > len(r.Actions) || small.Err == nil {
		t.Errorf("made small it has %d actions instead of %d, and ends in %v", len(small.Actions), len(r.Actions), small.Err)
	}
	if again := sim.Run(cfg); again.Hash != small.Hash {
		t.Errorf("%s does not replay it", cfg.Replay())
	}
}
