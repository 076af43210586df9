package reduce

import (
	"fmt"
	"slices"
)

// Indexed returns what is wrong with what the coordinator keeps in order not to look at
// all sources and places, or nil.
func (c *Coordinator) Indexed() error {
	whole, gone := 0, 0
	for _, s := range c.sources {
		ready := s.arrival > 0 && !s.deleted
		if ready && s.final == s.gen {
			whole++
		}
		if s.deleted {
			gone++
		}
		if waits := ready && s.position < 0; waits != (s.slot > 0 || s.aside) || s.slot > 0 && c.queue[s.slot-1] != s {
			return fmt.Errorf("%s: waits for a place: %v, in slot %d of the queue, aside: %v", s.id, waits, s.slot, s.aside)
		}
		if s.aside && !slices.Contains(c.aside, s) {
			return fmt.Errorf("%s is nowhere", s.id)
		}
	}
	for i, s := range c.queue {
		if i > 0 && c.queue.Less(i, (i-1)/2) || s.slot != i+1 {
			return fmt.Errorf("%s is at %d of the queue", s.id, i)
		}
	}
	if whole != c.whole || gone != c.deleted {
		return fmt.Errorf("%d sources are ready and final, counted %d; %d are deleted, counted %d", whole, c.whole, gone, c.deleted)
	}
	loads := 0
	for _, p := range c.places {
		if p.life == live {
			loads++
		}
		switch {
		case p.life == vacant && !slices.Contains(c.turns, c.turn(p)):
			return fmt.Errorf("place %d is empty, and has no turn", p.pos)
		case p.life == dead && !slices.Contains(c.dead, p):
			return fmt.Errorf("place %d is dead, and is not repaired", p.pos)
		case p.life == live && p.stalled && !p.final && !p.stuck:
			return fmt.Errorf("place %d is stalled, and is not replaced", p.pos)
		case p.dirty != slices.Contains(c.dirty, p):
			return fmt.Errorf("place %d is dirty: %v", p.pos, p.dirty)
		case p.cleared != slices.Contains(c.cleared, p.pos):
			return fmt.Errorf("place %d is cleared: %v", p.pos, p.cleared)
		}
	}
	for _, k := range c.loads {
		loads -= k
	}
	if len(c.places) > 0 && loads != 0 {
		return fmt.Errorf("%d more places run than are counted", loads)
	}
	return nil
}
