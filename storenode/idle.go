package storenode

import "github.com/phalanx-go/phalanx"

// An idle copy may be evicted: it is complete and not pinned, no reader, view,
// place or stream is in it, and its owner is not asked about it now. The table
// keeps the idle copies of each directory shard in a list, those first that were
// used longest ago, so that to choose one takes as long with a hundred thousand
// copies as with ten.

// copyList is a list of copies, each of which is in one list at most.
type copyList struct {
	first, last *objectCopy
}

// neighbours is a copy's place in a list.
type neighbours struct {
	in         *copyList // nil: the copy is in none
	prev, next *objectCopy
}

func (l *copyList) pushBack(c *objectCopy) {
	c.at = neighbours{in: l, prev: l.last}
	if l.last != nil {
		l.last.at.next = c
	} else {
		l.first = c
	}
	l.last = c
}

func (l *copyList) pushFront(c *objectCopy) {
	c.at = neighbours{in: l, next: l.first}
	if l.first != nil {
		l.first.at.prev = c
	} else {
		l.last = c
	}
	l.first = c
}

// unlink takes c out of its list.
func (c *objectCopy) unlink() {
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
	refused copyList // the owner has kept these since reconsider was called last
}

func (t *Table) laneOf(id phalanx.ObjectID) *lane { return &t.lanes[id.Shard(len(t.lanes))] }

// arrange puts c where it belongs after a change: the end of a use is what makes a
// copy the one that was used last. It needs mu.
func (t *Table) arrange(c *objectCopy) {
	t.count(c)
	idle := c.complete && !c.dropped && !c.pinned && !c.asked && c.users == 0 && c.streams == 0
	switch {
	case idle && c.at.in == nil:
		t.uses++
		c.used = t.uses
		t.laneOf(c.object).idle.pushBack(c)
	case !idle && c.at.in != nil:
		c.unlink()
	}
}

// count tells the budget how much of c's memory lasts: all of a pinned copy, and of one
// that will be. It needs mu.
func (t *Table) count(c *objectCopy) {
	var now lasting
	switch {
	case c.dropped:
	case c.complete && c.pinned:
		now.pinned = c.size() + copyCost
	case !c.complete && (c.pinned || c.origin):
		now.reserved = c.size() + copyCost
	}
	if was := c.lasting; now != was {
		c.lasting = now
		t.budget.Last(now.pinned-was.pinned, now.reserved-was.reserved)
	}
}

// victim takes the idle copy that was used longest ago of those whose shard, one of
// shards, is not busy. No other call returns it before keep was called for it.
func (t *Table) victim(shards int, busy func(shard int) bool) (c *objectCopy, shard int) {
	t.mu.Lock()
	defer t.mu.Unlock()
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
		var c *objectCopy // the least recently used of all
		for i := range old {
			for _, first := range []*objectCopy{old[i].idle.first, old[i].refused.first} {
				if first != nil && (c == nil || first.used < c.used) {
					c = first
				}
			}
		}
		if c == nil {
			return
		}
		c.unlink()
		t.laneOf(c.object).idle.pushBack(c)
	}
}

// keep gives back what victim took. A copy that is still idle is again the least
// recently used of its shard; if it was refused, victim leaves it out until
// reconsider is called.
func (t *Table) keep(c *objectCopy, refused bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.asked = false; c.dropped || c.pinned || c.users > 0 || c.streams > 0 {
		return
	}
	if l := t.laneOf(c.object); refused {
		l.refused.pushBack(c)
	} else {
		l.idle.pushFront(c)
	}
}

// reconsider lets victim choose what was refused.
func (t *Table) reconsider() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.lanes {
		l := &t.lanes[i]
		for c := l.refused.last; c != nil; c = l.refused.last {
			c.unlink()
			l.idle.pushFront(c)
		}
	}
}

// reclaimAsked gives back all that victim has taken: nobody will hear the answers
// of the owners any more.
func (t *Table) reclaimAsked() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.copies {
		if c.asked {
			c.asked = false
			t.arrange(c)
		}
	}
}

// evict drops c, which victim has chosen and whose owner has granted leave. It
// reports false, and c stays, if c was pinned or somebody has begun to use it
// since it was chosen.
func (t *Table) evict(c *objectCopy, err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.asked = false
	if !c.dropped && (c.pinned || c.users > 0 || c.streams > 0) {
		return false
	}
	if !c.dropped {
		t.evictions++
	}
	t.dropLocked(c, err)
	return true
}

// Evictions returns how many copies were dropped for room.
func (t *Table) Evictions() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.evictions
}
