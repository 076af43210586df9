package ledger

import (
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

// appends are those of a tenure that are not committed, in their order.
//
// While a Write is under way appends wait: all that came meanwhile are proposed at once, travel
// in one message and are in the next Write. They would have to wait for the disks anyway.
type appends struct {
	flight  []waiting // proposed
	queue   []waiting // not proposed
	bytes   int       // of all
	number  uint64    // of the last one that was accepted
	stalled bool
}

type waiting struct {
	number uint64
	since  time.Duration
	data   []byte
}

func (a *appends) all() []waiting { return append(a.flight, a.queue...) }

// oldest returns since when the first one waits.
func (a *appends) oldest() (time.Duration, bool) {
	switch {
	case len(a.flight) > 0:
		return a.flight[0].since, true
	case len(a.queue) > 0:
		return a.queue[0].since, true
	}
	return 0, false
}

// append accepts an append of the tenure, or refuses it.
func (c *Core) append(ev Append) {
	refuse := func(r Reason) { c.emit(Refused{Epoch: ev.Epoch, Number: ev.Number, Reason: r}) }
	if !c.serves(ev.Epoch) {
		refuse(Fenced)
		return
	}
	a := &c.lead.appends
	if ev.Number != a.number+1 {
		refuse(OutOfOrder)
		return
	}
	if len(ev.Rows) == 0 {
		refuse(Invalid)
		return
	}
	size := 0
	for _, r := range ev.Rows {
		if r.valid() != nil {
			refuse(Invalid)
			return
		}
		if size += len(r.Key) + len(r.End) + len(r.Value); size > c.cfg.MaxEntry {
			refuse(TooLarge)
			return
		}
	}
	data := batch{term: ev.Epoch, number: ev.Number, rows: ev.Rows}.encode()
	switch {
	case len(data) > c.cfg.MaxEntry:
		refuse(TooLarge)
	case a.bytes+len(data) > c.cfg.MaxUncommitted:
		refuse(Busy)
	default:
		a.number = ev.Number
		a.bytes += len(data)
		a.queue = append(a.queue, waiting{number: ev.Number, since: c.now, data: data})
	}
}

// propose gives raft the appends that wait, and reports whether there were some.
func (c *Core) propose() bool {
	l := c.lead
	if len(l.appends.queue) == 0 || c.disk.busy != nil || l.ended {
		return false
	}
	if status := c.node.BasicStatus(); status.GetTerm() != l.term {
		c.endTenure()
		return false
	}
	m := &raftpb.Message{Type: raftpb.MsgProp.Enum(), From: new(c.id)}
	for _, w := range l.appends.queue {
		m.Entries = append(m.Entries, &raftpb.Entry{Data: w.data})
	}
	if c.node.Step(m) != nil {
		c.endTenure()
		return false
	}
	l.appends.flight = append(l.appends.flight, l.appends.queue...)
	l.appends.queue = nil
	return true
}

// committed is told of an entry that a majority of the disks has, this one among them.
func (c *Core) committed(e *raftpb.Entry, b batch) {
	l := c.lead
	if l == nil || l.ended || e.GetTerm() != l.term {
		return
	}
	a := &l.appends
	if len(a.flight) == 0 || a.flight[0].number != b.number {
		panic("ledger: an append was committed out of order")
	}
	a.bytes -= len(a.flight[0].data)
	a.flight[0] = waiting{}
	a.flight = a.flight[1:]
	c.emit(Done{Epoch: l.term, Number: b.number})
	if at, ok := a.oldest(); !ok || c.now-at < c.cfg.LateAfter {
		c.stalled(false)
	}
}

// stalled says whether the oldest append waits too long, if that is news.
func (c *Core) stalled(on bool) {
	if c.lead.appends.stalled != on {
		c.lead.appends.stalled = on
		c.emit(Stalled{Epoch: c.lead.term, On: on})
	}
}
