package barrier

import (
	"math"
	"slices"

	"github.com/phalanx-go/phalanx"
)

// whoPassed answers with a part of the entries that were let through.
func (c *Core) whoPassed(from phalanx.NodeID, m WhoPassed) {
	if !c.ready(m.Key) {
		return // it is asked again
	}
	p := Passed{Key: m.Key, ID: m.ID, Term: c.terms.Term, After: m.After, Anew: true}
	p.Over = c.past.knows(m.Key.digest())
	if r := c.replicas[m.Key]; r != nil {
		p.Known, p.Standing = true, c.standing(r)
		if m.Brief {
			c.send(from, p)
			return
		}
		i := 0
		if at, ok := r.b.index[m.After]; ok {
			i, p.Anew = at+1, false
		}
		p.Hosts, p.Last = r.b.passed(i, c.cfg.Part)
	}
	c.send(from, p)
}

// passed returns the hosts that were let through, from the entrance i on, as long as they weigh no
// more than room; and the entrance after which there are more, if there are.
func (b *Barrier) passed(i, room int) (hosts map[string][]string, last Entry) {
	hosts = map[string][]string{}
	for some := false; i < len(b.Entrances); i++ {
		e := &b.Entrances[i]
		if !e.Passed {
			continue
		}
		if room -= e.Entry.weight(); room < 0 && some {
			return hosts, b.Entrances[i-1].Entry
		}
		some = true
		if e.Label != "" {
			hosts[e.Host] = append(hosts[e.Host], e.Label)
		} else if hosts[e.Host] == nil {
			hosts[e.Host] = []string{}
		}
	}
	return hosts, Entry{}
}

// Passed returns the hosts that were let through, with their labels.
func (b *Barrier) Passed() map[string][]string {
	hosts, _ := b.passed(0, math.MaxInt)
	return hosts
}

// passed takes a part of the answer, and asks for the next one.
func (c *Core) passed(m Passed) {
	q := c.queries[m.ID]
	if q == nil || c.terms.Outdated(m.Term) || m.After != q.after {
		return
	}
	if m.Anew || q.hosts == nil {
		q.hosts = map[string][]string{}
	}
	for h, labels := range m.Hosts {
		q.hosts[h] = append(slices.Grow(q.hosts[h], len(labels)), labels...)
	}
	if m.Known && m.Last != (Entry{}) {
		q.after = m.Last
		q.asks.Answered()
		c.queriesDue.Set(m.ID, c.now)
		return
	}
	c.endQuery(m.ID)
	d := Done{ID: m.ID, Term: m.Term, Last: m.Standing}
	if !q.brief {
		d.Hosts = q.hosts
	}
	switch {
	case !m.Known && m.Over:
		d.Outcome = Forgotten
	case !m.Known:
		d.Outcome = Unknown
	}
	c.emit(d)
}
