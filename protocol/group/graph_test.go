package group

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// The table of group specification 1.
var table = []struct{ n, degree, diameter, all, notEchoing int }{
	{2, 1, 1, 2, 1}, {3, 2, 1, 6, 4}, {4, 3, 1, 12, 9}, {5, 4, 1, 20, 16}, {8, 5, 2, 40, 33}, {12, 6, 2, 72, 61},
	{16, 7, 2, 112, 97}, {32, 9, 3, 288, 257}, {48, 10, 3, 480, 433}, {64, 11, 3, 704, 641}, {100, 14, 3, 1400, 1301},
	{1000, 20, 5, 20000, 19001}, {10000, 28, 6, 280000, 270001},
}

func TestTable(t *testing.T) {
	for _, c := range table {
		if Degree(c.n) != c.degree || WaveMessages(c.n) != c.notEchoing || c.n*len(Neighbours(0, c.n)) != c.all {
			t.Errorf("%d members: degree %d, %d messages, %d over all edges; want %+v", c.n, Degree(c.n), WaveMessages(c.n), c.n*len(Neighbours(0, c.n)), c)
		}
		if d := rounds(c.n, 0, nil); d != c.diameter {
			t.Errorf("%d members: diameter %d, want %d", c.n, d, c.diameter)
		}
	}
}

// rounds returns after how many rounds a wave that starts at a rank has reached all
// live ones; -1: it does not.
func rounds(n, from int, dead map[int]bool) int {
	at := map[int]int{from: 0}
	last := 0
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		for _, next := range Neighbours(queue[0], n) {
			if _, ok := at[next]; !ok && !dead[next] {
				at[next] = at[queue[0]] + 1
				last = at[next]
				queue = append(queue, next)
			}
		}
	}
	if len(at)+len(dead) < n {
		return -1
	}
	return last
}

func TestNeighbours(t *testing.T) {
	for n := 1; n <= 200; n++ {
		for v := range n {
			all := Neighbours(v, n)
			if len(all) != Degree(n) || slices.Contains(all, v) {
				t.Fatalf("rank %d of %d has the neighbours %v, want %d others", v, n, all, Degree(n))
			}
			for _, w := range all {
				if !slices.Contains(Neighbours(w, n), v) {
					t.Fatalf("%d of %d is a neighbour of %d, which is none of it", w, n, v)
				}
			}
		}
	}
}

// Any degree−1 failures leave the graph connected (Menger: as many paths without a
// common rank between any two as the degree). All ranks are alike, so that those
// from rank 0 are enough.
func TestConnectivity(t *testing.T) {
	for _, n := range append(seq(2, 64), 100) {
		for v := 1; v < n; v++ {
			if slices.Contains(Neighbours(0, n), v) {
				continue
			}
			if paths := disjointPaths(n, 0, v); paths != Degree(n) {
				t.Errorf("%d members: %d disjoint paths from 0 to %d, want %d", n, paths, v, Degree(n))
			}
		}
	}
}

func seq(from, to int) []int {
	var all []int
	for n := from; n <= to; n++ {
		all = append(all, n)
	}
	return all
}

// disjointPaths is the maximal flow from one rank to another where each rank between
// lets one through: rank v is the edge from 2v to 2v+1.
func disjointPaths(n, from, to int) int {
	type edge struct{ a, b int }
	flow := map[edge]int{}
	neighbours := make([][]int, n)
	for v := range neighbours {
		neighbours[v] = Neighbours(v, n)
	}
	room := func(a, b int) int {
		c := 0
		switch {
		case a/2 == b/2 && a%2 == 0:
			c = 1
			if a/2 == from || a/2 == to {
				c = n
			}
		case a%2 == 1 && b%2 == 0 && slices.Contains(neighbours[a/2], b/2):
			c = 1
		}
		return c - flow[edge{a, b}]
	}
	next := func(a int) []int {
		all := []int{a ^ 1}
		for _, v := range neighbours[a/2] {
			all = append(all, 2*v+1-a%2)
		}
		return all
	}
	for paths := 0; ; paths++ {
		before := map[int]int{2 * from: -1}
		for queue := []int{2 * from}; len(queue) > 0; queue = queue[1:] {
			for _, b := range next(queue[0]) {
				if _, ok := before[b]; !ok && room(queue[0], b) > 0 {
					before[b] = queue[0]
					queue = append(queue, b)
				}
			}
		}
		if _, ok := before[2*to+1]; !ok {
			return paths
		}
		for b := 2*to + 1; before[b] >= 0; b = before[b] {
			flow[edge{before[b], b}]++
			flow[edge{b, before[b]}]--
		}
	}
}

// With degree−1 random members dead, a wave takes hardly more rounds.
func TestRoundsWithFailures(t *testing.T) {
	for n, most := range map[int]int{16: 3, 64: 4, 100: 4, 1000: 5, 10000: 6} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			r, worst := rand.New(rand.NewPCG(uint64(n), 1)), 0
			for range max(1, 5000/n) {
				dead := map[int]bool{}
				for len(dead) < Degree(n)-1 {
					if v := r.IntN(n); v != 0 {
						dead[v] = true
					}
				}
				got := rounds(n, 0, dead)
				if got < 0 {
					t.Fatalf("with %v dead some are not reached", dead)
				}
				worst = max(worst, got)
			}
			t.Logf("%d rounds at worst; the specification has seen %d", worst, most)
			if worst > most+1 {
				t.Errorf("%d rounds", worst)
			}
		})
	}
}
