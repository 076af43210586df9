package workflow

import (
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/agenda"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// Copier sees to it that each checkpoint on the disk of this node is on another disk as well (workflow specification 3.7). The
// controller has two disks write it: but there may be only one at that time, and the other one may be lost.
//
//  1. A checkpoint that is not known to be on another disk is looked for on all others after countAfter. If none has it, one of them copies it.
//  2. A disk is lost once its node has another one, or once it was away for awayMost.
//  3. A node that leaves first has all its checkpoints be on disks that stay, if there are any.
//
// A member that does not answer is passed over, and so is one that could not copy.
type Copier struct {
	now     time.Duration
	out     []CopierEffect
	self    phalanx.NodeID
	view    uint64
	leaving bool
	others  []phalanx.NodeID

	held  map[string]string // by place: the other disk that has it; "": none that is known
	disks map[string]*disk  // by id: those of others
	names map[string]string // by name of a node: its disk
	away  agenda.Agenda[string]

	unsure   []string         // places that are to be looked for, in order; some are not held any more
	begins   time.Duration    // when that begins
	strange  []phalanx.NodeID // members whose disks are not known yet
	diskless []phalanx.NodeID // members that have none, although the view says so
	count    *count           // under way
	single   []string         // places that no other disk has, in order; some are not held any more
	copies   map[uint64]*copying
	ends     agenda.Agenda[uint64]
	rests    time.Duration                    // nothing is copied until then
	unfit    map[phalanx.NodeID]time.Duration // members that copy nothing until then
	silent   map[phalanx.NodeID]time.Duration // members that are not asked until then
	number   uint64

	remains Remains
	behind  bool // StaysBehind was said
}

// disk is that of another node.
type disk struct{ node phalanx.NodeID }

// count asks members which checkpoints they have.
type count struct {
	number uint64
	places []string
	waits  []phalanx.NodeID  // have not answered
	has    map[string]string // by place: a disk; "": none yet
	sent   retry.Backoff
}

// copying is a checkpoint that a member copies.
type copying struct {
	place string
	to    phalanx.NodeID
	laid  bool
}

const (
	countAfter = 10 * time.Second // for the disks that write a checkpoint at the same time
	countTries = 3                // then a member that is silent is passed over
	mostCounts = MaxPlaces
	mostCopied = 2                // checkpoints at the same time
	restFor    = time.Second      // after one that the own node could not give
	layWait    = 10 * time.Minute // for the own disk
	copyWait   = 10 * time.Second // and the time that slowCopy takes
	slowCopy   = 10e6             // bytes per second
	unfitFor   = time.Minute
)

// NewCopier returns the Copier of a node with a disk.
func NewCopier() *Copier {
	return &Copier{held: map[string]string{}, disks: map[string]*disk{}, names: map[string]string{}, copies: map[uint64]*copying{},
		unfit: map[phalanx.NodeID]time.Duration{}, silent: map[phalanx.NodeID]time.Duration{}}
}

// Due returns when the Copier has to hear of the time; false: it need not.
func (c *Copier) Due() (at time.Duration, ok bool) {
	at, ok = c.ends.Due()
	add := func(t time.Duration, is bool) {
		if is && (!ok || t < at) {
			at, ok = t, true
		}
	}
	add(c.away.Due())
	if c.count != nil {
		add(c.count.sent.At(restoreAgain), true)
	} else {
		add(c.begins, c.looks())
	}
	if len(c.single) > 0 && len(c.copies) < mostCopied {
		add(c.rests, c.rests > c.now)
		for _, n := range c.others {
			add(c.unfit[n], c.unfit[n] > c.now)
			add(c.silent[n], c.diskOf(n) == "" && c.silent[n] > c.now)
		}
	}
	return at, ok
}

// looks reports whether there are places to look for.
func (c *Copier) looks() bool {
	return len(c.unsure) > 0 && len(c.others) > 0 && len(c.single) < mostCounts
}

// Step takes an event and returns what the host must do, in that order.
func (c *Copier) Step(now time.Duration, ev CopierEvent) []CopierEffect {
	c.now = max(c.now, now)
	switch ev := ev.(type) {
	case Disks:
		c.viewed(ev)
	case Held:
		for _, p := range ev.Places {
			if _, is := c.held[p]; !is {
				c.held[p] = ""
				c.doubt(p)
			}
		}
	case NotHeld:
		for _, p := range ev.Places {
			delete(c.held, p)
		}
	case Counted:
		c.counted(ev.From, ev.These)
	case Laid:
		if k := c.copies[ev.Number]; k != nil {
			k.laid = true
			c.ends.Set(ev.Number, c.now+copyWait+time.Duration(float64(ev.Size)/slowCopy)*time.Second)
		}
	case NotLaid:
		if k := c.copies[ev.Number]; k != nil {
			if c.rests = c.now + restFor; ev.Gone {
				delete(c.held, k.place)
			}
			c.endCopy(ev.Number, k)
		}
	case CopyEnded:
		c.copied(ev.From, ev.Copied)
	}
	c.tick()
	c.look()
	c.copy()
	c.sayRemains()
	out := c.out
	c.out = nil
	return out
}

func (c *Copier) emit(e CopierEffect) { c.out = append(c.out, e) }

// doubt has a place be looked for.
func (c *Copier) doubt(place string) {
	c.held[place] = ""
	if len(c.unsure) == 0 {
		if c.begins = c.now + countAfter; c.leaving {
			c.begins = c.now
		}
	}
	c.unsure = append(c.unsure, place)
}

// doubtAll has the places be looked for whose other disk is bad.
func (c *Copier) doubtAll(bad func(disk string) bool) {
	for _, p := range slices.Sorted(maps.Keys(c.held)) {
		if d := c.held[p]; d != "" && bad(d) {
			c.doubt(p)
		}
	}
}

// viewed takes a view.
func (c *Copier) viewed(ev Disks) {
	reborn := c.self != ev.Self // the host has ended what the incarnation before has laid
	c.view, c.self = ev.View, ev.Self
	c.diskless = slices.DeleteFunc(c.diskless, func(n phalanx.NodeID) bool { return !slices.Contains(ev.Others, n) })
	old := c.others
	c.others = slices.DeleteFunc(slices.Clone(ev.Others), func(n phalanx.NodeID) bool { return slices.Contains(c.diskless, n) })
	for _, n := range c.others {
		if !slices.Contains(old, n) {
			c.strange = append(c.strange, n)
		}
	}
	stays := func(n phalanx.NodeID) bool { return slices.Contains(c.others, n) }
	c.strange = slices.DeleteFunc(c.strange, func(n phalanx.NodeID) bool { return !stays(n) })
	maps.DeleteFunc(c.unfit, func(n phalanx.NodeID, _ time.Duration) bool { return !stays(n) })
	maps.DeleteFunc(c.silent, func(n phalanx.NodeID, _ time.Duration) bool { return !stays(n) })
	for _, id := range slices.Sorted(maps.Keys(c.disks)) {
		if !stays(c.disks[id].node) && !c.away.Has(id) {
			c.away.Set(id, c.now+awayMost)
		}
	}
	if k := c.count; k != nil {
		k.waits = slices.DeleteFunc(k.waits, func(n phalanx.NodeID) bool { return !stays(n) })
		c.endCount()
	}
	for _, n := range slices.Sorted(maps.Keys(c.copies)) {
		if k := c.copies[n]; reborn || !stays(k.to) {
			c.endCopy(n, k)
		}
	}
	if c.leaving = ev.Leaving; c.leaving {
		c.doubtAll(func(id string) bool { return !c.there(id) })
		c.begins = c.now
	} else {
		c.behind = false
	}
}

// tick does what is due.
func (c *Copier) tick() {
	for {
		id, ok := c.away.Take(c.now)
		if !ok {
			break
		}
		c.lost(id)
	}
	for {
		n, ok := c.ends.Take(c.now)
		if !ok {
			break
		}
		if k := c.copies[n]; k != nil {
			if k.laid {
				c.unfit[k.to] = c.now + unfitFor
			}
			c.endCopy(n, k)
		}
	}
	if k := c.count; k != nil && c.now >= k.sent.At(restoreAgain) {
		c.ask()
	}
	for _, n := range c.others {
		if until, was := c.silent[n]; was && c.now >= until {
			if delete(c.silent, n); c.diskOf(n) == "" { // it may be the one that can copy
				c.strange = append(c.strange, n)
			}
		}
	}
}

// lost takes that a disk is lost.
func (c *Copier) lost(id string) {
	c.away.Cancel(id)
	delete(c.names, c.disks[id].node.Name())
	delete(c.disks, id)
	c.doubtAll(func(d string) bool { return d == id })
}

// knows takes which disk a member has.
func (c *Copier) knows(n phalanx.NodeID, id string) {
	c.strange = slices.DeleteFunc(c.strange, func(m phalanx.NodeID) bool { return m == n })
	if id == "" {
		c.diskless = append(c.diskless, n)
		c.others = slices.DeleteFunc(c.others, func(m phalanx.NodeID) bool { return m == n })
		return
	}
	if d := c.disks[id]; d != nil && d.node != n && slices.Contains(c.others, d.node) { // a copy of a folder is no second disk
		return
	}
	if old := c.names[n.Name()]; old != id && c.disks[old] != nil && c.disks[old].node.Name() == n.Name() {
		c.lost(old)
	}
	c.away.Cancel(id)
	again := c.disks[id] != nil && c.disks[id].node != n
	c.names[n.Name()], c.disks[id] = id, &disk{node: n}
	if again { // a process that has failed may have lost what it wrote last
		c.doubtAll(func(d string) bool { return d == id })
	}
}

// diskOf returns the disk of a member; "": it is not known.
func (c *Copier) diskOf(n phalanx.NodeID) string {
	if id := c.names[n.Name()]; c.disks[id] != nil && c.disks[id].node == n {
		return id
	}
	return ""
}

// look begins to look for places.
func (c *Copier) look() {
	ready := c.looks() && c.now >= c.begins
	if c.count != nil || !ready && len(c.strange) == 0 {
		return
	}
	c.number++
	c.count = &count{number: c.number, waits: slices.Clone(c.strange), has: map[string]string{}}
	if ready {
		c.count.waits = slices.DeleteFunc(slices.Clone(c.others), func(n phalanx.NodeID) bool { return c.silent[n] > c.now })
		if len(c.count.waits) == 0 { // else nobody is asked
			c.count.waits = slices.Clone(c.others)
		}
	}
	for ready && len(c.unsure) > 0 && len(c.count.places) < mostCounts {
		p := c.unsure[0]
		c.unsure = c.unsure[1:]
		_, twice := c.count.has[p]
		if d, is := c.held[p]; is && d == "" && !twice {
			c.count.places = append(c.count.places, p)
			c.count.has[p] = ""
		}
	}
	c.ask()
}

// ask asks the members that have not answered.
func (c *Copier) ask() {
	k := c.count
	if k.sent.Times() == countTries {
		for _, n := range k.waits { // it holds up one count, not each
			c.silent[n] = c.now + unfitFor
		}
		c.strange = slices.DeleteFunc(c.strange, func(n phalanx.NodeID) bool { return slices.Contains(k.waits, n) })
		k.waits = nil
	}
	for _, n := range k.waits {
		c.emit(AskWhich{To: n, Which: Which{Number: k.number, Places: k.places}})
	}
	k.sent.Sent(c.now)
	c.endCount()
}

// counted takes which places a member has.
func (c *Copier) counted(from phalanx.NodeID, t These) {
	k := c.count
	if k == nil || k.number != t.Number || !slices.Contains(k.waits, from) {
		return
	}
	k.waits = slices.DeleteFunc(k.waits, func(n phalanx.NodeID) bool { return n == from })
	delete(c.silent, from)
	c.knows(from, t.Disk)
	for _, p := range t.Places {
		if t.Disk == c.diskOf(from) {
			k.has[p] = t.Disk
		}
	}
	c.endCount()
}

// endCount ends the count once nobody is left who could have something.
func (c *Copier) endCount() {
	k := c.count
	if len(k.waits) > 0 {
		return
	}
	c.count = nil
	for _, p := range k.places {
		switch d, is := c.held[p]; {
		case !is || d != "": // it has gone meanwhile
		case c.there(k.has[p]):
			c.held[p] = k.has[p]
		default:
			c.single = append(c.single, p)
		}
	}
	c.look()
}

// there reports whether a disk is there, and stays.
func (c *Copier) there(id string) bool {
	d := c.disks[id]
	return d != nil && slices.Contains(c.others, d.node)
}

// copy has members copy places that no other disk has.
func (c *Copier) copy() {
	for c.now >= c.rests && len(c.copies) < mostCopied && len(c.single) > 0 {
		p := c.single[0]
		if d, is := c.held[p]; !is || d != "" {
			c.single = c.single[1:]
			continue
		}
		to := c.best(p)
		if to == "" {
			return
		}
		c.single = c.single[1:]
		c.number++
		c.copies[c.number] = &copying{place: p, to: to}
		c.ends.Set(c.number, c.now+layWait)
		c.emit(CopyTo{Number: c.number, To: to, Place: p})
	}
}

// best returns the member that is to copy a place (rendezvous); "": none can.
func (c *Copier) best(place string) (best phalanx.NodeID) {
	most := uint64(0)
	for _, n := range c.others {
		id := c.diskOf(n)
		if id == "" || c.now < c.unfit[n] {
			continue
		}
		h := fnv.New64a()
		_, _ = h.Write([]byte(id + "/" + place)) // a hash takes all
		if s := h.Sum64(); best == "" || s > most {
			best, most = n, s
		}
	}
	return best
}

// copied takes that a member has copied a place, or could not.
func (c *Copier) copied(from phalanx.NodeID, m Copied) {
	k := c.copies[m.Number]
	if k == nil || k.to != from {
		return
	}
	if m.Failed != "" {
		c.unfit[from] = c.now + unfitFor
	} else if _, is := c.held[k.place]; is {
		c.held[k.place] = c.diskOf(from)
	}
	c.endCopy(m.Number, k)
}

// endCopy ends a copy. What is not copied comes again.
func (c *Copier) endCopy(n uint64, k *copying) {
	delete(c.copies, n)
	c.ends.Cancel(n)
	c.emit(DropCopy{Number: n})
	if d, is := c.held[k.place]; is && d == "" {
		c.doubt(k.place)
	}
}

// Busy reports whether the Copier has yet to look for checkpoints, or to have some copied.
func (c *Copier) Busy() bool {
	return len(c.others) > 0 && len(c.unsure)+len(c.single)+len(c.copies) > 0 || c.count != nil
}

// Left returns how many checkpoints the node has to hand over yet, 0 unless it leaves.
func (c *Copier) Left() int { return c.remains.Left }

// sayRemains tells what is to be handed over before the node may leave.
func (c *Copier) sayRemains() {
	if c.view == 0 {
		return
	}
	r := Remains{View: c.view}
	if c.leaving && len(c.others) > 0 {
		r.Left = len(c.unsure) + len(c.single) + len(c.copies)
		if c.count != nil {
			r.Left += len(c.count.places)
		}
	}
	if r != c.remains {
		c.remains = r
		c.emit(r)
	}
	if c.leaving && len(c.others) == 0 && len(c.held) > 0 && !c.behind {
		c.behind = true
		c.emit(StaysBehind{Checkpoints: len(c.held)})
	}
}
