package view

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// detour is the way of this node's heartbeats round a link to the leader that fails.
//
// Only the leader's replies count: a leader that does not hear a member sends it the view
// again and again, which says nothing about the way back. When the leader has not
// replied for lacksAfter heartbeats, another member relays them, and the next member
// if no reply comes by that one either. The host's detector looks at the leader meanwhile;
// it has all else relayed if the link fails.
//
// Every IdleEvery a heartbeat goes without a relay. Its reply ends the detour.
type detour struct {
	leader phalanx.NodeID // Invariant: the rest is about the heartbeats to it
	lacks  time.Duration  // when the first heartbeat was sent that has no reply; 0: all have one
	direct time.Duration  // when the last one was sent without a relay
	by     phalanx.NodeID // relays the others; "": the link works
	tried  time.Duration  // when by got the first one that has no reply; 0: all have one
	turn   int            // which member relays next
}

// lacksAfter is how many heartbeats long the leader may send no reply. A lease is three long:
// it goes on with the first reply by a relay.
const lacksAfter = 2

// relay returns the member that relays the heartbeat that is sent to the leader now, or ""
// if it needs none.
func (c *Core) relay() phalanx.NodeID {
	d := &c.detour
	if d.leader != c.leader {
		*d = detour{leader: c.leader, turn: d.turn}
	}
	if d.by == "" && d.lacks > 0 && c.now-d.lacks >= lacksAfter*c.cfg.HeartbeatEvery {
		c.turnTo(c.nextRelay())
		c.emit(Unanswered{Node: c.leader})
	}
	if d.lacks == 0 {
		d.lacks = c.now
	}
	if d.by == "" || c.now-d.direct >= c.cfg.IdleEvery {
		d.direct = c.now
		return ""
	}
	if d.tried > 0 && c.now-d.tried >= c.cfg.HeartbeatEvery || !c.view.Has(d.by) {
		c.turnTo(c.nextRelay())
	}
	if d.tried == 0 {
		d.tried = c.now
	}
	return d.by
}

func (c *Core) turnTo(by phalanx.NodeID) { c.detour.by, c.detour.tried = by, 0 }

// nextRelay returns a member that is neither this node nor the leader, in turn, or "".
func (c *Core) nextRelay() phalanx.NodeID {
	others := slices.DeleteFunc(c.memberIDs(), func(id phalanx.NodeID) bool { return id == c.cfg.Self.ID || id == c.leader })
	if len(others) == 0 {
		return ""
	}
	c.detour.turn++
	return others[c.detour.turn%len(others)]
}

// replied notes the leader's reply to the heartbeat of that time. One that comes late, or
// again, says nothing about later heartbeats.
func (d *detour) replied(from phalanx.NodeID, stamp time.Duration) {
	if from != d.leader || stamp < d.lacks {
		return
	}
	d.lacks, d.tried = 0, 0
	if stamp == d.direct {
		d.by = ""
	}
}
