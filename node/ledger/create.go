package ledger

import (
	"slices"
	"time"
)

// creation is the way of an empty folder into a ledger.
type creation struct {
	asked   bool          // the host makes or binds a replica
	ledger  uint64        // of that one
	since   time.Duration // the node has waited for the answers of members
	waiting bool
	silent  []string // members that have not answered yet
}

// answered notes that a node has answered.
func (m *creation) answered(h Hello) {
	if i := slices.Index(m.silent, h.Address); i >= 0 && h.View > 0 {
		m.silent = slices.Delete(m.silent, i, i+1)
	}
}

// create creates the ledger, if that is for this node to do: it was the first member with a folder, this is
// empty, and no member has a ledger. Nobody else may: the first one may have created it before others heard of that. A
// member that keeps none answers that, or is not waited for any more.
func (c *Core) create() {
	if c.cfg.Disk == 0 || c.cfg.Ledger != 0 || c.make.asked || c.failed != nil || !c.view.First {
		return
	}
	if !c.make.waiting {
		c.make.waiting, c.make.since = true, c.now
		for _, m := range c.view.Members {
			if m.Keeps && m.Node != c.view.Self {
				c.make.silent = append(c.make.silent, m.Address)
			}
		}
	}
	if len(c.make.silent) > 0 && c.now-c.make.since < c.cfg.CreateAfter {
		return
	}
	c.make.asked, c.make.ledger = true, c.cfg.Run
	c.emit(Create{Ledger: c.cfg.Run})
}

// adopt takes part in the ledger that a member of the own view has.
func (c *Core) adopt(h Hello) {
	if m, ok := c.view.member(h.Address); !ok || !m.Keeps || h.Failed {
		return
	}
	if c.cfg.Disk == 0 {
		c.cfg.Ledger = h.Ledger // the node only finds the leader
		return
	}
	if c.make.asked || c.failed != nil {
		return
	}
	c.make.asked, c.make.ledger = true, h.Ledger
	c.emit(Adopt{Ledger: h.Ledger})
}

// ledger returns the ledger of this node, also while the host binds the folder to it; 0: it has none yet.
func (c *Core) ledger() uint64 {
	if c.cfg.Ledger == 0 {
		return c.make.ledger
	}
	return c.cfg.Ledger
}
