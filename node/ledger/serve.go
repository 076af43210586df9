package ledger

import (
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// serve is what a node knows about whether the controller of its tenure may begin. A node may join with a folder of another
// ledger, of which it is the leader: it has to meet the ledger of the cluster, and to yield, before its controller asks the
// executors, since these follow the one whose epoch is greater. So it hears first of each member with a folder that joined before it.
type serve struct {
	epoch  uint64        // of the tenure whose controller does not serve yet; 0: none
	since  time.Duration // it is known who has to be heard; 0: it is not
	again  time.Duration // when they are asked again
	spoken map[phalanx.NodeID]bool
}

// silentFor is how long a controller waits for members that say nothing.
const silentFor = 5 * time.Second

// spoke notes that a member has said which ledger it has.
func (c *Core) spoke(h Hello) {
	if m, is := c.view.member(h.Address); is && m.Node == h.Node { // else it is of a process before, or of one that has yet to join
		if c.serve.spoken == nil {
			c.serve.spoken = map[phalanx.NodeID]bool{}
		}
		c.serve.spoken[m.Node] = true
	}
}

// forgetSpoken forgets those that are not members any more.
func (c *Core) forgetSpoken() {
	maps.DeleteFunc(c.serve.spoken, func(n phalanx.NodeID, _ bool) bool {
		return !slices.ContainsFunc(c.view.Members, func(m Member) bool { return m.Node == n })
	})
}

// unheard returns the members with folders that joined before this node, and have not said which ledger they have. The other
// replicas have this one.
func (c *Core) unheard() (all []string) {
	for _, m := range c.view.Members {
		if m.Node == c.view.Self {
			break
		}
		if m.Folder && !c.serve.spoken[m.Node] && !c.votes(m) {
			all = append(all, m.Address)
		}
	}
	return all
}

// votes reports whether a member has a replica of the group. One that is known to be of an earlier process at its address does not count: the next process
// may have another folder.
func (c *Core) votes(m Member) bool {
	return slices.ContainsFunc(c.book.at(m.Address), func(id uint64) bool {
		d := c.disks[diskOf(id)]
		return slices.Contains(c.group.Voters, id) && (d == nil || d.said == "" || d.said == m.Node)
	})
}

// tickServe has the controller begin as soon as it may.
func (c *Core) tickServe() {
	s := &c.serve
	if s.epoch == 0 || !c.member() {
		return
	}
	if s.since == 0 {
		s.since, s.again = c.now, c.now
	}
	left := c.unheard()
	if len(left) == 0 || c.now >= s.since+silentFor {
		c.emit(Serves{Epoch: s.epoch})
		s.epoch = 0
		return
	}
	if c.now >= s.again {
		s.again = c.now + c.cfg.SeekEvery
		for _, a := range left {
			c.say(a, Hello{Asks: true})
		}
	}
}

// serveDue returns when time alone changes something.
func (c *Core) serveDue() (time.Duration, bool) {
	s := &c.serve
	return min(s.again, s.since+silentFor), s.epoch > 0 && c.member() && s.since > 0
}
