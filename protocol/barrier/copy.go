package barrier

import (
	"slices"

	"github.com/phalanx-go/phalanx"
	repl "github.com/phalanx-go/phalanx/protocol/replica"
)

// replicateTo sends the changes on their way to the backups that have not confirmed them.
func (c *Core) replicateTo(r *replica) {
	r.backups.Sent(c.now)
	for _, n := range c.managers(r.key)[1:] {
		if r.backups.Lacks(n) {
			c.replicateOne(r, n)
		}
	}
}

// replicateOne sends a backup the changes, or the next piece of the state before them.
func (c *Core) replicateOne(r *replica, n phalanx.NodeID) {
	m := Replicate{Key: r.key, Term: c.terms.Term, Seq: r.Seq + 1, Stamp: r.backups.Stamp()}
	if item, state := r.backups.From(n); state {
		m.Total = r.b.State.items()
		m.From = min(item, m.Total)
		s, k := r.b.State.piece(m.From, c.cfg.Part)
		if s.Anew <= r.clock(c.now) { // the memory may be of the barrier that followed
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
	if r == nil || !r.backups.Awaits(from, repl.Version{Term: m.Term, Seq: m.Seq}) {
		return
	}
	if len(m.Fired) > 0 {
		if slices.ContainsFunc(m.Fired, func(n phalanx.NodeID) bool { return slices.Contains(c.view.Members, n) }) { // else it has an old view
			c.past.add(r.key.digest(), place(r.key.Name), m.Fired, r.b.cfg.Late, c.now)
			c.drop(r) // waiting participants ask again, and get an answer
			c.spreadOne(r.key)
		}
		return
	}
	switch r.backups.Confirm(c.now, from, repl.Confirmation{Need: m.Need, Have: m.Have, Stamp: m.Stamp}) {
	case repl.Confirmed:
		c.batchTrip.Took(min(r.backups.Took(c.now), c.cfg.Poll))
		c.wake(r)
	case repl.Send:
		c.replicateOne(r, from)
		c.wake(r)
	}
}

// arrival is the received part of a state that a backup gets from a primary.
type arrival struct {
	cfg   Config
	state State
}

// arrive takes a piece of a state. It returns all of it when it is complete, and else asks for
// the next piece.
func (c *Core) arrive(from phalanx.NodeID, m Replicate) (a *arrival, complete bool) {
	one := c.arriving.Of(m.Key, repl.Batch{From: from, Version: repl.Version{Term: m.Term, Seq: m.Seq}, Stamp: m.Stamp})
	if one == nil {
		return nil, false
	}
	a = &one.State
	if one.Next(m.From, m.State.items(), m.Total) {
		if m.From == 0 {
			a.cfg = m.Config
		}
		a.state.add(m.State.Clone())
	}
	if !one.Whole() {
		c.send(from, Confirm{Key: m.Key, Term: m.Term, Seq: m.Seq, Stamp: m.Stamp, Need: true, Have: one.Have()})
		return nil, false
	}
	c.arriving.End(m.Key)
	return a, a.state.sound() && !a.cfg.None()
}
