package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// beginTenure begins with what is known of disks, which may be old: they said Hello to other leaders.
func (c *Core) beginTenure() {
	c.began, c.since, c.group, c.settled, c.want = true, c.now, ledger.Group{}, nil, nil
	for _, d := range c.disks {
		d.node = "" // it may have joined again
	}
	c.looks = c.now
	c.soon() // others hear of it, and say which disks there are
}

// grouped takes up which replicas there are, and tells of a change that has ended.
func (c *Core) grouped(g ledger.Group) {
	c.group, c.looks = g, c.now
	for _, id := range g.Voters {
		d := c.disks[diskOf(id)]
		if d == nil {
			d = &disk{id: diskOf(id), replica: id, address: c.book.of(id)}
			c.disks[d.id] = d
		}
		if c.settled == nil { // it has the time to come
			d.heard = c.now
		}
	}
	if c.settled != nil && !g.Settled {
		return
	}
	if e := (Replaced{Added: without(g.Voters, c.settled), Removed: without(c.settled, g.Voters), Voters: slices.Clone(g.Voters)}); c.settled != nil && len(e.Added)+len(e.Removed) > 0 {
		c.emit(e)
	}
	c.settled = slices.Clone(g.Voters)
}

func without(all, those []uint64) []uint64 {
	return slices.DeleteFunc(slices.Clone(all), func(id uint64) bool { return slices.Contains(those, id) })
}

// choose decides which replicas are wanted, while this node's replica leads and no change is under way.
func (c *Core) choose() {
	if !c.began || c.replica == nil || !c.group.Settled || c.view.Number == 0 {
		return
	}
	if c.now < c.looks {
		return
	}
	c.looks = c.now + lookEvery
	all := c.all()
	if c.want != nil && !slices.Equal(c.want, c.group.Voters) {
		for _, id := range without(c.want, c.group.Voters) {
			if c.state(id) != fresh || c.now-max(c.chose, c.disks[diskOf(id)].heard) >= c.cfg.FreshFor {
				c.wants(c.group.Voters) // the newcomer is lost, or does not answer any more
				break
			}
		}
	}
	if c.want == nil || slices.Equal(c.want, c.group.Voters) {
		c.wants(c.chosen(all))
	}
}

// lookEvery is how often the leader looks at least which disks are there still: at all of them, which is too much work for
// each step. It looks at once when a node tells it news.
const lookEvery = 100 * time.Millisecond

// wants tells the replica which ones are wanted, if that is news.
func (c *Core) wants(ids []uint64) {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	if !slices.Equal(ids, c.want) {
		c.want, c.chose = ids, c.now
		c.forReplica(ledger.Want{Voters: slices.Clone(ids)})
	}
}

// chosen returns the replicas that are to vote next.
func (c *Core) chosen(all []*disk) []uint64 {
	voters := slices.Clone(c.group.Voters)
	there := 0 // voters that are not to be replaced
	for _, id := range voters {
		if c.state(id) >= stays {
			there++
		}
	}
	spares := c.spares(all, voters)
	most := c.cfg.Copies
	for most > 1 && most > there+len(spares) {
		most -= 2
	}
	switch worst, state := c.worst(voters); {
	case len(voters) < most:
		for len(voters) < most && len(spares) > 0 {
			voters = append(voters, spares[0].replica)
			spares = c.spares(all, voters)
		}
		return voters
	case len(voters)%2 == 0: // the end of a replacement that another leader has begun
		return without(voters, []uint64{worst})
	case state < stays && len(spares) > 0:
		keep := without(voters, []uint64{worst})
		return append(keep, c.spares(all, keep, worst)[0].replica)
	}
	return c.spread(all, voters)
}

// spread replaces one of two voters on one host by a disk on another one, if there is one: at first disks
// come one after the other, and those that were there first were chosen. The one that is away goes, such as the
// disk of a folder in whose place there is an empty one.
func (c *Core) spread(all []*disk, voters []uint64) []uint64 {
	on := map[string]uint64{c.cfg.Host: c.id}
	for _, id := range voters {
		d := c.disks[diskOf(id)]
		other, taken := on[d.host]
		if d.host == "" || !taken || id == c.id {
			on[d.host] = id
			continue
		}
		if silent := d.node != "" && c.disks[diskOf(other)].node == ""; other != c.id && (silent || c.state(other) < c.state(id)) {
			on[d.host], id = id, other
		}
		if spares := c.spares(all, voters); len(spares) > 0 && !c.onHost(voters, spares[0].host) {
			return append(without(voters, []uint64{id}), spares[0].replica)
		}
	}
	return voters
}

// onHost reports whether the disk of a voter is on a host.
func (c *Core) onHost(voters []uint64, host string) bool {
	return slices.ContainsFunc(voters, func(id uint64) bool { return c.disks[diskOf(id)].host == host })
}

// worst returns the voter that is to go first, and what its disk is good for.
func (c *Core) worst(voters []uint64) (uint64, state) {
	worst := slices.MinFunc(voters, func(a, b uint64) int {
		own := func(id uint64) int {
			if id == c.id {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(c.state(a), c.state(b)), cmp.Compare(own(a), own(b)), cmp.Compare(c.score(a), c.score(b)))
	})
	return worst, c.state(worst)
}

// spares returns the disks that can take a replica, the best first: on hosts that have none yet, then by
// rendezvous. But and voters are none.
func (c *Core) spares(all []*disk, voters []uint64, but ...uint64) []*disk {
	hosts := map[string]bool{}
	for _, d := range all {
		if slices.Contains(voters, d.replica) {
			hosts[d.host] = true
		}
	}
	var spares []*disk
	for _, d := range all {
		if d.replica != 0 && !slices.Contains(voters, d.replica) && !slices.Contains(but, d.replica) && c.state(d.replica) == fresh {
			spares = append(spares, d)
		}
	}
	used := func(d *disk) int {
		if hosts[d.host] {
			return 1
		}
		return 0
	}
	slices.SortFunc(spares, func(a, b *disk) int {
		return cmp.Or(cmp.Compare(used(a), used(b)), cmp.Compare(c.score(b.replica), c.score(a.replica)), cmp.Compare(a.id, b.id))
	})
	return spares
}

// score is the rendezvous hash of the ledger and a replica's disk.
func (c *Core) score(replica uint64) uint64 {
	x := c.cfg.Ledger ^ diskOf(replica)*0x9e3779b97f4a7c15
	for range 2 {
		x ^= x >> 33
		x *= 0xff51afd7ed558ccd
	}
	return x ^ x>>33
}
