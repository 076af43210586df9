package store

import "github.com/phalanx-go/phalanx/storenode/dataplane"

// parents is how many streams of one place's output need no seat: the stream to its parent,
// and one to the same or an earlier parent, whose end the node has not noticed.
const parents = 2

// attendance is the right of a stream to wait for the output of a place. If a coordinator has
// told this node to make the output, the stream needs no seat, however many streams the
// parent's node has: the places above would wait for it, and hold seats that the places below
// them need. Before this node knows of the place, the stream takes a seat, as any other.
type attendance struct {
	hub   *Places
	key   placeKey
	w     *dataplane.Writer
	known bool // the stream needs no seat
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
