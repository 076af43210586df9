package directory

import "github.com/phalanx-go/phalanx"

// held keeps the requests and holdings that come before a new owner is sure. A repeat
// replaces the event that it repeats, and stands behind all that came in between.
type held struct {
	events []Event // nil: a later one repeats it
	at     map[heldKey]int
	gone   int // how many of events are nil
}

// heldKey names a request, or a part of a list of holdings.
type heldKey struct {
	from       phalanx.NodeID
	num        uint64 // or round
	part       uint64
	object     phalanx.ObjectID
	isHoldings bool
}

func keyOf(ev Event) (k heldKey, unique bool) {
	switch ev := ev.(type) {
	case Request:
		return heldKey{from: ev.From, num: ev.Num, object: ev.Object}, true
	case Holdings:
		return heldKey{from: ev.From, num: ev.Round, part: ev.Part, isHoldings: true}, ev.Round != 0
	}
	return k, false
}

func (h *held) add(ev Event) {
	if k, unique := keyOf(ev); unique {
		if h.at == nil {
			h.at = map[heldKey]int{}
		}
		if i, repeated := h.at[k]; repeated {
			h.events[i] = nil
			h.gone++
		}
		h.at[k] = len(h.events)
	}
	if h.events = append(h.events, ev); h.gone > len(h.events)/2 {
		h.compact()
	}
}

// compact removes the nils.
func (h *held) compact() {
	left := h.take()
	for _, ev := range left {
		h.add(ev)
	}
}

// take returns the events in order, and empties h.
func (h *held) take() []Event {
	out := make([]Event, 0, len(h.events)-h.gone)
	for _, ev := range h.events {
		if ev != nil {
			out = append(out, ev)
		}
	}
	*h = held{}
	return out
}
