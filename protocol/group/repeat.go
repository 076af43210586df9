package group

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// The core repeats a lost question. A question may also wait in a long mailbox, and repeats must not
// make that longer. Nodes answer in the order in which they are asked: once a later question is
// answered, an unanswered earlier one is lost. Until then it is repeated after a multiple of the
// time that answers take.

// peer is how a node answers.
type peer struct {
	trip retry.Trip
	upTo time.Duration // when the latest question that it has answered was sent
}

// question is something that another node has not answered.
type question struct {
	retry.Backoff
	first time.Duration // when it was sent first
	looks int           // how often it was seen that it is not answered, since it was sent first
}

// repeatsApart is how far apart all repeats together are on average, if no message is to be
// repeated less often for that than after twice ResendMax.
const repeatsApart = 250 * time.Microsecond

// pauses are the pauses after which unanswered messages to a node are repeated.
func (c *Core) pauses(to phalanx.NodeID) retry.Pauses {
	most := max(c.cfg.ResendMax, time.Duration(c.due.Len())*repeatsApart)
	return c.peers[to].trip.Pauses(c.cfg.Resend, min(most, 2*c.cfg.ResendMax))
}

// maxLooks bounds how often it is seen whether a question is to be repeated before answers are
// overdue: each time after twice as long.
const maxLooks = 10

// lookAt returns when it is seen whether a question is to be repeated.
func (c *Core) lookAt(q question, to phalanx.NodeID) time.Duration {
	wait := c.pauses(to).After(q.Times())
	if q.Times() == 1 && q.looks < maxLooks {
		wait = min(wait, c.cfg.Resend<<q.looks)
	}
	return q.Last() + wait
}

// overdue reports whether a question is to be repeated that a node has not answered.
func (c *Core) overdue(q *question, to phalanx.NodeID) bool {
	waited := c.now >= q.At(c.pauses(to))
	switch {
	case q.Times() > 1 || c.peers[to].upTo > q.Last():
		return waited || q.Times() == 1
	case waited:
		c.took(to, q.first) // so far: many answers may be late before one of them has come
		return true
	}
	q.looks++
	return false
}

// took takes note that a node has answered a question that was first asked at a time.
func (c *Core) took(from phalanx.NodeID, asked time.Duration) {
	if from != c.view.Self && c.view.Members[from] {
		p := c.peers[from]
		p.trip.Took(min(c.now-asked, c.cfg.ResendMax))
		c.peers[from] = p
	}
}

// answered takes note that a node has answered a question.
func (c *Core) answered(from phalanx.NodeID, q question) {
	c.took(from, q.first)
	if p, ok := c.peers[from]; ok {
		p.upTo = max(p.upTo, q.first) // the answer may be to the first one, if it was repeated
		c.peers[from] = p
	}
}

// forgetPeers forgets the answer times of nodes that are no members any more.
func (c *Core) forgetPeers() {
	for node := range c.peers {
		if !c.view.Members[node] {
			delete(c.peers, node)
		}
	}
}
