package view

import (
	"fmt"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// alarm is whether the majority of the voters is lost as this node sees it. Then no view
// is decided, and owners and backups neither answer nor confirm, until it is found.
//
// A lease is proof of a majority, by whatever way it came. The majority is lost when this node
// has no lease and suspects so many voters that the others are no majority, for
// confirmAfter. An election, a voter that hangs and a link that fails do not come to that:
// too few voters are suspected, or the lease goes on by way of others. It is lost as well
// when there was no lease for stuckAfter, whatever the voters seem to do.
//
// It is found when this node has a lease again.
type alarm struct {
	Majority
	heard time.Duration // until then there was no reason for it: the lease, or this node has only just come or gone on
	quiet time.Duration // since when most voters are missing, if they are
	idle  time.Duration // until then no lease was wanted
	some  bool          // a voter is missing
	most  bool          // so many are that the others are no majority
}

// rings reports whether time alone can change this node's finding about the majority.
func (a *alarm) rings() bool { return a.Lost || a.some }

// Majority is a node's finding about the majority of the voters. The zero value says that
// all is well.
type Majority struct {
	Lost    bool
	Since   time.Duration    // the loss, by the node's clock: when its lease had ended
	Voters  []phalanx.NodeID // of the view
	Missing []phalanx.NodeID // voters that the node suspects; none if they answer, and do not agree
}

const (
	// confirmAfter is how many heartbeats long most voters are missing until they are
	// taken for lost: nodes that die together are seldom noticed at the same moment.
	confirmAfter = 2
	// awakeAfter and stuckAfter are so many times SilentAfter. A node that hung learns
	// first which of its voters have gone; an election takes long on a slow
	// network.
	awakeAfter = 2
	stuckAfter = 10
)

// watchMajority looks whether the majority is lost. The node's clock was late by hung.
func (c *Core) watchMajority(suspects []phalanx.NodeID, hung time.Duration) {
	a := &c.alarm
	a.heard = max(a.heard, c.lease)
	if hung >= c.cfg.SilentAfter {
		a.heard = max(a.heard, c.now+awakeAfter*c.cfg.SilentAfter)
	}
	var missing []phalanx.NodeID
	for _, id := range c.view.Voters {
		if id != c.cfg.Self.ID && slices.Contains(suspects, id) {
			missing = append(missing, id)
		}
	}
	most := a.most
	a.some = len(missing) > 0
	// A view may name no voters for a moment.
	a.most = a.some && 2*len(missing) >= len(c.view.Voters)
	if a.most && !most { // at the last tick they were not, and that may be long ago
		a.quiet = c.now
	}
	if a.most {
		if !c.wants() { // whether there is one is to be seen
			a.heard = max(a.heard, c.now+c.cfg.LeaseFor)
		}
		c.want()
	}
	if !c.wants() {
		a.idle = c.now
	}
	gone := a.most && c.now-max(a.quiet, a.heard) >= confirmAfter*c.cfg.HeartbeatEvery
	switch {
	case !c.member:
	case a.Lost && !slices.Equal(a.Missing, missing), !a.Lost && (gone || c.now-max(a.heard, a.idle) >= stuckAfter*c.cfg.SilentAfter):
		if !a.Lost {
			a.Since = a.heard
		}
		a.Lost, a.Voters, a.Missing = true, c.view.Voters, missing
		c.emit(a.Majority)
	}
}

// entered is told that this node has become a member. It has no lease yet.
func (a *alarm) entered(now time.Duration) { a.heard = now }

// foundMajority is told that the voters have agreed to something.
func (c *Core) foundMajority() {
	if since := c.alarm.Since; c.alarm.Lost {
		c.alarm.Majority = Majority{}
		c.emit(Majority{Since: since})
	}
}

func (Majority) effect() {}

func (m Majority) String() string {
	if !m.Lost {
		return fmt.Sprintf("majority found, lost since %v", m.Since)
	}
	return fmt.Sprintf("majority lost since %v: %s of %s are missing", m.Since, list(m.Missing), list(m.Voters))
}
