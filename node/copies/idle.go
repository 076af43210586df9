package copies

import "github.com/phalanx-go/phalanx"

// An idle copy may be evicted: it is complete and not pinned, no reader, view, place or stream
// uses it, and the node is not asking its owner about it. The table keeps the idle copies of each
// directory shard in a list, the least recently used first, so that choosing one takes as long
// with a hundred thousand copies as with ten.

// copyList is a list of copies, each of which is in one list at most.
type copyList struct {
	first, last *Copy
}

// neighbours is a copy's place in a list.
type neighbours struct {
	in         *copyList // nil: the copy is in none
	prev, next *Copy
}

func (l *copyList) pushBack(c *Copy) {
	c.at = neighbours{in: l, prev: l.last}
	if l.last != nil {
		l.last.at.next = c
	} else {
		l.first = c
	}
	l.last = c
}

func (l *copyList) pushFront(c *Copy) {
	c.at = neighbours{in: l, next: l.first}
	if l.first != nil {
		l.first.at.prev = c
	} else {
		l.last = c
	}
	l.first = c
}

// unlink takes c out of its list.
func (c *Copy) unlink() {
	l, prev, next := c.at.in, c.at.prev, c.at.next
	if prev != nil {
		prev.at.next = next
	} else {
		l.first = next
	}
	if next != nil {
		next.at.prev = prev
	} else {
		l.last = prev
	}
	c.at = neighbours{}
}

// lane holds the idle copies of one directory shard.
type lane struct {
	idle    copyList
	refused copyList // the owner has kept these since Reconsider was called last
}

func (t *Table) laneOf(id phalanx.ObjectID) *lane { return &t.lanes[id.Shard(len(t.lanes))] }

// arrange puts c where it belongs after a change: when its last use ends, c becomes the
// most recently used copy.
func (t *Table) arrange(c *Copy) {
	c.Bytes.Counts()
	idle := c.Complete && !c.Dropped && !c.Pinned && !c.asked && !c.Used()
	switch {
	case idle && c.at.in == nil:
		t.uses++
		c.used = t.uses
		t.laneOf(c.Object).idle.pushBack(c)
	case !idle && c.at.in != nil:
		c.unlink()
	}
}

// Victim takes the least recently used of the idle copies whose shard, one of shards, is not
// busy; nil if there is none. No other call returns it before Keep was called for it.
func (t *Table) Victim(shards int, busy func(shard int) bool) (c *Copy, shard int) {
	switch shards {
	case 0: // the view is not known yet
		return nil, 0
	case len(t.lanes):
	default:
		t.group(shards)
	}
	for i := range t.lanes {
		if first := t.lanes[i].idle.first; first != nil && (c == nil || first.used < c.used) && !busy(i) {
			c, shard = first, i
		}
	}
	if c != nil {
		c.asked = true
		c.unlink()
	}
	return c, shard
}

// group makes one lane for each of shards. A cluster's number of shards never
// changes, but a node can join another cluster with the copies that it has.
func (t *Table) group(shards int) {
	old := t.lanes
	t.lanes = make([]lane, shards)
	for {
		var c *Copy // the least recently used of all
		for i := range old {
			for _, first := range []*Copy{old[i].idle.first, old[i].refused.first} {
				if first != nil && (c == nil || first.used < c.used) {
					c = first
				}
			}
		}
		if c == nil {
			return
		}
		c.unlink()
		t.laneOf(c.Object).idle.pushBack(c)
	}
}

// Keep gives a copy back that Victim took. If it is still idle it is again the least
// recently used of its shard; if the owner has refused it, Victim leaves it out until
// Reconsider is called.
func (t *Table) Keep(c *Copy, refused bool) {
	if c.asked = false; c.Dropped || c.Pinned || c.Used() {
		return
	}
	if l := t.laneOf(c.Object); refused {
		l.refused.pushBack(c)
	} else {
		l.idle.pushFront(c)
	}
}

// Reconsider lets Victim choose refused copies.
func (t *Table) Reconsider() {
	for i := range t.lanes {
		l := &t.lanes[i]
		for c := l.refused.last; c != nil; c = l.refused.last {
			c.unlink()
			l.idle.pushFront(c)
		}
	}
}

// Reclaim gives all copies back that Victim has taken: no evictor will hear the answers of the
// owners any more.
func (t *Table) Reclaim() {
	for _, c := range t.copies {
		if c.asked {
			c.asked = false
			t.arrange(c)
		}
	}
}

// Evict drops c, which Victim has chosen and whose owner has granted leave. It
// reports false, and c stays, if c was pinned or a reader has begun to use it
// since it was chosen.
func (t *Table) Evict(c *Copy, err error) bool {
	c.asked = false
	if !c.Dropped && (c.Pinned || c.Used()) {
		return false
	}
	if t.Drop(c, err) {
		t.evictions++
	}
	return true
}

// Evictions returns how many copies were evicted.
func (t *Table) Evictions() uint64 { return t.evictions }
