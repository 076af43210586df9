package groups

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
