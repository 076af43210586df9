package reduce

import "fmt"

// A Tree is the shape of a Reduce: a complete tree of n places and degree d,
// filled from the left. A place's position is its index in level order, so
// that the root is 0. Sources take places in generalized in-order: first
// child, the place itself, second child, …, d-th child (section 3.4.2).
type Tree struct {
	n, d      int
	positions []int // by rank in in-order
	ranks     []int // by position
}

// NewTree returns the tree of n places and degree d, both at least 1.
func NewTree(n, d int) Tree {
	if n < 1 || d < 1 {
		panic(fmt.Sprintf("reduce: a tree of %d places and degree %d", n, d))
	}
	t := Tree{n: n, d: min(d, n), positions: make([]int, 0, n), ranks: make([]int, n)}
	t.walk()
	for i, p := range t.positions {
		t.ranks[p] = i
	}
	return t
}

// walk fills positions. It has a stack of its own, since a chain is as deep as
// it is long.
func (t *Tree) walk() {
	type step struct {
		position int
		enter    bool // its subtree, or else only the place itself
	}
	stack := []step{{0, true}}
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !s.enter {
			t.positions = append(t.positions, s.position)
			continue
		}
		kids := t.Children(s.position)
		for i := len(kids) - 1; i >= 1; i-- {
			stack = append(stack, step{kids[i], true})
		}
		stack = append(stack, step{s.position, false})
		if len(kids) > 0 {
			stack = append(stack, step{kids[0], true})
		}
	}
}

// Len returns the number of places.
func (t Tree) Len() int { return t.n }

// Degree returns the largest number of children that a place can have.
func (t Tree) Degree() int { return t.d }

// Position returns where the i-th source in in-order is placed; i starts at 0.
func (t Tree) Position(i int) int { return t.positions[i] }

// Rank is the inverse of Position.
func (t Tree) Rank(p int) int { return t.ranks[p] }

// Parent returns the position above p, or -1 for the root.
func (t Tree) Parent(p int) int {
	if p == 0 {
		return -1
	}
	return (p - 1) / t.d
}

// Children returns the positions below p, from left to right. The caller owns
// the slice.
func (t Tree) Children(p int) []int {
	first := p*t.d + 1
	if first >= t.n {
		return nil
	}
	kids := make([]int, 0, t.d)
	for c := first; c < min(first+t.d, t.n); c++ {
		kids = append(kids, c)
	}
	return kids
}

// Order returns p and its children in the order in which p combines them. The
// caller owns the slice.
func (t Tree) Order(p int) []int {
	kids := t.Children(p)
	if len(kids) == 0 {
		return []int{p}
	}
	return append([]int{kids[0], p}, kids[1:]...)
}

// Ancestors returns the positions above p, from its parent to the root. The
// caller owns the slice.
func (t Tree) Ancestors(p int) []int {
	var above []int
	for a := t.Parent(p); a >= 0; a = t.Parent(a) {
		above = append(above, a)
	}
	return above
}
