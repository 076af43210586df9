package workflows

import (
	"testing"

	"github.com/phalanx-go/phalanx/sim"
	"github.com/phalanx-go/phalanx/sim/barriers"
	"github.com/phalanx-go/phalanx/sim/groups"
)

func TestSeeds(t *testing.T) {
	n := uint64(200)
	if testing.Short() {
		n = 60
	}
	met := map[string]bool{}
	for seed := range n {
		r := sim.Run(sim.Config{Seed: seed, Services: []sim.Kind{Kind}, Alone: true})
		if r.Err != nil {
			t.Fatalf("seed %d: %v", seed, r.Err)
		}
		for what := range r.Met {
			met[what] = true
		}
	}
	for _, what := range []string{
		"workflow: attempt of a task of a returned graph",
		"workflow: run ends with a returned graph",
		"workflow: run ends with a reduce of some inputs",
		"workflow: task of a returned graph returns a graph",
		"workflow: returned graph names an object",
		"workflow: objects that a returned graph names are kept",
		"workflow: effect in a returned graph",
		"workflow: effect in a returned graph taken back",
		"workflow: controller finds a returned graph",
		"workflow: task of a returned graph is made again",
	} {
		if !met[what] {
			t.Errorf("no seed has met: %s", what)
		}
	}
}

// One world has the store, barriers, groups and workflows.
func TestTogether(t *testing.T) {
	n := uint64(20)
	if testing.Short() {
		n = 5
	}
	for seed := range n {
		if r := sim.Run(sim.Config{Seed: seed, Services: []sim.Kind{barriers.Kind, groups.Kind, Kind}}); r.Err != nil {
			t.Fatalf("seed %d: %v", seed, r.Err)
		}
	}
}

// A seed determines a run.
func TestReplay(t *testing.T) {
	cfg := sim.Config{Seed: 15, Services: []sim.Kind{Kind}, Alone: true}
	if a, b := sim.Run(cfg), sim.Run(cfg); a.Hash != b.Hash || a.Steps != b.Steps {
		t.Errorf("the same seed gives the hashes %x and %x, in %d and %d steps", a.Hash, b.Hash, a.Steps, b.Steps)
	}
}
