package detect

import (
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Routes names the members that relay messages to members which this node cannot reach
// itself. When only the link between two members fails both stay in the view: a node
// that could not reach the owner of an object would wait for it until the link is back,
// and a node that could not reach the leader of the voters would have no lease. Messages
// may be lost, late and doubled in any case, so the next member that is tried is as good
// as the one before. It is not safe for concurrent use.
type Routes struct {
	self      phalanx.NodeID
	members   []phalanx.NodeID
	suspected map[phalanx.NodeID]bool
	heard     map[phalanx.NodeID]heard
	next      int
}

// heard is the relay, and the time, of the last message that came from a node by
// another.
type heard struct {
	by phalanx.NodeID
	at time.Duration
}

// heardFor is how long answers to a node go by the relay of its message. The node may
// have noticed before this one that their link fails.
const heardFor = time.Second

// NewRoutes returns the routes of self, which suspects no node.
func NewRoutes(self phalanx.NodeID) *Routes {
	return &Routes{self: self, suspected: map[phalanx.NodeID]bool{}, heard: map[phalanx.NodeID]heard{}}
}

// Learn takes the members of a new view, and forgets former members, also as relays.
func (r *Routes) Learn(members []phalanx.NodeID) {
	r.members = members
	gone := func(id phalanx.NodeID) bool { return !slices.Contains(members, id) }
	maps.DeleteFunc(r.suspected, func(id phalanx.NodeID, _ bool) bool { return gone(id) })
	maps.DeleteFunc(r.heard, func(id phalanx.NodeID, h heard) bool { return gone(id) || gone(h.by) })
}

// Suspect notes that node is not reached directly any more.
func (r *Routes) Suspect(node phalanx.NodeID) { r.suspected[node] = true }

// Suspects reports whether node is not reached directly.
func (r *Routes) Suspects(node phalanx.NodeID) bool { return r.suspected[node] }

// Forget has node reached directly again.
func (r *Routes) Forget(node phalanx.NodeID) {
	delete(r.suspected, node)
	delete(r.heard, node)
}

// Hear notes that a message of from, a member, came by way of by.
func (r *Routes) Hear(from, by phalanx.NodeID, now time.Duration) {
	if slices.Contains(r.members, from) && slices.Contains(r.members, by) {
		r.heard[from] = heard{by, now}
	}
}

// To returns the member that relays a message to node; false if it is to be sent
// directly, or if there is no other member.
func (r *Routes) To(node phalanx.NodeID, now time.Duration) (by phalanx.NodeID, ok bool) {
	h, heard := r.heard[node]
	heard = heard && now-h.at < heardFor && !r.suspected[h.by]
	switch {
	case heard:
		return h.by, true
	case !r.suspected[node]:
		return "", false
	}
	for range r.members {
		r.next++
		id := r.members[r.next%len(r.members)]
		if id != node && id != r.self && !r.suspected[id] {
			return id, true
		}
	}
	return "", false
}
