package main

import (
	"math/rand/v2"
	"time"
)

// tree arranges hosts 0 to n−1: host 0 is the root, and each host has at most degree children.
// Without a degree all others are children of host 0, which is a central manager.
type tree struct {
	n, degree int
}

func (t tree) central() bool { return t.degree == 0 }

// parent returns the host above h, and -1 above the root.
func (t tree) parent(h int) int {
	switch {
	case h == 0:
		return -1
	case t.central():
		return 0
	}
	return (h - 1) / t.degree
}

// children returns how many hosts are directly below h.
func (t tree) children(h int) int {
	if t.central() {
		if h == 0 {
			return t.n - 1
		}
		return 0
	}
	first := h*t.degree + 1
	return max(0, min(t.degree, t.n-first))
}

// inner returns the hosts that have children.
func (t tree) inner() (all []int) {
	for h := range t.n {
		if t.children(h) > 0 {
			all = append(all, h)
		}
	}
	return all
}

// way is the delay of a message from one host to another, the same in both directions and in
// every run: a quarter of the mean, and an exponentially distributed rest, as few ways are long.
func way(a, b int, mean time.Duration) time.Duration {
	if a == b || mean == 0 {
		return 0
	}
	r := rand.New(rand.NewPCG(uint64(min(a, b)), uint64(max(a, b))))
	return mean/4 + time.Duration(r.ExpFloat64()*float64(mean*3/4))
}
