package cluster

import (
	"sync"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/node/member"
	"github.com/phalanx-go/phalanx/protocol/detect"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// routes are the routes of a life, for all its goroutines. They carry the messages of the
// directory, on data connections, and messages about the view.
type routes struct {
	mu sync.Mutex
	*detect.Routes
}

func newRoutes(self phalanx.NodeID) *routes { return &routes{Routes: detect.NewRoutes(self)} }

func (r *routes) learn(v view.View) {
	members, _ := v.IDs("")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Learn(members)
}

func (r *routes) suspect(node phalanx.NodeID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Suspect(node)
}

func (r *routes) forget(node phalanx.NodeID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Forget(node)
}

func (r *routes) suspects(node phalanx.NodeID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Suspects(node)
}

// via returns by whom a node is to be reached that this one cannot reach itself.
func (l *life) via(to phalanx.NodeID) (phalanx.NodeID, bool) {
	now := l.n.clock()
	l.routes.mu.Lock()
	defer l.routes.mu.Unlock()
	return l.routes.To(to, now)
}

// brought notes that something came from a node by way of another.
func (l *life) brought(from, by phalanx.NodeID) {
	now := l.n.clock()
	l.routes.mu.Lock()
	defer l.routes.mu.Unlock()
	l.routes.Hear(from, by, now)
}

// relayed takes a message that came by another node, or sends it on. relayed returns the sender
// of a message for this node, or nil.
func (l *life) relayed(by phalanx.NodeID, r messages.Relayed, payload []byte) (from phalanx.NodeID, v any) {
	reaches := !l.routes.suspects(r.To) && l.view.Load().Has(r.To)
	switch member.OfDirectory(l.id, r.From, by, r.To, reaches, l.admit(r.From, 0) != nil) {
	case member.Drop:
		return by, nil
	case member.Pass:
		if err := l.post(r.To, payload); err != nil {
			l.n.unsendable(string(r.To), r, err)
		}
		return by, nil
	}
	l.brought(r.From, by)
	_, v, err := messages.UnmarshalDirectory(r.Message)
	if _, again := v.(messages.Relayed); again || err != nil {
		l.log.WithError(err).WithField("peer", r.From).Warn("a relayed message cannot be read")
		return by, nil
	}
	return r.From, v
}
