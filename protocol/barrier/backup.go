package barrier

import (
	"github.com/phalanx-go/phalanx"
	repl "github.com/phalanx-go/phalanx/protocol/replica"
)

// replicate makes the changes of a primary, which acts on them when all backups
// have made them.
func (c *Core) replicate(from phalanx.NodeID, m Replicate) {
	if !c.terms.Heeds(m.Term, c.primary(m.Key) == from) {
		c.send(from, Refused{Term: c.terms.Latest()})
		return
	}
	r, batch := c.replicas[m.Key], repl.Version{Term: m.Term, Seq: m.Seq}
	if r != nil && r.Has(batch) {
		c.send(from, Confirm{Key: m.Key, Term: m.Term, Seq: m.Seq})
		return
	}
	switch follows := r != nil && r.Follows(batch); {
	case r == nil && m.From == 0 && c.past.knows(m.Key.digest()) && !(m.State != nil && m.State.Anew > 0):
		c.send(from, Confirm{Key: m.Key, Term: m.Term, Seq: m.Seq, Fired: c.past.nodes(m.Key.digest())})
		return
	case m.State != nil:
		a, complete := c.arrive(from, m)
		if !complete {
			return
		}
		c.past.forget(m.Key.digest())
		r = &replica{key: m.Key, b: Restore(a.cfg, a.state)}
		c.put(r)
	case !follows:
		c.send(from, Confirm{Key: m.Key, Term: m.Term, Seq: m.Seq, Stamp: m.Stamp, Need: true})
		return
	}
	for _, op := range m.Ops {
		r.b.Apply(op)
	}
	r.Copy, r.touched = repl.Copy{Version: batch, Primary: from}, c.now
	c.weigh(r)
	if c.outlive(r); r.b.closed {
		c.bury(r)
	}
	c.send(from, Confirm{Key: m.Key, Term: m.Term, Seq: m.Seq})
}

// forget drops a replica that its primary does not need any more.
func (c *Core) forget(from phalanx.NodeID, m Forget) {
	if r := c.replicas[m.Key]; r != nil && r.Forgets(from, m.Term, c.primary(m.Key)) && c.primary(m.Key) != c.view.Self {
		c.remove(m.Key)
		c.arriving.End(m.Key)
	}
}
