package store

import "github.com/phalanx-go/phalanx/storenode/dataplane"

// parents is how many streams of one place's output need no seat: that to its parent, and one
// to the same or an earlier parent whose end has not been noticed.
const parents = 2

// attendance is what lets a stream wait for the output of a place. An output that this node was told to
// make has its stream at once, however many streams its parent's node has: the places
// above would wait for it, and hold seats that those below them need. Before the
// place is known here the stream takes a seat, as any other.
type attendance struct {
	hub   *Places
	key   placeKey
	w     *dataplane.Writer
	known bool // it is one of those that need no seat
}

// begin reports whether the stream may go on; coming is whether the output is known here.
func (a *attendance) begin(coming bool) bool {
	h := a.hub
	if coming && !a.known {
		h.mu.Lock()
		if a.known = h.attended[a.key] < parents; a.known {
			h.attended[a.key]++
		}
		h.mu.Unlock()
		if a.known {
			a.w.Stand()
		}
	}
	return a.known || a.w.Seat()
}

func (a *attendance) end() {
	if !a.known {
		return
	}
	h := a.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.attended[a.key]--; h.attended[a.key] == 0 {
		delete(h.attended, a.key)
	}
}
