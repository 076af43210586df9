package workflow

// serials are the numbers of an epoch's orders that an executor has seen. An order that comes again, however
// late, is known. Numbers are given in order and each is repeated until it arrives, so that the set
// has as many numbers as orders are under way.
type serials struct {
	all  uint64 // it has seen all up to this
	more map[uint64]bool
}

// add notes a number, and reports whether it is new.
func (s *serials) add(n uint64) bool {
	if n <= s.all || s.more[n] {
		return false
	}
	if s.more == nil {
		s.more = map[uint64]bool{}
	}
	s.more[n] = true
	for s.more[s.all+1] {
		s.all++
		delete(s.more, s.all)
	}
	return true
}
