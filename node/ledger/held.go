package ledger

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// held is what a node knows about whether it is in a cluster (docs/adr/0026). A lease proves it, and costs messages
// all the time. So a node keeps none for that: once it had one, it counts as in its cluster until it learns that
// there is no majority of the voters (NoLease), or wants a lease and gets none. It wants one when a node asks that is
// in no cluster, and answers such a node what a lease proves.
type held struct {
	until  time.Duration  // of the lease
	by     phalanx.NodeID // the incarnation that had one; "": none since NoLease
	wants  bool           // it wants a lease now
	wanted time.Duration  // since then
	again  time.Duration  // when it says so again
}

const (
	// proofTakes is how long a node waits for a lease that it wants, until it counts as in no cluster.
	proofTakes = time.Second
	// wantEvery is how often it says that it wants one.
	wantEvery = 500 * time.Millisecond
)

// leased takes up a lease.
func (c *Core) leased(until time.Duration) {
	h := &c.held
	h.until = max(h.until, until)
	if c.now < h.until && c.member() {
		h.by, h.wants = c.view.Self, false
	}
}

// noLease is told that this node hears of no majority.
func (c *Core) noLease() {
	c.held.by = ""
	c.forReplica(ledger.Wake{})
}

// member reports whether this incarnation of the node is in a view that counts.
func (c *Core) member() bool { return c.view.Number > 0 && c.view.Self != c.boot.was.Self }

// proven reports whether the node has a lease.
func (c *Core) proven() bool { return c.member() && c.now < c.held.until }

// inCluster reports whether the node is in a cluster, as far as it knows.
func (c *Core) inCluster() bool {
	h := &c.held
	return c.proven() || c.member() && h.by == c.view.Self && !(h.wants && c.now-h.wanted >= proofTakes)
}

// prove has the node want a lease, to know whether it is in a cluster.
func (c *Core) prove() {
	if c.member() && !c.proven() && !c.held.wants {
		c.held.wants, c.held.wanted, c.held.again = true, c.now, c.now
	}
}

// tickHeld asks the host for the lease that is wanted. A node that has none does without end.
func (c *Core) tickHeld() {
	h := &c.held
	if c.proven() {
		h.by = c.view.Self
	}
	if !c.inCluster() {
		c.prove()
	}
	if !c.member() || c.proven() {
		h.wants = false
	}
	if h.wants && c.now >= h.again {
		h.again = c.now + wantEvery
		c.emit(WantLease{})
	}
}

// heldDue returns when time alone changes something.
func (c *Core) heldDue() (time.Duration, bool) {
	h := &c.held
	switch {
	case !h.wants:
		return 0, false
	case c.inCluster():
		return min(h.again, h.wanted+proofTakes), true
	}
	return h.again, true
}
