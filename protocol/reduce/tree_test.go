package reduce_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// TestPlacement prints the tables of section 3.4.2.
func TestPlacement(t *testing.T) {
	datadriven.RunTest(t, "testdata/placement.txt", func(t *testing.T, d *datadriven.TestData) string {
		var degree string
		var from, to int
		d.ScanArgs(t, "degree", &degree)
		d.ScanArgs(t, "n", &from, &to)
		var b strings.Builder
		for n := from; n <= to; n++ {
			deg := n
			if degree != "n" {
				fmt.Sscan(degree, &deg)
			}
			tree := reduce.NewTree(n, deg)
			var pos, par []string
			for i := range n {
				p := tree.Position(i)
				pos = append(pos, fmt.Sprint(p))
				if up := tree.Parent(p); up < 0 {
					par = append(par, "-")
				} else {
					par = append(par, fmt.Sprint(tree.Rank(up)+1))
				}
			}
			fmt.Fprintf(&b, "%d | %s | %s\n", n, strings.Join(pos, " "), strings.Join(par, " "))
		}
		return b.String()
	})
}

// inorder is the placement written down as the paper says it.
func inorder(n, d, p int, visit func(int)) {
	if p >= n {
		return
	}
	inorder(n, d, p*d+1, visit)
	visit(p)
	for k := 2; k <= d; k++ {
		inorder(n, d, p*d+k, visit)
	}
}

func TestTreeOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "n")
		d := rapid.IntRange(1, n).Draw(t, "d")
		tree := reduce.NewTree(n, d)
		var want []int
		inorder(n, d, 0, func(p int) { want = append(want, p) })
		above := make([]int, n)
		above[0] = -1
		for i, p := range want {
			if tree.Position(i) != p || tree.Rank(p) != i {
				t.Fatalf("rank %d is at %d, want %d", i, tree.Position(i), p)
			}
			kids := tree.Children(p)
			for _, k := range kids {
				above[k] = p
			}
			order := slices.Clone(tree.Order(p))
			if !slices.IsSortedFunc(order, func(a, b int) int { return tree.Rank(a) - tree.Rank(b) }) || len(order) != len(kids)+1 {
				t.Fatalf("place %d combines %v", p, order)
			}
		}
		for p := range n {
			if tree.Parent(p) != above[p] {
				t.Fatalf("the parent of %d is %d, want %d", p, tree.Parent(p), above[p])
			}
			var up []int
			for a := above[p]; a >= 0; a = above[a] {
				up = append(up, a)
			}
			if !slices.Equal(tree.Ancestors(p), up) {
				t.Fatalf("the ancestors of %d are %v, want %v", p, tree.Ancestors(p), up)
			}
		}
	})
}
