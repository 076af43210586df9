package ledger

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Seen is what the leader's node knows of a disk, for people.
type Seen struct {
	Disk      uint64
	Node      phalanx.NodeID // "": it has not said so since this node leads
	Address   string         // of the node; "": not known
	Host      string
	Votes     bool // it holds the ledger
	Leads     bool
	Temporary bool
	Failed    bool
	Silent    time.Duration // since it was heard, or since this node leads
}

// Disks returns the disks that hold the ledger, and those that are known and do not, in the order of their ids; nothing if this
// node does not lead.
func (c *Core) Disks(now time.Duration) (all []Seen) {
	if !c.began {
		return nil
	}
	know := map[uint64]bool{}
	for _, d := range c.all() {
		know[d.id] = true
		all = append(all, Seen{Disk: d.id, Node: d.node, Address: d.address, Host: d.host, Votes: slices.ContainsFunc(c.group.Voters, func(r uint64) bool { return diskOf(r) == d.id && r == d.replica }),
			Leads: d.id == c.cfg.Disk, Temporary: d.temporary, Failed: d.failed, Silent: max(0, now-d.heard)})
	}
	for _, r := range c.group.Voters {
		if id := diskOf(r); !know[id] {
			know[id] = true
			all = append(all, Seen{Disk: id, Address: c.book.of(r), Votes: true, Silent: max(0, now-c.since)})
		}
	}
	slices.SortFunc(all, func(a, b Seen) int {
		if a.Disk < b.Disk {
			return -1
		}
		return 1
	})
	return all
}
