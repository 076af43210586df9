package training

import (
	"math"
	"testing"
)

func TestCheckSum(t *testing.T) {
	a, b := []float32{1, 1e8, -3}, []float32{2, 1, 3}
	nan := float32(math.NaN())
	for _, c := range []struct {
		name string
		sum  []float32
		ok   bool
	}{
		{"exact", []float32{3, 1e8 + 1, 0}, true},
		{"rounded", []float32{3, 1e8, 0}, true},
		{"one gradient twice", []float32{5, 1e8, 3}, false},
		{"one bit off", []float32{math.Nextafter32(3, 4), 1e8, 0}, true},
		{"two bits off", []float32{3.000001, 1e8, 0}, false},
		{"not a number", []float32{nan, 1e8, 0}, false},
		{"too short", []float32{3, 1e8}, false},
	} {
		if err := checkSum(c.sum, [][]float32{a, b}); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestNames(t *testing.T) {
	for _, name := range []run{"train/b", "a/worker"} {
		if r, part, err := parseWorker(name.worker(12)); r != name || part != 12 || err != nil {
			t.Errorf("%q, %d, %v", r, part, err)
		}
	}
	for _, name := range []string{"", "t/worker/", "t/worker/x", "t/trainer"} {
		if r, part, err := parseWorker(name); err == nil {
			t.Errorf("%q was read as %q, %d", name, r, part)
		}
	}
	if got := partOf(run("x").gradient(3, 7)); got != 7 {
		t.Errorf("part %d, want 7", got)
	}
}
