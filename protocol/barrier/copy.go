package barrier

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// replicateTo sends the changes on their way to the backups that have not confirmed them.
func (c *Core) replicateTo(r *replica) {
	r.sends.Sent(c.now)
	for _, n := range c.managers(r.key)[1:] {
		if r.lacks[n] {
			c.replicateOne(r, n)
		}
	}
}

// replicateOne sends a backup the changes, or the next piece of the state before them. The
// state stays as it is until all backups have confirmed the changes.
func (c *Core) replicateOne(r *replica, n phalanx.NodeID) {
	m := Replicate{Key: r.key, Term: c.term, Seq: r.seq + 1, Stamp: r.stamp}
	if !r.has[n] {
		m.Total = r.b.State.items()
		m.From = min(r.copied[n], m.Total)
		s, k := r.b.State.piece(m.From, c.cfg.Part)
		if s.Anew <= r.clock(c.now) { // what is remembered may be of the barrier that followed
			s.Anew = 0
		}
		m.State = &s
		if m.From == 0 {
			m.Config = r.b.cfg
		}
		if m.From+k < m.Total {
			c.send(n, m)
			return
		}
	}
	m.Ops = slices.Clone(r.flight)
	c.send(n, m)
}

// confirm takes note that a backup has made the changes, or has so much of the state.
func (c *Core) confirm(from phalanx.NodeID, m Confirm) {
	r := c.replicas[m.Key]
	if r == nil || m.Term != c.term || !c.knows || r.flight == nil || c.primary(m.Key) != c.view.Self || !r.lacks[from] || m.Seq != r.seq+1 {
		return
	}
	switch {
	case len(m.Fired) > 0:
		if slices.ContainsFunc(m.Fired, func(n phalanx.NodeID) bool { return slices.Contains(c.view.Members, n) }) { // else it has an old view
			c.past.add(r.key.digest(), place(r.key.Name), m.Fired, r.b.cfg.Late, c.now)
			c.drop(r) // who waits asks again, and is told
			c.spreadOne(r.key)
		}
	case !m.Need:
		c.batchTrip.Took(min(c.now-r.flew, c.cfg.Poll))
		r.has[from] = true
		delete(r.lacks, from)
		c.wake(r)
	case r.has[from]: // it has lost it
		delete(r.has, from)
		c.replicateOne(r, from)
	case m.Stamp == r.stamp && m.Have != r.copied[from]: // else it is repeated when it is time
		r.copied[from] = m.Have
		r.flew, r.sends = c.now, retry.Once(c.now)
		c.replicateOne(r, from)
		c.wake(r)
	}
}

// arrival is a state that a backup gets from a primary.
type arrival struct {
	from  phalanx.NodeID
	term  uint64
	seq   uint64
	stamp time.Duration
	pieces
}

func (a *arrival) of(from phalanx.NodeID, m Replicate) bool {
	return a.from == from && a.term == m.Term && a.seq == m.Seq && a.stamp == m.Stamp
}

// arrive takes a piece of a state. It returns all of it when it is complete, and else asks for
// the next piece.
func (c *Core) arrive(from phalanx.NodeID, m Replicate) (a *arrival, complete bool) {
	if a = c.arriving[m.Key]; a == nil || !a.of(from, m) {
		if a != nil && (a.term > m.Term || a.term == m.Term && a.stamp > m.Stamp) {
			return nil, false // it is late
		}
		a = &arrival{from: from, term: m.Term, seq: m.Seq, stamp: m.Stamp}
		c.arriving[m.Key] = a
	}
	if !a.next(m.Config, m.State.Clone(), m.From, m.Total) {
		c.send(from, Confirm{Key: m.Key, Term: m.Term, Seq: m.Seq, Stamp: m.Stamp, Need: true, Have: a.state.items()})
		return nil, false
	}
	delete(c.arriving, m.Key)
	return a, a.state.sound() && !a.cfg.None()
}
