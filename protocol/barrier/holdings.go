package barrier

import (
	"cmp"
	"maps"
	"slices"
)

// Holding is an attempt of an entry that managers count, or may count, without a call that waits.
type Holding struct {
	Key     Key
	Entry   Entry
	Config  Config
	Attempt uint64
	By      any // means nothing here: the host's own
}

// Holdings are a node's: its holders of semaphores, and the entries that it takes back until the primary
// knows. A host has them outside of its actor: the Core that follows a panic takes them over (Again). The
// zero Holdings are none.
type Holdings struct{ held, freed map[seat]Holding }

// seat is an entry of a barrier.
type seat struct {
	key   Key
	entry Entry
}

// Asked takes a call that the host gives the Core.
func (h *Holdings) Asked(c Call) {
	at := seat{c.Key, c.Entry}
	if one, ok := h.held[at]; ok && c.Kind == CallRelease {
		delete(h.held, at)
		h.free(at, one)
	}
}

// Done takes the end of a call, and reports whether its entry holds a semaphore now.
func (h *Holdings) Done(c Call, d Done, by any) bool {
	if c.Kind != CallEnter || !c.Config.Semaphore.on() || d.Verdict != Fire || d.Outcome != OK {
		return false
	}
	if h.held == nil {
		h.held = map[seat]Holding{}
	}
	h.held[seat{c.Key, c.Entry}] = Holding{c.Key, c.Entry, c.Config, d.Attempt, by}
	return true
}

// GivenUp takes the end of a call that was given up.
func (h *Holdings) GivenUp(c Call, g GivenUp) {
	if g.Frees != 0 {
		h.free(seat{c.Key, c.Entry}, Holding{c.Key, c.Entry, c.Config, g.Frees, nil})
	}
}

func (h *Holdings) free(at seat, one Holding) {
	if h.freed == nil {
		h.freed = map[seat]Holding{}
	}
	h.freed[at] = one
}

// Freed takes note that the primary knows that an entry is taken back.
func (h *Holdings) Freed(o Freed) { delete(h.freed, seat{o.Key, o.Entry}) }

// Lost takes note that a semaphore was taken from an entry, and returns the holding.
func (h *Holdings) Lost(o Lost) Holding {
	at := seat{o.Key, o.Entry}
	one := h.held[at]
	delete(h.held, at)
	return one
}

// Holder returns the holding of an entry that holds a semaphore.
func (h *Holdings) Holder(k Key, e Entry) (Holding, bool) {
	one, ok := h.held[seat{k, e}]
	return one, ok
}

// Holders returns all of them, in order.
func (h *Holdings) Holders() []Holding { return inSeats(h.held) }

// Some reports whether there are any: the node needs a lease.
func (h *Holdings) Some() bool { return len(h.held)+len(h.freed) > 0 }

// Shrink gives back the memory of holdings that have gone.
func (h *Holdings) Shrink() { h.held, h.freed = smaller(h.held), smaller(h.freed) }

func inSeats(all map[seat]Holding) []Holding {
	return slices.SortedFunc(maps.Values(all), func(a, b Holding) int {
		return cmp.Or(compareKeys(a.Key, b.Key), cmp.Compare(a.Entry.Host, b.Entry.Host), cmp.Compare(a.Entry.Label, b.Entry.Label))
	})
}

// Open is a call that waits.
type Open struct {
	Call   Call
	GaveUp bool // its caller has given it up, and waits to hear what has become of it
}

// Again returns the events for a Core that follows a panic: the holdings, the node's watches and its open
// calls. The Core takes them before its first view, since a primary frees semaphores that no caller holds.
func (h *Holdings) Again(watches []Call, open []Open) (all []Event) {
	for _, of := range []struct {
		held map[seat]Holding
		kind CallKind
	}{{h.held, CallEnter}, {h.freed, CallFree}} { // before calls of the same entries, which come after them
		for _, one := range inSeats(of.held) {
			all = append(all, Call{Kind: of.kind, Key: one.Key, Config: one.Config, Entry: one.Entry, Attempt: one.Attempt})
		}
	}
	for _, c := range watches {
		all = append(all, c)
	}
	slices.SortFunc(open, func(a, b Open) int { return cmp.Compare(a.Call.ID, b.Call.ID) })
	for _, o := range open {
		o.Call.Again = true
		all = append(all, o.Call)
	}
	for _, o := range open { // after all calls: one that waits for the same entry keeps it
		if o.GaveUp {
			all = append(all, GiveUp{ID: o.Call.ID})
		}
	}
	return all
}
