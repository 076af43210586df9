package directory_test

import (
	"fmt"
	"math"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

func (m *model) of(id phalanx.ObjectID) *shown {
	if m.shown[id] == nil {
		m.shown[id] = &shown{}
	}
	return m.shown[id]
}

// show checks (2) and (14): what anybody is told is on the backup, generations
// rise, and what is final stays until it is deleted or replaced.
func (m *model) show(at phalanx.NodeID, id phalanx.ObjectID, st directory.State, g phalanx.Generation, d phalanx.Digest) {
	if at != m.view.Owner {
		m.fail("(14) %s answers, the owner is %s", at, m.view.Owner)
	}
	if m.silent[at] && m.now > 0 && m.mute(at) {
		m.fail("(14) %s answers without a majority", at)
	}
	own, _ := m.replicas[at].Inspect(id)
	if b := m.view.Backup; b != "" && m.replicas[b] != nil && !own.Changing {
		p, _ := m.replicas[b].Inspect(id)
		ok := p.Record.Gen == g && (st != directory.Finished && st != directory.Lost || p.Record.State == directory.Finished) &&
			(st != directory.Deleted || p.Record.State == directory.Deleted)
		if st != directory.Unbound && !ok && !g.Less(p.Record.Gen) {
			m.fail("(14) %s shows %s %v %v, its backup %s has %v", at, id, st, g, b, p.Record)
		}
	}
	s := m.of(id)
	switch {
	case st == directory.Deleted && g.Less(s.gen): // a late copy of a Delete is answered
		return
	case st == directory.Deleted:
		s.released, s.deleted = true, g
	case st == directory.Unbound:
		if !s.final.IsZero() && !s.released && s.withdrawn != s.final {
			m.fail("(2) %s is unbound after it was final as %v", id, s.final)
		}
		return
	case g.Less(s.gen):
		m.fail("(2) %s goes from %v back to %v", id, s.gen, g)
	case s.final.Less(g) && !s.final.IsZero() && !s.released && s.withdrawn != s.final:
		m.fail("(2) %s goes from %v, which is final, to %v", id, s.final, g)
	}
	if s.gen.Less(g) {
		s.gen = g
	}
	if (st == directory.Finished || st == directory.Lost) && !d.IsZero() {
		if s.final == g && s.digest != d {
			m.fail("(2) %s %v has digests %v and %v", id, g, s.digest, d)
		}
		s.final, s.digest, s.released = g, d, false
	}
}

// mute reports whether the lease of n has run out.
func (m *model) mute(n phalanx.NodeID) bool {
	for i := len(m.steps) - 1; i >= 0; i-- {
		if l, ok := m.steps[i].ev.(directory.Lease); ok && m.steps[i].at == n {
			return m.now > l.Until
		}
	}
	return true
}

// check looks at the leases that the present owner has granted.
func (m *model) check(t *rapid.T) {
	m.t = t
	for _, id := range ids {
		p, _ := m.replicas[m.view.Owner].Inspect(id)
		for _, n := range m.view.Members {
			if c := m.copies[n][id]; c != nil && c.complete && !c.origin && !c.gen.IsZero() && !p.Record.After.Less(c.gen) {
				m.fail("(12) %s is put again as %v, and %s has %v, which was deleted", id, p.Record.Gen, n, c.gen)
			}
		}
		up := map[phalanx.NodeID]phalanx.NodeID{}
		count, slow := map[phalanx.NodeID]int{}, map[phalanx.NodeID]int{}
		for _, l := range p.Leases {
			if _, twice := up[l.Receiver]; twice {
				m.fail("(4) %s reads %s under two leases: %+v", l.Receiver, id, p)
			}
			up[l.Receiver] = ""
			if l.ID>>32 < m.since {
				continue // of an earlier owner: that can clash with what was granted meanwhile
			}
			up[l.Receiver] = l.Sender
			if l.Slow {
				if slow[l.Sender]++; slow[l.Sender] > 1 {
					m.fail("(4) %s has %d leases of %s that do not count: %+v", l.Sender, slow[l.Sender], id, p)
				}
			} else if count[l.Sender]++; count[l.Sender] > m.cfg.Fanout {
				m.fail("(4) %s sends %s to %d receivers: %+v", l.Sender, id, count[l.Sender], p)
			}
			if !slices.Contains(m.view.Members, l.Sender) || !slices.Contains(m.view.Members, l.Receiver) {
				m.fail("(20) a lease names a node that is gone: %+v", p)
			}
		}
		for n := range up {
			seen := 0
			for at := n; at != ""; at = up[at] {
				if seen++; seen > len(up)+1 && !complete(p, at) {
					m.fail("(5) the senders of %s form a cycle: %+v", id, p)
				}
				if complete(p, at) {
					break
				}
			}
		}
	}
}

func complete(p directory.Picture, n phalanx.NodeID) bool {
	return slices.ContainsFunc(p.Holders, func(h directory.HolderStat) bool { return h.Node == n && h.Complete })
}

// settle ends all faults and lets everything that is on its way arrive.
func (m *model) settle() {
	clear(m.silent)
	for range 6 {
		m.pass(100 * time.Millisecond)
		for len(m.wire) > 0 {
			w := m.wire[0]
			m.wire = m.wire[1:]
			m.step(w.to, w.ev)
		}
		m.promote(false)
		m.report()
		for _, p := range m.pushes {
			m.acked(p)
		}
		m.pushes = nil
	}
}

// finish deletes everything: then nothing may be left (23).
func (m *model) finish() {
	m.settle()
	if m.view.Backup == "" {
		m.fail("liveness: no backup after everything has settled: %+v", m.view)
	}
	for _, r := range m.sent {
		switch r.Body.(type) {
		case directory.Begin, directory.PutInline, directory.Locate, directory.Watch:
			if slices.Contains(m.view.Members, r.From) {
				m.nums[r.From]++
				m.send(directory.Request{From: r.From, Num: m.nums[r.From], Object: r.Object, Body: directory.Cancel{Num: r.Num}})
			}
		}
	}
	m.settle()
	from := m.view.Owner
	for _, id := range ids {
		m.nums[from]++
		m.send(directory.Request{From: from, Num: m.nums[from], Object: id, Body: directory.Delete{Gen: phalanx.Generation{Epoch: math.MaxUint64}}})
	}
	m.settle()
	m.pass(21 * time.Minute)
	m.settle()
	for _, n := range []phalanx.NodeID{m.view.Owner, m.view.Backup} {
		if left := m.replicas[n].Objects(); len(left) > 0 {
			p, _ := m.replicas[n].Inspect(left[0])
			m.fail("(23) %s still has %v: %+v", n, left, p)
		}
	}
}

// replay runs the same events on new replicas.
func (m *model) replay() {
	replicas := map[phalanx.NodeID]*directory.Shard{}
	var effects []string
	for _, s := range m.steps {
		if replicas[s.at] == nil {
			cfg := m.cfg
			cfg.Self = s.at
			replicas[s.at] = directory.New(cfg)
		}
		for _, e := range replicas[s.at].Step(s.now, s.ev) {
			effects = append(effects, fmt.Sprintf("%s: %v", s.at, e))
		}
	}
	if !slices.Equal(effects, m.effects) {
		m.fail("the same events have other effects the second time")
	}
}
