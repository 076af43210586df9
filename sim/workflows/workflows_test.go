package workflows

import (
	"testing"

	"github.com/phalanx-go/phalanx/sim"
)

func TestSeeds(t *testing.T) {
	n := uint64(200)
	if testing.Short() {
		n = 60
	}
	for seed := range n {
		if r := sim.Run(sim.Config{Seed: seed, Services: []sim.Kind{Kind}, Alone: true}); r.Err != nil {
			t.Fatalf("seed %d: %v", seed, r.Err)
		}
	}
}
