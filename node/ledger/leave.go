package ledger

import (
	"slices"

	"github.com/phalanx-go/phalanx/protocol/ledger"
)

func (c *Core) leave(on bool) {
	if on && !c.leaving {
		c.leaves = c.now
		c.soon()
	}
	c.leaving = on
}

// handOver has the replica of a node that leaves hand over its leadership, again and again.
func (c *Core) handOver() {
	if heirs := c.heirs(); c.leaving && c.began && len(heirs) > 0 {
		c.forReplica(ledger.HandOver{To: heirs})
	}
}

// heirs returns the other voters whose nodes do not leave, too, and that were heard lately, or may be: a group that sleeps
// says little, and has to wake as the node begins to leave. Nodes that all leave would else hand over to each other for ever.
func (c *Core) heirs() (all []uint64) {
	for _, id := range c.group.Voters {
		d := c.disks[diskOf(id)]
		if id == c.id || d == nil || d.replica != id {
			continue
		}
		m, member := c.view.member(d.address)
		if !m.Leaving && (c.now-d.heard < c.cfg.HelloEvery || member && c.now-c.leaves < c.cfg.HelloEvery) {
			all = append(all, id)
		}
	}
	return all
}

// sayRemains tells what the node has to hand over before it may leave: the leadership, if another disk can
// take it, and its replica, if a disk is there that takes it.
func (c *Core) sayRemains() {
	if c.view.Number == 0 {
		return
	}
	r := Remains{View: c.view.Number}
	if c.leaving {
		r.Left = c.left()
	}
	if r != c.remains {
		c.remains = r
		c.emit(r)
	}
	c.sayKeeps(r.Left)
}

// sayKeeps tells, once each time that the node leaves, that its replica stays behind on its disk.
func (c *Core) sayKeeps(left int) {
	if !c.leaving || c.replica == nil {
		c.keeps = false
		return
	}
	voters := c.voters
	if c.began {
		voters = c.group.Voters
	}
	if left == 0 && !c.keeps && slices.Contains(voters, c.id) {
		c.keeps = true
		c.emit(Keeps{Others: len(voters) - 1})
	}
}

func (c *Core) left() int {
	if c.replica == nil {
		return 0
	}
	if c.began {
		if len(c.heirs()) > 0 || c.want != nil && !slices.Equal(c.want, c.group.Voters) || !c.group.Settled {
			return 1
		}
		return 0
	}
	switch {
	case c.lead.Replica == 0: // an election is under way: the next leader says what it wants
		return 1
	case c.lead.Replica == c.id, c.answered < c.view.Number:
		return 1
	case slices.Contains(c.voters, c.id) && !slices.Contains(c.wanted, c.id):
		return 1
	}
	return 0
}
