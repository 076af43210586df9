package barrier

import (
	"slices"
	"time"
)

// A state is copied in pieces, as a big barrier's state is too long for one message. Its items
// are the elements of its lists: entrances first, then the other lists.

// items is how many items a state has.
func (s *State) items() int {
	return len(s.Entrances) + len(s.Queue) + len(s.Holders) + len(s.Asks) + len(s.Adaptive.Took) + len(s.Tombs)
}

// piece returns a copy of s with some items alone: items after the first from, at least one and
// as many as weigh no more than room. It returns their number.
func (s *State) piece(from, room int) (p State, n int) {
	p = *s
	c := cut{skip: from, room: room}
	p.Entrances = take(&c, s.Entrances, (*Entrance).Weight)
	p.Queue = take(&c, s.Queue, func(e *Entry) int { return e.weight() })
	p.Holders = take(&c, s.Holders, func(e *Entry) int { return e.weight() })
	p.Asks = take(&c, s.Asks, func(a *Asking) int { return a.Asked.Weight() + 16 })
	p.Adaptive.Took = take(&c, s.Adaptive.Took, func(*time.Duration) int { return 10 })
	p.Tombs = take(&c, s.Tombs, (*Tomb).Weight)
	return p.Clone(), c.n
}

// cut is how far a piece has come.
type cut struct {
	skip, room, n int
	full          bool
}

func take[T any](c *cut, all []T, weight func(*T) int) []T {
	first := min(c.skip, len(all))
	c.skip -= first
	end := first
	for end < len(all) && !c.full {
		w := weight(&all[end])
		if c.full = c.n > 0 && w > c.room; !c.full {
			c.room -= w
			c.n++
			end++
		}
	}
	return all[first:end:end]
}

// add appends the next piece.
func (s *State) add(p State) {
	old := *s
	*s = p
	s.Entrances, s.Queue, s.Holders = append(old.Entrances, p.Entrances...), append(old.Queue, p.Queue...), append(old.Holders, p.Holders...)
	s.Asks, s.Adaptive.Took, s.Tombs = append(old.Asks, p.Asks...), append(old.Adaptive.Took, p.Adaptive.Took...), append(old.Tombs, p.Tombs...)
}

// sound reports whether each reference to an entrance finds it.
func (s *State) sound() bool {
	known := make(map[Entry]bool, len(s.Entrances))
	for _, e := range s.Entrances {
		known[e.Entry] = true
	}
	unknown := func(e Entry) bool { return !known[e] }
	return len(known) == len(s.Entrances) && !slices.ContainsFunc(s.Queue, unknown) && !slices.ContainsFunc(s.Holders, unknown)
}
