package workflow

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// member is a node of the view, with its executor.
type member struct {
	node phalanx.NodeID
	left bool // the view, for ever: a node that comes back is another one
	goes bool // it is leaving: its store takes no outputs any more
	disk string

	unfit time.Duration // until then checkpoints go to other disks, if there are

	// of the placer
	group   *group // nil: it gets no attempts yet
	place   int    // in group.members
	slots   int
	used    int
	busy    bool       // it takes no orders now
	freed   bool       // it is in placer.freed
	waiting []*pending // attempts that prefer it

	known    bool   // the row executor/ is written, or on its way
	serial   uint64 // of its last Order
	asks     []*asking
	asked    uint64
	flights  map[AttemptID]*flight
	limited  map[AttemptID]*limit   // attempts that count for a limit
	foreign  map[AttemptID]*sending // Recalls of attempts that run there and are of no use: each takes a slot
	saves    map[Blob]*save
	release  []Released // runs that it has to drop, in order
	freeing  *sending   // the Release of the first ones; nil: none is under way
	released int        // how many these are
	frees    uint64     // the Serial of the last Release
	acks     []AttemptID
}

// sending is a message that is repeated until it is answered.
type sending struct {
	to   *member
	msg  Message
	sent retry.Backoff
	done bool
}

// asking is what a member is asked, one thing after the other.
type asking struct {
	number uint64
	only   UID
	part   int
	msg    *sending
	done   func() // once it has answered, or has left
}

// sendUntil sends a message again and again, until stop.
func (c *Controller) sendUntil(m *member, msg Message) *sending {
	s := &sending{to: m, msg: msg}
	c.sendAgain(s)
	return s
}

func (c *Controller) sendAgain(s *sending) {
	if s.done {
		return
	}
	if _, is := s.msg.(Order); is && c.stalled() && s.sent.Waits() {
		c.repeats.Set(s, c.now+repeated.First)
		return
	}
	c.emit(Send{To: s.to.node, Message: s.msg})
	s.sent.Sent(c.now)
	c.repeats.Set(s, s.sent.At(repeated))
}

func (c *Controller) stop(s *sending) {
	if s != nil && !s.done {
		s.done, s.msg = true, nil
		c.repeats.Cancel(s)
	}
}

// viewed takes a view. Members that are not in it have left for ever. A recorded node that is not in it has left too,
// unless the view is older than the one in which it was recorded.
//
// The controller records a departure, with the view, before the attempts of the node count as lost. Otherwise the next
// controller, in an older view, could hear from the node that an attempt has ended well, although its effect was taken
// back since.
func (c *Controller) viewed(ev Members) {
	if ev.View.Less(c.view) {
		return
	}
	c.view, c.nobody = ev.View, false
	in := map[phalanx.NodeID]bool{}
	for _, n := range ev.Nodes {
		in[n] = true
	}
	var left []*member
	for _, m := range c.sortedMembers() {
		if !in[m.node] {
			c.leave(m)
			c.departed()
			if m.known {
				left = append(left, m)
				c.recorded[m.node] = Known{} // until that is durable
			}
		}
	}
	for _, n := range slices.Sorted(maps.Keys(c.recorded)) {
		if known := c.recorded[n]; !in[n] && known != (Known{}) && !ev.View.Less(known.View) {
			left = append(left, &member{node: n, left: true})
			c.recorded[n] = Known{}
		}
	}
	c.recordLeft(left)
	for _, n := range ev.Nodes {
		if c.members[n] == nil {
			m := &member{node: n, flights: map[AttemptID]*flight{}, foreign: map[AttemptID]*sending{}, saves: map[Blob]*save{}}
			_, m.known = c.recorded[n]
			c.members[n] = m
			c.ask(m, UID{}, func() { c.answered(m) })
		}
		c.place.goes(c.members[n], slices.Contains(ev.Leaving, n))
	}
	c.release()
}

// recordLeft makes durable that members have left. Then their attempts are lost.
func (c *Controller) recordLeft(all []*member) {
	if len(all) == 0 {
		return
	}
	rows := []Row{{Key: "view", Value: Known{View: c.view}}}
	for _, m := range all {
		rows = append(rows, Row{Key: executorKey(m.node)})
	}
	c.add(func() {
		for _, m := range all {
			delete(c.recorded, m.node)
			c.limits.leave(m)
			for _, id := range slices.SortedFunc(maps.Keys(m.flights), AttemptID.compare) {
				c.lost(m.flights[id])
			}
		}
		c.release()
	}, rows...)
}

func (c *Controller) sortedMembers() []*member {
	return slices.SortedFunc(maps.Values(c.members), func(a, b *member) int { return cmp.Compare(a.node, b.node) })
}

// leave takes that a node has left the view: nothing that it says counts any more.
func (c *Controller) leave(m *member) {
	m.left = true
	delete(c.members, m.node)
	c.place.leave(m)
	c.limits.changeAll()
	c.withDisks = nil
	for _, f := range m.flights {
		c.stop(f.msg)
	}
	for _, s := range m.foreign {
		c.stop(s)
	}
	for _, b := range slices.SortedFunc(maps.Keys(m.saves), Blob.compare) {
		c.saveFailed(m.saves[b], "the node of its disk has left")
	}
	c.stop(m.freeing)
	for _, h := range c.heldRuns {
		if h.held != nil {
			h.held.leave(h, m)
		}
	}
	asks := m.asks
	m.asks = nil
	for _, a := range asks {
		c.stop(a.msg)
		a.done()
	}
}

// ask asks what a member has of a run, or of all, and calls done at the end of the answer.
func (c *Controller) ask(m *member, only UID, done func()) {
	m.asked++
	m.asks = append(m.asks, &asking{number: m.asked, only: only, done: done})
	if len(m.asks) == 1 {
		c.askNext(m)
	}
}

func (c *Controller) askNext(m *member) {
	if len(m.asks) > 0 {
		a := m.asks[0]
		a.msg = c.sendUntil(m, Ask{Epoch: c.cfg.Epoch, Number: a.number, Only: a.only, Part: a.part})
	}
}

// told takes a part of what a member has.
func (c *Controller) told(m *member, t Tell) {
	if len(m.asks) == 0 || m.asks[0].number != t.Number || m.asks[0].part != t.Part {
		return
	}
	a := m.asks[0]
	c.stop(a.msg)
	if a.only.IsZero() && t.Part == 0 {
		m.slots, m.disk = min(max(t.Slots, 0), MaxSlots), t.Disk
	}
	for _, r := range t.Running {
		c.toldRunning(m, r)
	}
	for _, r := range t.Ended {
		c.reported(m, r)
	}
	for _, b := range t.Holds {
		c.toldHolds(m, b)
	}
	if a.part++; a.part < t.Parts {
		c.askNext(m)
		return
	}
	if a.only.IsZero() {
		c.enter(m, t.Functions)
	}
	m.asks = m.asks[1:]
	c.askNext(m)
	a.done()
}

// enter has a member get attempts, once it is recorded that it may have some: the next controller then knows whom
// to wait for.
func (c *Controller) enter(m *member, offers []Function) {
	enter := func() {
		if !m.left {
			c.place.enter(m, offers)
			c.limits.changeAll()
			c.withDisks = nil
			c.saveMore()
		}
	}
	if m.known {
		enter()
		return
	}
	m.known = true
	c.add(enter, Row{Key: executorKey(m.node), Value: Known{View: c.view}})
}

// answered takes that a member has told all it has, or has left.
func (c *Controller) answered(m *member) {
	if !m.left {
		delete(c.recorded, m.node)
		c.release()
	}
}

// heard takes a message of an executor.
func (c *Controller) heard(from phalanx.NodeID, msg Message) {
	m := c.members[from]
	if m == nil || msg.epoch() != c.cfg.Epoch || c.loading {
		return
	}
	switch msg := msg.(type) {
	case Tell:
		c.told(m, msg)
	case Taken:
		c.place.hold(m, false)
		if f := m.flights[msg.ID]; f != nil && !f.canceled {
			c.stop(f.msg)
		}
	case Busy:
		c.place.hold(m, true)
	case Report:
		c.reported(m, msg)
	case Beaten:
		c.beaten(m, msg)
	case Waits:
		c.waits(m, msg)
	case Keeps:
		c.keeps(m, msg)
	case BlobWritten:
		c.blobWritten(m, msg)
	case Freed:
		if m.freeing != nil && !m.freeing.done && m.frees == msg.Serial {
			c.stop(m.freeing)
			m.release = m.release[m.released:]
			m.freeing = nil
			c.free(m)
		}
	}
}

// free has a member drop what it has of runs that have ended.
func (c *Controller) free(m *member, runs ...Released) {
	if m.left {
		return
	}
	m.release = append(m.release, runs...)
	if m.freeing == nil && len(m.release) > 0 {
		m.frees++
		m.released = min(mostListed, len(m.release))
		m.freeing = c.sendUntil(m, Release{Epoch: c.cfg.Epoch, Serial: m.frees, Runs: slices.Clone(m.release[:m.released])})
	}
}

// acknowledge has a member forget a report.
func (c *Controller) acknowledge(m *member, id AttemptID) {
	if m.left {
		return
	}
	if len(m.acks) == 0 {
		c.acking = append(c.acking, m)
	}
	m.acks = append(m.acks, id)
}

// sendAcks sends what this step acknowledges. An executor repeats a report whose Acknowledge is lost.
func (c *Controller) sendAcks() {
	for _, m := range c.acking {
		for all := m.acks; len(all) > 0; {
			n := min(len(all), mostTold)
			c.emit(Send{To: m.node, Message: Acknowledge{Epoch: c.cfg.Epoch, IDs: slices.Clone(all[:n])}})
			all = all[n:]
		}
		m.acks = m.acks[:0]
	}
	c.acking = c.acking[:0]
}
