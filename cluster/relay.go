package cluster

import (
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// relays are the members by way of which the directory's messages go to those
// that this node cannot reach itself. When only the link between two members
// fails both stay in the view: a node that could not reach the owner of an object
// would wait for it until the link is back, and with it all that read from it.
// Messages may be lost, late and doubled in any case, so that whoever is tried
// next is as good as the one before.
type relays struct {
	self      phalanx.NodeID
	mu        sync.Mutex
	suspected map[phalanx.NodeID]bool
	heard     map[phalanx.NodeID]heard
	next      int
}

// heard is by whom, and when, something came from a node the last time it came
// by another.
type heard struct {
	by phalanx.NodeID
	at time.Duration
}

// heardFor is how long a node is answered by the one that brought its message. It
// may have noticed before this node has that their link fails.
const heardFor = time.Second

func newRelays(self phalanx.NodeID) *relays {
	return &relays{self: self, suspected: map[phalanx.NodeID]bool{}, heard: map[phalanx.NodeID]heard{}}
}

func (r *relays) suspect(node phalanx.NodeID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.suspected[node] = true
}

// forget reaches a node directly again.
func (r *relays) forget(node phalanx.NodeID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.suspected, node)
	delete(r.heard, node)
}

// to returns by whom a node is to be reached; false if directly, or if there is
// nobody else.
func (r *relays) to(node phalanx.NodeID, members []view.Member, now time.Duration) (by phalanx.NodeID, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h, heard := r.heard[node]
	heard = heard && now-h.at < heardFor && !r.suspected[h.by]
	switch {
	case heard:
		return h.by, true
	case !r.suspected[node]:
		return "", false
	}
	for range members {
		r.next++
		m := members[r.next%len(members)]
		if m.ID != node && m.ID != r.self && !r.suspected[m.ID] {
			return m.ID, true
		}
	}
	return "", false
}

func (r *relays) hear(from, by phalanx.NodeID, now time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard[from] = heard{by, now}
}

func (r *relays) suspects(node phalanx.NodeID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.suspected[node]
}

// relayed takes a message that came by another node, or sends it on; whoever it
// is for does not, so that none goes in circles. It returns who sent what was for
// this node, or nil.
func (l *life) relayed(by phalanx.NodeID, r messages.Relayed, payload []byte) (from phalanx.NodeID, v any) {
	switch {
	case r.To != l.id:
		if r.From == by && !l.relays.suspects(r.To) && l.view.Load().Has(r.To) {
			l.conns.Post(r.To, payload)
		}
		return by, nil
	case l.admit(r.From, 0) != nil:
		return by, nil
	}
	l.relays.hear(r.From, by, l.n.clock())
	_, v, err := messages.UnmarshalDirectory(r.Message)
	if _, again := v.(messages.Relayed); again || err != nil {
		l.log.WithError(err).WithField("peer", r.From).Warn("a relayed message cannot be read")
		return by, nil
	}
	return r.From, v
}
