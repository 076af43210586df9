package workflow

import (
	"maps"
	"slices"

	"github.com/phalanx-go/phalanx"
)

// actorPeer is a node that was called, with the calls to it that go on.
type actorPeer struct {
	calls map[uint64]*actorCall // by number
	open  []uint64              // the lowest of the numbers, sorted, at most MaxOpen. Letters have this slice: it is replaced, and never changed.
	rest  []uint64              // the higher numbers, sorted; some of these calls may be over
	next  uint64                // above all numbers
	turn  uint64                // of the last letter
	below uint64                // of the last letter
}

// peer returns a node that is called. Numbers and turns never begin anew: the node remembers those that it has seen.
func (c *ActorCaller) peer(n phalanx.NodeID) *actorPeer {
	p := c.peers[n]
	if p == nil {
		p = &actorPeer{calls: map[uint64]*actorCall{}, next: max(c.next, 1), turn: c.turn}
		c.peers[n] = p
	}
	return p
}

// forget forgets a node to which no calls go on.
func (c *ActorCaller) forget(n phalanx.NodeID) {
	p := c.peers[n]
	c.next, c.turn = max(c.next, p.next), max(c.turn, p.turn)
	c.idle.Cancel(n)
	delete(c.peers, n)
}

// add gives a call the next number.
func (p *actorPeer) add(a *actorCall) {
	a.call.Number = p.next
	p.calls[p.next], p.rest = a, append(p.rest, p.next)
	if p.next++; len(p.open) < MaxOpen {
		p.fill(p.open, nil)
	}
}

// remove forgets a call.
func (p *actorPeer) remove(number uint64) {
	delete(p.calls, number)
	if at, is := slices.BinarySearch(p.open, number); is {
		p.fill(p.open[:at], p.open[at+1:])
	} else if len(p.rest) > 2*len(p.calls) {
		p.rest = slices.DeleteFunc(p.rest, func(n uint64) bool { return p.calls[n] == nil })
	}
}

// fill has open be those numbers, and the next ones of rest.
func (p *actorPeer) fill(low, high []uint64) {
	p.open = append(append(make([]uint64, 0, len(low)+len(high)+1), low...), high...)
	for len(p.open) < MaxOpen && len(p.rest) > 0 {
		if n := p.rest[0]; p.calls[n] != nil {
			p.open = append(p.open, n)
		}
		p.rest = p.rest[1:]
	}
	if len(p.rest) == 0 {
		p.rest = nil
	}
}

// list returns what the next letter says of all calls. Below never falls: a call that was over once stays so.
func (p *actorPeer) list() OpenCalls {
	p.turn++
	below := p.next
	if len(p.calls) > len(p.open) {
		below = p.open[len(p.open)-1] + 1
	}
	p.below = max(p.below, below)
	return OpenCalls{Turn: p.turn, Open: p.open, Below: p.below}
}

// sorted returns the calls, in the order in which they were made.
func (p *actorPeer) sorted() (all []*actorCall) {
	for _, n := range slices.Sorted(maps.Keys(p.calls)) {
		all = append(all, p.calls[n])
	}
	return all
}
