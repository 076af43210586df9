package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// In a bounded run a fault that can cost a node waits until the cluster has repaired all others,
// and strikes one node. In an excessive run faults come at the times drawn.

// someFault makes a random fault happen, now or as soon as the run's bounds allow it.
func (w *world) someFault(r *rand.Rand) string {
	l := w.doing
	switch k := r.IntN(20); {
	case k < 8:
		w.strike(func() { l.what += w.death(r) })
	case k < 11:
		w.strike(func() { l.what += w.hanging(r) })
	case k < 14:
		w.strike(func() { l.what += w.partition(r) })
	case k < 15:
		w.strike(func() { l.what += w.slowness(r) })
	case k < 17:
		w.strike(func() { l.what += w.slander(r) })
	case w.alone:
		return w.gated(w.panicsService)(r)
	default:
		return w.panics(r)
	}
	return l.what + " "
}

// strike makes a fault happen as soon as the run's bounds allow it.
func (w *world) strike(fault func()) {
	if w.calmed {
		return
	}
	if w.shape.faults == bounded && (!w.atRest() || w.busy) {
		w.after(20*time.Millisecond, func() { w.strike(fault) })
		return
	}
	w.busy = true
	fault()
	w.stirred()
}

// stirred restarts the second of rest that comes before the next fault. The store checks itself
// what it has to repair; services do not.
func (w *world) stirred() {
	if len(w.services) > 0 {
		w.quiet = w.now
	}
}

// gated has do wait for its turn like a fault. do is over at once: the next fault need not wait.
func (w *world) gated(do func(*rand.Rand) string) func(*rand.Rand) string {
	return func(r *rand.Rand) string {
		l := w.doing
		w.strike(func() {
			w.busy = false
			l.what += do(r)
		})
		return l.what + " "
	}
}

// over ends a fault after d, or when the faults stop.
func (w *world) over(d time.Duration, mend func()) {
	done := false
	end := func() {
		if !done {
			done = true
			w.busy = false
			mend()
			w.stirred()
		}
	}
	w.mends = append(w.mends, end)
	w.after(d, end)
}

// victim draws a machine that may be struck, and marks it as struck.
func (w *world) victim(r *rand.Rand) *host {
	var up []*host
	for _, h := range w.hosts {
		if h.life != nil && !h.hung && h.life.view.Has(h.life.id) {
			up = append(up, h)
		}
	}
	stay := len(up)
	for _, h := range up {
		if h.life.going { // it leaves: the voters are among the others
			stay--
		}
	}
	if w.shape.faults == crowded {
		up = slices.DeleteFunc(up, func(h *host) bool { return !w.dispensable(h) })
	}
	if len(up) == 0 || w.shape.faults == bounded && stay < 3 {
		w.busy = false
		return nil
	}
	h := up[r.IntN(len(up))]
	h.struck(w.now)
	return h
}

// struck notes that a fault strikes the machine.
func (h *host) struck(at time.Duration) { h.troubled = at + time.Hour }

// spared notes that the fault is over.
func (h *host) spared() { h.troubled = h.w.now }

// death ends a process or a machine.
func (w *world) death(r *rand.Rand) string {
	h := w.victim(r)
	if h == nil {
		return "no node can die"
	}
	power := r.IntN(3) == 0
	what := "fault: crash"
	if power {
		what = "fault: power lost"
	}
	id := h.life.id
	w.met[what]++
	w.kill(r, h, power)
	return fmt.Sprintf("%s of %s", what, id)
}

// kill ends a process or a machine, which may come back later.
func (w *world) kill(r *rand.Rand, h *host, power bool) {
	w.roles(h)
	h.struck(w.now)
	h.crash(power)
	w.over(drawn(r, 2*time.Second), func() {
		h.spared()
		if r.IntN(4) > 0 || w.running() < 3 {
			w.met["fault: restart with a new incarnation"]++
			h.restart()
		}
	})
}

// roles counts the roles of a node that is struck.
func (w *world) roles(h *host) {
	n := h.life
	if n.core.Leader() == n.id {
		w.met["struck: the leader of the voters"]++
	}
	for i, s := range n.view.Shards {
		if s.Owner == n.id && n.shards[i] != nil && len(n.shards[i].Objects()) > 0 {
			w.met["struck: an owner"]++
			if n.shards[i].Warming() {
				w.met["struck: a warming owner"]++
			}
		}
	}
	if len(n.reduces.coords) > 0 {
		w.met["struck: a coordinator"]++
	}
	for _, p := range n.reduces.places {
		if p.core.Runs() {
			w.met["struck: a place"]++
			if p.core.State().Root {
				w.met["struck: a root"]++
			}
		}
	}
	for _, o := range n.out {
		if !o.over {
			w.met["struck: a sender"]++
		}
	}
}

func (w *world) running() int { return len(w.alive()) }

// hanging stops a machine for a while.
func (w *world) hanging(r *rand.Rand) string {
	h := w.victim(r)
	if h == nil {
		return "no machine can hang"
	}
	w.met["fault: hang"]++
	w.roles(h)
	h.hang()
	d := drawn(r, 2*time.Second)
	w.over(d, func() {
		h.spared()
		h.resume()
	})
	return fmt.Sprintf("%s hangs for %v", h.life.id, d)
}

// partition cuts off a node, a link, one direction of a link, or some machines from the rest.
func (w *world) partition(r *rand.Rand) string {
	h := w.victim(r)
	if h == nil {
		return "no machine can be cut off"
	}
	w.roles(h)
	d := drawn(r, 2*time.Second)
	var what string
	var cuts [][2]*host
	both := func(a, b *host) { cuts = append(cuts, [2]*host{a, b}, [2]*host{b, a}) }
	others := slices.DeleteFunc(slices.Clone(w.hosts), func(o *host) bool { return o == h })
	switch k := r.IntN(5); {
	case k == 0:
		w.met["fault: one-way partition"]++
		o := others[r.IntN(len(others))]
		cuts = append(cuts, [2]*host{h, o})
		what = fmt.Sprintf("no way from %s to %s", h.name, o.name)
	case k == 1:
		w.met["fault: link cut"]++
		o := others[r.IntN(len(others))]
		both(h, o)
		what = fmt.Sprintf("no way between %s and %s", h.name, o.name)
	case k == 2:
		w.met["fault: nobody hears a node"]++
		for _, o := range others {
			cuts = append(cuts, [2]*host{h, o})
		}
		what = fmt.Sprintf("no way from %s", h.name)
	case k == 3 && w.shape.faults == excessive:
		w.met["fault: two-way partition of groups"]++
		what = "no way between some and the others:"
		side := map[*host]bool{}
		for _, a := range w.hosts {
			if side[a] = r.IntN(2) == 0; side[a] {
				what += " " + a.name
			}
		}
		for _, a := range w.hosts {
			for _, b := range w.hosts {
				if side[a] != side[b] {
					cuts = append(cuts, [2]*host{a, b})
				}
			}
		}
	default:
		w.met["fault: node cut off"]++
		for _, o := range others {
			both(h, o)
		}
		what = fmt.Sprintf("%s is cut off", h.name)
	}
	refuses := 0
	if r.IntN(3) == 0 {
		refuses = 1
		w.met["fault: firewall that refuses"]++
		what += ", where a firewall refuses connections,"
	}
	for _, c := range cuts {
		if w.shape.faults != crowded {
			c[0].struck(w.now)
			c[1].struck(w.now)
		}
		w.cutOff(c[0], c[1], true)
		w.walls[c] += refuses
	}
	w.over(d, func() {
		for _, c := range cuts {
			w.cutOff(c[0], c[1], false)
			w.walls[c] -= refuses
			if w.shape.faults != crowded {
				c[0].spared()
				c[1].spared()
			}
		}
		h.spared()
	})
	return fmt.Sprintf("%s for %v", what, d)
}

// slowness makes a machine do everything late for a while.
func (w *world) slowness(r *rand.Rand) string {
	h := w.victim(r)
	if h == nil {
		return "no machine can be slow"
	}
	w.met["fault: slow node"]++
	by, d := time.Millisecond+drawn(r, 300*time.Millisecond), drawn(r, 3*time.Second)
	h.slow = by
	w.over(d, func() {
		h.slow = 0
		h.spared()
	})
	return fmt.Sprintf("%s is slow by %v for %v", h.name, by, d)
}

// slander keeps the heartbeats of some others from a node, which is well.
func (w *world) slander(r *rand.Rand) string {
	h := w.victim(r)
	if h == nil {
		return "no node can be suspected"
	}
	w.met["fault: false suspicion"]++
	var by []*host
	for _, o := range w.hosts {
		if o != h && r.IntN(2) == 0 {
			by = append(by, o)
			w.deaf[[2]*host{o, h}]++
		}
	}
	d := 400*time.Millisecond + drawn(r, 1500*time.Millisecond)
	w.over(d, func() {
		for _, o := range by {
			w.deaf[[2]*host{o, h}]--
		}
		h.spared()
	})
	return fmt.Sprintf("%d others do not hear %s for %v", len(by), h.name, d)
}

// panics makes an actor lose its instance.
func (w *world) panics(r *rand.Rand) string {
	n := w.joined(r)
	if n == nil {
		return "no actor panics"
	}
	l := w.doing
	switch r.IntN(11) {
	case 6, 7:
		if what := w.familyTragedy(r); what != "" {
			return what
		}
	case 5, 8:
		if what := w.quietDeath(); what != "" {
			return what
		}
	case 9, 10:
		for _, m := range w.alive() {
			if all := slices.Collect(m.creates.All()); len(all) > 0 && !m.host.hung {
				w.met["panic: put"]++
				cr := all[r.IntN(len(all))]
				cr.panics()
				return fmt.Sprintf("the put of %s at %s panics", cr.object, m.id)
			}
		}
	case 0, 1, 2:
		for _, m := range w.alive() {
			if len(m.reduces.coords) > 0 && !m.host.hung {
				w.met["panic: coordinator"]++
				c := m.reduces.coords[r.IntN(len(m.reduces.coords))]
				if r.IntN(8) == 0 {
					c.dies()
					return fmt.Sprintf("the coordinator of %s at %s fails for good", c.target, m.id)
				}
				c.panics()
				return fmt.Sprintf("the coordinator of %s at %s panics", c.target, m.id)
			}
		}
	case 3:
		for _, m := range w.alive() {
			for _, p := range m.reduces.sortedPlaces() {
				if p.core.Runs() && !m.host.hung {
					w.met["panic: place"]++
					m.reduces.lose(p, "panic")
					return fmt.Sprintf("place %d of %s at %s panics", p.key.Place, p.key.Target, m.id)
				}
			}
		}
	case 4:
		for _, m := range w.alive() {
			for _, id := range sortedObjects(m.fetches) {
				if !m.host.hung {
					w.met["panic: fetch"]++
					m.fetches[id].panics()
					return fmt.Sprintf("the fetch of %s at %s panics", id, m.id)
				}
			}
		}
	}
	w.strike(func() { l.what += w.forgetful(r) })
	return l.what + " "
}

// quietDeath makes the root of a running Reduce panic, unnoticed: a node tells the end of an actor
// once, that message gets lost, and no place reads from a root.
func (w *world) quietDeath() string {
	for _, n := range w.alive() {
		for _, c := range n.reduces.coords {
			places := c.core.Places()
			if c.ended || c.call.ended || len(places) == 0 || places[0].State != "live" || !places[0].Acked || n.host.hung {
				continue
			}
			key := placeKey{Target: c.target, Reduce: c.core.Reduce(), Place: 0}
			if p := w.byID[places[0].Node].reduces.places[key]; p != nil {
				p.quiet = true
				if w.placePanics(places[0].Node, key) {
					w.met["panic: root that nobody hears of"]++
					return fmt.Sprintf("the root of %s at %s panics, and its coordinator does not hear of it", c.target, places[0].Node)
				}
			}
		}
	}
	return ""
}

// familyTragedy makes a place panic that has delivered everything, and a little later its parent.
func (w *world) familyTragedy(r *rand.Rand) string {
	for _, n := range w.alive() {
		for _, c := range n.reduces.coords {
			places := c.core.Places()
			for _, p := range places {
				if p.Parent < 0 || p.State != "live" || !p.Held {
					continue
				}
				if !w.placePanics(p.Node, placeKey{Target: c.target, Reduce: c.core.Reduce(), Place: p.Place}) {
					continue
				}
				w.met["panic: place that has delivered"]++
				above := p.Parent
				w.after(10*time.Millisecond+drawn(r, 300*time.Millisecond), func() {
					if n.over || c.ended || len(c.core.Places()) <= above || c.core.Places()[p.Place].State != "dead" {
						return
					}
					up := c.core.Places()[above]
					if up.State == "live" && w.placePanics(up.Node, placeKey{Target: c.target, Reduce: c.core.Reduce(), Place: above}) {
						w.met["panic: parent of a delivered place"]++
					}
				})
				return fmt.Sprintf("place %d of %s at %s, which has delivered, panics, and then its parent", p.Place, c.target, p.Node)
			}
		}
	}
	return ""
}

func (w *world) placePanics(id phalanx.NodeID, key placeKey) bool {
	n := w.byID[id]
	if n.over || n.host.hung || n.reduces.places[key] == nil || !n.reduces.places[key].core.Runs() {
		return false
	}
	w.met["panic: place"]++
	n.reduces.lose(n.reduces.places[key], "panic")
	return true
}

// accused has a node without a complete copy report, wrongly, that the digest of a final object is
// wrong.
func (w *world) accused(r *rand.Rand) string {
	n := w.joined(r)
	if n == nil {
		return "no node accuses"
	}
	for _, id := range w.objects() {
		m := w.oracle.model(id)
		if !m.final() || n.whole(id) != nil || n.fetches[id] != nil || n.making(id) || r.IntN(3) == 0 {
			continue
		}
		w.met["fault: false accuser"]++
		n.client.ask(n.client.numbers(), id, directory.Corrupt{Gen: m.gen, Digest: phalanx.Digest{1}}, nil)
		return fmt.Sprintf("%s accuses the origin of %s", n.id, id)
	}
	return "no node accuses"
}

// pressed has a node evict a copy although it has room. The last copy is the most interesting to
// evict. A caller may begin to read it between the choice and the answer.
func (w *world) pressed(r *rand.Rand) string {
	var worst *node
	var last *copied
	least := 0
	for _, n := range w.alive() {
		for _, c := range n.wholes() {
			if c.Pinned || c.Asked() || c.Used() || n.host.hung {
				continue
			}
			if k := w.holders(c) + r.IntN(2); last == nil || k < least {
				worst, last, least = n, c, k
			}
		}
	}
	if last == nil {
		return "no node evicts"
	}
	worst.memory.press(last)
	if r.IntN(2) == 0 { // a caller begins to read it before the answer comes, or right after
		worst.after(drawn(r, 5*time.Millisecond), func() {
			if worst.of(last.Object) == last {
				worst.read(last)
			}
			w.step(worst, "read")
		})
	}
	return fmt.Sprintf("%s wants to evict %s", worst.id, last.Object)
}

// holders counts the nodes that have a complete copy of c's generation.
func (w *world) holders(c *copied) (k int) {
	for _, n := range w.alive() {
		if t := n.whole(c.Object); t != nil && t.Gen == c.Gen {
			k++
		}
	}
	return k
}

// forgetful makes a shard replica lose its state.
func (w *world) forgetful(r *rand.Rand) string {
	h := w.victim(r)
	if h == nil {
		return "no replica panics"
	}
	n := h.life
	for i := range n.shards {
		if n.shards[i] != nil && !n.shards[i].Lost() {
			w.met["panic: shard replica"]++
			if n.view.Shards[i].Owner == n.id {
				w.met["panic: owner of a shard"]++
			}
			n.panicShard(i)
			w.over(0, h.spared)
			return fmt.Sprintf("the replica of shard %d at %s panics", i, n.id)
		}
	}
	w.over(0, h.spared)
	return "no replica panics"
}
