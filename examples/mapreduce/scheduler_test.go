package main

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func labels(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint("t", i))
	}
	return all
}

func tally(to []int, workers int) []int {
	n := make([]int, workers)
	for _, w := range to {
		n[w]++
	}
	return n
}

// While nothing is known of workers each gets as many tasks.
func TestFirstShare(t *testing.T) {
	s := newScheduler(4)
	if got := tally(s.share(labels(12), 0), 4); !slices.Equal(got, []int{3, 3, 3, 3}) {
		t.Errorf("the workers get %d tasks", got)
	}
}

// A worker that was four times as fast in one phase gets four times as many tasks in the next.
func TestThroughputShares(t *testing.T) {
	s := newScheduler(2)
	all := labels(10)
	for i, w := range s.share(all, 0) {
		at := time.Duration(i/2+1) * time.Second
		if w == 1 {
			at *= 4
		}
		s.finished(all[i], w, at)
	}
	if got := tally(s.share(labels(50), 20*time.Second), 2); !slices.Equal(got, []int{40, 10}) {
		t.Errorf("the workers get %d tasks", got)
	}
}

// A copy goes to the worker with the fewest outstanding tasks, of two with as few to the faster
// one, and never to a worker that has one.
func TestCopiesGoToTheFewestOutstanding(t *testing.T) {
	s := newScheduler(4)
	all := labels(16)
	to := s.share(all, 0)
	left := []int{0, 0, 2, 4} // outstanding, of four each; the third and the fourth are slow
	for i, w := range to {
		if done := 3 - i/4; done >= left[w] { // the last ones of each stay
			at := 4 * time.Second
			if w == 1 {
				at = 3 * time.Second // so the second worker is faster than the first
			}
			s.finished(all[i], w, at)
		}
	}
	var got []int
	for i, label := range all {
		if to[i] == 3 {
			w, ok := s.again(label, 8*time.Second)
			if !ok {
				t.Fatalf("nobody gets a copy of %s", label)
			}
			got = append(got, w)
		}
	}
	// The first two go to the idle ones, the faster one first; then these have one each, and
	// the third worker two.
	if want := []int{1, 0, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("copies go to %d, not to %d", got, want)
	}
}

// A task gets no copy where that is expected to be done later than the one that exists, and none
// when all workers have one.
func TestNoUselessCopies(t *testing.T) {
	s := newScheduler(2)
	all := labels(6)
	for i, w := range s.share(all, 0) {
		if w == 0 {
			s.finished(all[i], w, time.Duration(i+1)*time.Second) // and then it is idle
		} else if i < 5 {
			s.finished(all[i], w, time.Duration(10*i)*time.Second)
		}
	}
	last := all[5]
	if w, ok := s.again(last, 41*time.Second); !ok || w != 0 {
		t.Errorf("the idle worker does not get a copy: %d, %v", w, ok)
	}
	if w, ok := s.again(last, 41*time.Second); ok {
		t.Errorf("worker %d gets a third copy", w)
	}
	if others := s.finished(last, 0, 42*time.Second); !slices.Equal(others, []int{1}) {
		t.Errorf("%d have another copy", others)
	}
	if others := s.finished(last, 1, 43*time.Second); others != nil {
		t.Errorf("a second end counts: %d", others)
	}

	s = newScheduler(2)
	s.share(all[:2], 0)
	if w, ok := s.again(all[0], time.Second); ok {
		t.Errorf("worker %d, which is as busy, gets a copy", w)
	}
}
