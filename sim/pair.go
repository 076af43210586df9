package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// The owner and the backup of a shard die together (2.5): the cluster rebuilds it from complete
// copies.

// pairDies crashes the owner and the backup of a shard within 10 ms, where that leaves a majority
// of the voters.
func (w *world) pairDies(r *rand.Rand) string {
	l := w.doing
	w.strike(func() { l.what += w.pairDeath(r) })
	return l.what + " "
}

func (w *world) pairDeath(r *rand.Rand) string {
	v := w.audit.newest
	var able []view.Shard
	for i, s := range v.Shards {
		o, b := w.byID[s.Owner], w.byID[s.Backup]
		if o == nil || b == nil || o.over || b.over || o.shards[i] == nil || w.running() < 5 ||
			len(v.Voters) < 3 || slices.Contains(v.Voters, o.id) && slices.Contains(v.Voters, b.id) {
			continue
		}
		able = append(able, s)
	}
	if len(able) == 0 {
		w.busy = false
		return "no pair can die"
	}
	s := able[r.IntN(len(able))]
	w.met["fault: owner and backup of a shard at once"]++
	w.paired = true
	owner, backup := w.byID[s.Owner].host, w.byID[s.Backup].host
	for i, h := range []*host{owner, backup} {
		h.struck(w.now)
		w.met["fault: crash"]++
		life := h.life
		w.after(time.Duration(i)*drawn(r, 10*time.Millisecond), func() {
			if h.life == life && life != nil {
				h.crash(false)
			}
		})
	}
	again := r.IntN(4) > 0
	w.over(time.Second+drawn(r, 2*time.Second), func() {
		for _, h := range []*host{owner, backup} {
			h.spared()
			if again || w.running() < 3 {
				h.restart()
			}
		}
	})
	return fmt.Sprintf("fault: crash of %s and %s", s.Owner, s.Backup)
}

// survives notes that the cluster must still know an object of a lost shard if a member has a
// complete copy.
func (a *audit) survives(id phalanx.ObjectID, members view.View) {
	m := a.w.oracle.model(id)
	gen, copies, bound := m.gen, m.copies, m.final() && !m.deleting()
	a.w.oracle.forget(id)
	if !bound {
		return
	}
	for _, n := range a.w.alive() {
		c := n.whole(id)
		if c == nil || c.Gen != gen || c.Asked() || !members.Has(n.id) {
			continue
		}
		a.w.met["copy outlives its shard"]++
		m.survives = gen
		if c.Pinned && c.Copies >= copies {
			m.copies = copies
		}
	}
}

// rebuilt checks (18) at the end: the cluster knows every object of which a complete copy has
// outlived its shard, and a repeated call of the reduce that made it gets an answer.
func (w *world) rebuilt() {
	for _, id := range w.objects() {
		m := w.oracle.model(id)
		if m.survives.IsZero() || m.deleting() || m.final() {
			continue
		}
		for _, n := range w.alive() {
			if c := n.whole(id); c != nil && c.Gen == m.survives {
				w.fail("(18) %s, whose shard was lost, is %v, and %s has a complete copy", id, m.state, n.id)
			}
		}
	}
	for _, id := range w.objects() {
		cfg, m := w.reduced[id], w.oracle.model(id)
		if cfg.Target == "" || m.survives != m.gen || !m.final() || m.deleting() || m.revived || !w.tagged(id, m.gen) {
			continue
		}
		w.met["reduce asked for again after its shard was lost"]++
		c := w.reduce(w.joined(w.fate), reduce.Config{Target: id, Sources: cfg.Sources, Num: cfg.Num}).call
		w.must(settled, "the caller has its answer for a reduce that was made before", func() bool { return c.ended })
		if c.err != nil && (c.err.Kind != phalanx.ErrLost || cfg.Num == len(cfg.Sources)) {
			w.fail("(19) the same reduce of %s, which is final, ended: %v", id, c.err)
		}
	}
}

// tagged reports whether a copy of an object names the reduce that made it.
func (w *world) tagged(id phalanx.ObjectID, g phalanx.Generation) bool {
	return slices.ContainsFunc(w.alive(), func(n *node) bool {
		c := n.whole(id)
		return c != nil && c.Gen == g && c.Tag != "" && n.view.Has(n.id)
	}) && w.oracle.model(id).state == directory.Finished
}
