package directory

import "fmt"

// Overslept looks at every object right after a Tick, as if there were no
// agenda, and returns one that had something to do, or "".
func (s *Shard) Overslept() string {
	if !s.acts() {
		return ""
	}
	for _, o := range s.sorted() {
		bars, over := len(o.bars), len(o.over)
		s.attend(o)
		if len(s.out) > 0 || len(o.bars) != bars || len(o.over) != over || s.objects[o.rec.Object] != o {
			return fmt.Sprintf("%+v: %v", o, s.out)
		}
		if at, ok := s.dueAt(o); ok && (!o.booked || o.meets > at) {
			return fmt.Sprintf("%+v: due at %v", o, at)
		}
	}
	for id, t := range s.tombstones {
		if t.expires <= s.now {
			return fmt.Sprintf("the tombstone of %s has ended", id)
		}
	}
	return ""
}
