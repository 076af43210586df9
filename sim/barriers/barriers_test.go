package barriers

import "testing"

func TestSeeds(t *testing.T) {
	n := uint64(1000)
	if testing.Short() {
		n = 100
	}
	for seed := range n {
		if err := Run(Config{Seed: seed}); err != nil {
			t.Fatal(err)
		}
	}
}

// What is planted is found.
func TestPlantedMistakes(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	for m := None + 1; m < mistakes; m++ {
		found := false
		for seed := uint64(0); seed < 2500 && !found; seed++ {
			found = Run(Config{Seed: seed, Mistake: m}) != nil
		}
		if !found {
			t.Errorf("mistake %d is not found", m)
		}
	}
}
