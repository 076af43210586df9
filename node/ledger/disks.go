package ledger

import (
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// disk is a disk of the ledger, as it says. The newest opening counts.
type disk struct {
	id, replica uint64
	node        phalanx.NodeID // "": it has not said so in this tenure
	said        phalanx.NodeID // the node that has said so last, in whatever tenure
	address     string
	host        string
	opened, run uint64
	temporary   bool
	failed      bool
	heard       time.Duration
}

// maxDisks bounds how many disks a node knows. More take no replica while all of these may be there still.
const maxDisks = 1024

// note takes up what a disk says. It returns false if the disk was opened elsewhere since.
func (c *Core) note(h Hello) bool {
	if h.Disk == c.cfg.Disk {
		return h.Opened > c.cfg.Opened // this one will hear of it from others
	}
	d := c.disks[h.Disk]
	if d == nil {
		if len(c.disks) >= maxDisks && !c.forgetDisk() {
			return true
		}
		d = &disk{id: h.Disk}
		c.disks[h.Disk] = d
	}
	if h.Opened < d.opened || h.Opened == d.opened && d.run != 0 && h.Run != d.run {
		return false
	}
	was := *d
	*d = disk{id: h.Disk, replica: h.Replica, node: h.Node, said: h.Node, address: h.Address, host: h.Host, opened: h.Opened, run: h.Run,
		temporary: h.Temporary, failed: h.Failed, heard: c.now}
	fresh := c.now-was.heard < c.cfg.HelloMost+c.cfg.FreshFor
	if was.heard = c.now; was != *d || !fresh {
		c.looks = c.now
	}
	return true
}

// forgetDisk forgets the disk that was not heard for the longest time, of those that are gone and hold no replica of the
// group, and reports whether there is one: a temporary folder has a new id each time that its node starts.
func (c *Core) forgetDisk() bool {
	var oldest *disk
	for _, d := range c.all() {
		if d.id == c.cfg.Disk || c.state(d.replica) != gone || slices.Contains(c.group.Voters, d.replica) || slices.Contains(c.want, d.replica) {
			continue
		}
		if oldest == nil || d.heard < oldest.heard {
			oldest = d
		}
	}
	if oldest != nil {
		delete(c.disks, oldest.id)
	}
	return oldest != nil
}

// sawReplica notes a sign of life of a replica.
func (c *Core) sawReplica(replica uint64) {
	if d := c.disks[diskOf(replica)]; d != nil && d.replica == replica {
		d.heard = c.now
	}
}

// all returns the disks in the order of their ids, the own one among them.
func (c *Core) all() []*disk {
	c.disks[c.cfg.Disk] = &disk{id: c.cfg.Disk, replica: c.id, node: c.view.Self, address: c.cfg.Address, host: c.cfg.Host,
		opened: c.cfg.Opened, run: c.cfg.Run, temporary: c.cfg.Temporary, failed: c.failed != nil, heard: c.now}
	var all []*disk
	for _, id := range slices.Sorted(maps.Keys(c.disks)) {
		all = append(all, c.disks[id])
	}
	return all
}

// state is what a disk is good for.
type state int

const (
	gone  state = iota // it is to be replaced
	goes               // its node leaves: it is to be replaced while it is there
	stays              // it keeps its replica
	fresh              // and can take one
)

// state returns what a replica's disk is good for.
func (c *Core) state(replica uint64) state {
	d := c.disks[diskOf(replica)]
	if d == nil || d.replica != replica || d.failed || c.now-d.heard >= c.cfg.AwayAfter {
		return gone
	}
	m, member := c.view.member(d.address)
	member = member && (d.node == "" || m.Node == d.node)
	switch {
	case d.temporary && !member && c.view.Number > 0:
		return gone
	case member && m.Leaving:
		return goes
	case member && c.now-d.heard < c.cfg.HelloMost+c.cfg.FreshFor:
		return fresh
	}
	return stays
}
