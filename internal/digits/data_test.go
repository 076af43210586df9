package digits_test

import (
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx/internal/digits"
)

func load(tb testing.TB) (train, test []digits.Sample) {
	tb.Helper()
	train, test, err := digits.Load()
	if err != nil {
		tb.Fatal(err)
	}
	return train, test
}

func TestLoad(t *testing.T) {
	train, test := load(t)
	if len(train) != 1437 || len(test) != 360 {
		t.Fatalf("%d and %d samples, want 1437 and 360", len(train), len(test))
	}
	var count [digits.Classes]int
	for i, s := range slices.Concat(train, test) {
		count[s.Digit]++
		if least, most := slices.Min(s.Pixels[:]), slices.Max(s.Pixels[:]); least < 0 || most > 1 || most < 0.5 {
			t.Errorf("sample %d has pixels from %v to %v, want 0 to 1", i, least, most)
		}
	}
	if want := [digits.Classes]int{178, 182, 177, 183, 181, 182, 181, 179, 174, 180}; count != want {
		t.Errorf("samples of each digit: %v, want %v", count, want)
	}
	first := []float32{0, 0, 5. / 16, 13. / 16, 9. / 16, 1. / 16, 0, 0}
	if got := train[0]; got.Digit != 0 || !slices.Equal(got.Pixels[:8], first) {
		t.Errorf("the first sample is %d with the first row %v, want 0 and %v", got.Digit, got.Pixels[:8], first)
	}
}

func TestSplit(t *testing.T) {
	train, _ := load(t)
	for _, n := range []int{1, 2, 7, 8, 1437, 2000} {
		parts := digits.Split(train, n)
		least, most := len(train), 0
		for _, p := range parts {
			least, most = min(least, len(p)), max(most, len(p))
		}
		if len(parts) != n || !slices.Equal(slices.Concat(parts...), train) || most-least > 1 {
			t.Errorf("Split into %d: %d parts of %d to %d samples, want all samples in equal parts", n, len(parts), least, most)
		}
	}
}

func TestJitter(t *testing.T) {
	train, _ := load(t)
	a, again, other := digits.Jitter(train, 1), digits.Jitter(train, 1), digits.Jitter(train, 2)
	if !slices.Equal(a, again) {
		t.Error("two copies with one seed differ")
	}
	for i := range train {
		if a[i].Digit != train[i].Digit || a[i] == train[i] || a[i] == other[i] {
			t.Fatalf("sample %d: want the same digit, moved, and otherwise for another seed", i)
		}
		// The image loses only brightness that leaves at the edges.
		before, after := sum(train[i]), sum(a[i])
		if after > before*1.0001 || after < before*0.75 {
			t.Errorf("sample %d: the brightness %v became %v", i, before, after)
		}
	}
}

func sum(s digits.Sample) (total float32) {
	for _, v := range s.Pixels {
		total += v
	}
	return total
}
