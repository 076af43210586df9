package main

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/internal/leaks"
)

func TestMain(m *testing.M) {
	if config := os.Getenv(nodeVar); config != "" {
		if err := beNode(config); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	leaks.VerifyTestMain(m)
}

// Every host but the root has a parent with at most ten children, and three levels hold a hundred.
func TestTreeOfDegreeTen(t *testing.T) {
	tr := tree{100, 10}
	below := map[int]int{}
	for h := 1; h < tr.n; h++ {
		below[tr.parent(h)]++
		if hops := depth(tr, h); hops > 2 {
			t.Errorf("host %d is %d hops from the root", h, hops)
		}
	}
	for h := range tr.n {
		if k := tr.children(h); k != below[h] || k > 10 {
			t.Errorf("host %d has %d children, and says %d", h, below[h], k)
		}
	}
	if inner := tr.inner(); !slices.Equal(inner, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Errorf("the inner hosts are %d", inner)
	}
	if c := (tree{100, 0}); c.children(0) != 99 || c.parent(57) != 0 || c.children(57) != 0 {
		t.Error("a central manager has all others as children")
	}
}

func depth(t tree, h int) (hops int) {
	for ; h > 0; h = t.parent(h) {
		hops++
	}
	return hops
}

// No host passes a round before all have entered it, in any structure.
func TestNobodyPassesEarly(t *testing.T) {
	f, err := launch(3)
	if err != nil {
		t.Fatal(err)
	}
	defer f.stop()
	for _, degree := range []int{0, 1, 3} {
		all, err := f.pass(passage{Hosts: 14, Degree: degree, Rounds: 4, Delay: 5 * time.Millisecond}, fmt.Sprint("test/", degree))
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != 14 {
			t.Fatalf("degree %d: %d hosts", degree, len(all))
		}
		for round := range 4 {
			last := int64(0)
			for _, h := range all {
				last = max(last, h.Entered[round])
			}
			if passed := first(all, round); passed < last {
				t.Errorf("degree %d, round %d: a host passes %v before the last one enters", degree, round, time.Duration(last-passed))
			}
		}
	}
}

// A way is as long in both directions and in every run.
func TestWays(t *testing.T) {
	sum := time.Duration(0)
	for h := 1; h < 1000; h++ {
		there, back := way(0, h, time.Second), way(h, 0, time.Second)
		if there != back || there < time.Second/4 {
			t.Fatalf("there and back to %d: %v, %v", h, there, back)
		}
		sum += there
	}
	if mean := sum / 999; mean < 900*time.Millisecond || mean > 1100*time.Millisecond {
		t.Errorf("ways of 1 s take %v on average", mean)
	}
	if way(3, 3, time.Second) != 0 || way(1, 2, 0) != 0 {
		t.Error("a way to itself, or without delays, takes time")
	}
}

// two measures from the first passage of one round to the first of the next.
func TestTwo(t *testing.T) {
	ms := int64(time.Millisecond)
	all := []times{{Passed: []int64{10 * ms, 50 * ms}}, {Passed: []int64{12 * ms, 45 * ms}}}
	if got := two(all, 0); got != 35 {
		t.Errorf("two barriers take %v ms", got)
	}
	if got := spread(all, 0); got != 2 {
		t.Errorf("the news takes %v ms", got)
	}
}
