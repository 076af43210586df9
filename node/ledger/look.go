package ledger

import (
	"fmt"
	"slices"
)

// Voters returns the replicas that vote, if this node's one leads and no change is under way.
func (c *Core) Voters() []uint64 {
	if !c.began || !c.group.Settled {
		return nil
	}
	return slices.Clone(c.group.Voters)
}

// Learners returns the replicas that catch up before they vote, if this node's one leads. The voters can be settled meanwhile.
func (c *Core) Learners() []uint64 {
	if !c.began {
		return nil
	}
	return slices.Clone(c.group.Learners)
}

// Holds is about the memory that the replica takes, in bytes.
func (c *Core) Holds() int {
	if c.replica == nil {
		return 0
	}
	return c.replica.Holds()
}

// String tells the state in one line.
func (c *Core) String() string {
	return fmt.Sprintf("ledger %x, replica %x, tenure %v, group %x (settled %v), wanted %x, %d disks known", c.cfg.Ledger, c.id, c.began, c.group.Voters, c.group.Settled, c.want, len(c.disks))
}
