package reduce

import (
	"container/heap"
)

// turns is a heap of the ranks of the empty places. Some ranks may be of places that are
// not empty any more.
type turns []int

var _ heap.Interface = (*turns)(nil)

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (t turns) Len() int           { return len(t) }
func (t turns) Less(i, j int) bool { return t[i] < t[j] }
func (t turns) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *turns) Push(x any)        { *t = append(*t, x.(int)) }
func (t *turns) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	*t = (*t)[:last]
	return x
}

// turn returns the rank of p: the empty place with the lowest rank is filled first.
func (c *Coordinator) turn(p *place) int {
	return c.tree.Rank(p.pos)
}

func (c *Coordinator) atTurn(turn int) *place {
	return c.places[c.tree.Position(turn)]
}

// list adds an empty place to turns.
func (c *Coordinator) list(p *place) {
	if !p.listed {
		p.listed = true
		heap.Push(&c.turns, c.turn(p))
	}
}

// fill gives the lowest empty place in in-order to the next ready source, as
// long as there are both. A place that becomes empty meanwhile, and whose turn is
// over, waits for the next step.
func (c *Coordinator) fill() {
	var missed []*place
	last := -1
	for len(c.turns) > 0 {
		turn := c.turns[0]
		p := c.atTurn(turn)
		if p.life == vacant && turn > last {
			s := c.next()
			if s == nil {
				break
			}
			last = turn
			c.unlist(p)
			if !c.exchange(p, s) {
				c.put(p, s, c.pick(s).node)
			}
			continue
		}
		c.unlist(p)
		if p.life == vacant {
			missed = append(missed, p)
		}
	}
	for _, p := range missed {
		c.list(p)
	}
}

// unlist removes p, which is the first of turns.
func (c *Coordinator) unlist(p *place) {
	heap.Pop(&c.turns)
	p.listed = false
}
