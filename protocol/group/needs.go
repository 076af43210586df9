package group

// Needs says how many of the members' parts a call needs to end well.
//
// A group does not know which member brings which part. Needs takes parts of a list to be
// spread evenly over the members, and says that a call can go on in case of doubt: it then
// ends by its deadline.
type Needs struct {
	Parts int // 0: it needs no member
	Of    int // parts in all; 0: each member brings one
}

// NeedsSources returns the needs of a call on the first num of a list of sources; a num of 0
// says all of them.
func NeedsSources(num, sources int) Needs {
	if num == 0 {
		num = sources
	}
	return Needs{Parts: num, Of: sources}
}

// Lost reports whether a call in a group of size members can no longer end well, because of
// members that have failed and are not acknowledged: failed counts both kinds.
func (n Needs) Lost(size, failed, acknowledged int) bool {
	if n.Parts <= 0 || failed <= acknowledged {
		return false
	}
	size, left := size-acknowledged, size-failed // acknowledged members have no part in the lists
	switch {
	case n.Of == 0:
		return n.Parts > left
	case n.Parts >= n.Of: // the call needs all parts, and failed members had some
		return true
	}
	return n.Parts > (n.Of*left+size-1)/size
}
