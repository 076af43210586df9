package sim_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/phalanx-go/phalanx/sim"
)

// TestSeeds runs many small clusters.
func TestSeeds(t *testing.T) {
	seeds := uint64(1000)
	if testing.Short() {
		seeds = 200
	}
	var next atomic.Uint64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := next.Add(1); seed <= seeds && !t.Failed(); seed = next.Add(1) {
				if r := sim.Run(sim.Config{Seed: seed}); r.Err != nil {
					t.Errorf("seed %d: %v\nreplay: go run ./cmd/sim --seed %d -v", seed, r.Err, seed)
				}
			}
		})
	}
	wg.Wait()
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
