package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	nleave "github.com/phalanx-go/phalanx/node/leave"
	rnode "github.com/phalanx-go/phalanx/node/reduce"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/leave"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// leaver hosts the core of a node that leaves.
type leaver struct {
	n     *node
	core  *leave.Core
	nums  nleave.Requests
	todo  []leave.Effect
	doing bool
	gone  bool       // it has asked to be removed: others must now keep its copies
	asOf  uint64     // the view that it named when it asked to be removed
	had   []*copied  // the complete copies that it had then
	since uint64     // the Left of the last view
	stay  int        // the fewest members that stayed in any view since that Left and since the mark: others keep so many copies
	fate  *rand.Rand // decides whether a member that keeps a copy of the node crashes
}

// newLeaves draws how many nodes leave in the run. It leaves the other random streams alone, so
// that runs in which no node leaves stay the same.
func newLeaves(seed uint64, s shape) (r *rand.Rand, leaves int) {
	r = rand.New(rand.NewPCG(seed, 0xa0761d6478bd642f))
	if s.nodes+s.joins < 3 || r.IntN(3) > 0 {
		return r, 0
	}
	return r, 1 + r.IntN(3)
}

// leaves has a node leave, or two at once, as long as two others stay.
func (w *world) leaves(r *rand.Rand) string {
	what := "no node leaves"
	for range 1 + r.IntN(3)/2 {
		var stay []*node
		for _, n := range w.alive() {
			if n.view.Has(n.id) && !n.host.hung && !n.going {
				stay = append(stay, n)
			}
		}
		if len(stay) < 3 {
			break
		}
		n := stay[r.IntN(len(stay))]
		if what == "no node leaves" {
			what = "leave:"
		}
		what += " " + string(n.id)
		w.met["leave"]++
		n.leave(time.Second+drawn(r, 15*time.Second), r.IntN(2) == 0, rand.New(rand.NewPCG(w.seed, r.Uint64())))
		w.step(n, "leaves")
		if w.alone { // nodes leave one after the other
			break
		}
	}
	return what
}

// leave has the node leave within d, and try again if that fails. With back its process starts
// again afterwards.
func (n *node) leave(d time.Duration, back bool, fate *rand.Rand) {
	l := &leaver{n: n, core: leave.New(leave.Config{Deadline: n.clock() + d, Awaits: n.joining.awaits, AtOnce: 2}), nums: nleave.Requests{}, fate: fate, stay: math.MaxInt}
	n.leaver, n.going, n.back = l, true, back
	l.viewed()
	n.tellLeaver()
	l.step(leave.Start{})
}

// tellLeaver tells a node that leaves what is lost.
func (n *node) tellLeaver() {
	if n.leaver != nil {
		n.leaver.step(nleave.Lost(n.id, n.view, n.majority != nil, func(id phalanx.NodeID) bool { return n.refusing[id] }))
	}
}

// viewed gives the core the present view.
func (l *leaver) viewed() {
	v := l.n.view
	ev := nleave.Viewed(l.n.id, v)
	if v.Left != l.since || ev.Member && !ev.Marked {
		l.since, l.stay = v.Left, math.MaxInt
	}
	l.stay = min(l.stay, ev.Stay)
	if v.Left > l.asOf {
		l.gone = false
	}
	l.step(ev)
}

func (l *leaver) tick() {
	if at, ok := l.core.Due(); ok && at <= l.n.clock() {
		l.step(leave.Tick{})
	}
}

func (l *leaver) step(ev leave.Event) {
	l.todo = append(l.todo, l.core.Step(l.n.clock(), ev)...)
	if l.doing {
		return
	}
	l.doing = true
	for len(l.todo) > 0 && !l.n.over {
		e := l.todo[0]
		l.todo = l.todo[1:]
		l.do(e)
	}
	l.doing = false
}

func (l *leaver) do(e leave.Effect) {
	n, w := l.n, l.n.w
	switch e := e.(type) {
	case leave.Refuse:
		n.refuses = true
	case leave.Mark:
		n.stepView(view.Propose{Command: view.Leaving{Node: n.id}, Now: n.clock()})
	case leave.Stay:
		n.refuses = false
		n.stepView(view.Propose{Command: view.Leaving{Node: n.id, Stays: true}, Now: n.clock()})
	case leave.Look:
		l.step(leave.Saw{Here: n.here(e.All)})
	case leave.Ask:
		w.met["leave: copy handed over"]++
		l.ask(e)
	case leave.Forget:
		n.client.cancel(l.nums.Forget(e.Copy), e.Object)
	case leave.GiveUp:
		w.met["leave: what runs is given up"]++
		n.giveUp(n.leaves("it is given up"))
		n.owes = n.owes || len(e.Services) > 0
	case leave.Remove:
		if !l.gone {
			w.heirDies(l)
		}
		l.gone, l.asOf, l.had = true, e.View, n.wholes()
		if w.audit.newest.Left <= e.View { // else the request is void
			w.audit.handedOver(n)
		}
		n.stepView(view.Propose{Command: view.RemoveMember{Node: n.id, HandedOver: e.View}, Now: n.clock()})
	case leave.Left:
		if e.Fenced {
			w.met["leave: fenced meanwhile"]++
			w.audit.fenced(n)
			if w.together {
				w.fail("(2.1) %s is to join again, and no member stays", n.id)
			}
			n.leaver = nil
			if p := n.process; p.ways.Ordered() {
				p.leaves = func(n *node) {
					n.leave(5*time.Second, l.n.back, l.fate)
					w.step(n, "leaves the cluster that was begun anew")
				}
			}
			n.fenced()
			return
		}
		w.met["left"]++
		if e.Alone {
			w.met["left, and no other member stays"]++
		} else {
			w.audit.handedOver(n)
		}
		n.goes()
	case leave.Failed:
		w.met["leave failed"]++
		if w.shape.faults == faultless && w.shape.cap == 0 && !w.calmed {
			w.met["leave failed without a fault"]++
		}
		n.leaver = nil
		n.after(drawn(l.fate, 200*time.Millisecond)*time.Duration(l.fate.IntN(2)), func() { // at once, or when the view has taken the mark back
			if n.leaver == nil {
				n.leave(5*time.Second, n.back, l.fate)
				w.step(n, "leaves again")
			}
		})
	}
}

// heirDies crashes a member that keeps a copy of the leaving node, about when that node asks to be
// removed.
func (w *world) heirDies(l *leaver) {
	n := l.n
	if w.calmed || w.shape.faults == faultless || w.shape.faults == bounded && (w.busy || w.running() < 4) || l.fate.IntN(2) == 0 {
		return
	}
	if w.shape.faults == bounded { // the cluster has repaired the last fault, and has its promised copies without this node
		if w.missing() != "" {
			return
		}
		for i, s := range w.audit.newest.Shards {
			if !w.copiesThere(w.byID[s.Owner], i, w.staying()) {
				return
			}
		}
	}
	var heirs []*host
	for _, o := range w.alive() {
		m, _ := n.view.Member(o.id)
		keeps := slices.ContainsFunc(n.wholes(), func(c *copied) bool { k := o.whole(c.Object); return k != nil && k.Pinned })
		if o != n && m.ID == o.id && !m.Leaving && keeps && !o.host.hung {
			heirs = append(heirs, o.host)
		}
	}
	if len(heirs) == 0 {
		return
	}
	w.met["fault: crash of a member that keeps what another has handed over"]++
	w.busy = true
	h := heirs[l.fate.IntN(len(heirs))]
	h.struck(w.now)
	life := h.life
	w.after(drawn(l.fate, 100*time.Millisecond), func() {
		if h.life == life && life != nil {
			h.crash(false)
		}
	})
	w.over(time.Second+drawn(l.fate, 2*time.Second), func() {
		h.spared()
		h.restart()
	})
}

func (l *leaver) ask(e leave.Ask) {
	num := l.n.client.numbers()
	l.n.client.ask(num, e.Object, l.nums.Ask(e, num), func(from phalanx.NodeID, r directory.Result) {
		if ev, ok := l.nums.Answered(e.Copy, num, from, r); ok {
			l.step(ev)
		}
	})
}

// here lists the node's work and copies.
func (n *node) here(all bool) leave.Here {
	h := leave.Here{All: all}
	h.Puts = n.creates.Objects()
	for _, m := range n.makers {
		h.Puts = append(h.Puts, m.object)
	}
	for _, c := range n.reduces.coords {
		h.Reduces = append(h.Reduces, c.target)
	}
	for _, p := range n.reduces.sortedPlaces() {
		h.Places = append(h.Places, p.key.Target)
	}
	if p := n.host.process; p != nil && p.Self == n.id {
		for i, s := range n.w.services {
			if s.service.Remains(p) {
				n.w.met["services are handed over"]++
				h.Services = append(h.Services, n.w.features[i])
				h.Durable = h.Durable || s.resumer != nil
			}
		}
	}
	slices.Sort(h.Puts)
	h.Making = n.table.Making(h.Puts)
	if all {
		for _, c := range n.wholes() {
			h.Copies = append(h.Copies, leave.Copy{Object: c.Object, Gen: c.Gen, Shard: c.Object.Shard(n.w.shape.shards), Small: int64(len(c.bytes)) <= n.w.shape.piece})
		}
	}
	return h
}

// leaves is the error of a call that a leaving node refuses or gives up.
func (n *node) leaves(why string) *phalanx.Error {
	return &phalanx.Error{Node: n.id, Kind: phalanx.ErrClosed, Err: fmt.Errorf("the node is leaving the cluster: %s", why)}
}

// refused ends a call that the node refuses because it leaves.
func (n *node) refused(c *call) bool {
	if n.refuses {
		n.w.met["refused by a node that leaves: "+c.kind]++
		n.w.end(c, n.leaves("it takes nothing new"), phalanx.Generation{}, nil)
	}
	return n.refuses
}

// giveUp ends the Puts, makers, Reduces and places of the node.
func (n *node) giveUp(err *phalanx.Error) {
	for c := range n.creates.All() {
		c.leave(err)
	}
	for _, m := range slices.Clone(n.makers) {
		m.leave(err)
	}
	for _, c := range slices.Clone(n.reduces.coords) {
		c.step(rnode.Canceled{Err: err})
	}
	for _, p := range n.reduces.sortedPlaces() {
		p.happens(rnode.GivenUp{})
	}
}

// goes ends a life that has left the cluster.
func (n *node) goes() {
	w, h := n.w, n.host
	h.life = nil
	n.process.end()
	n.end(&phalanx.Error{Kind: phalanx.ErrClosed, Err: fmt.Errorf("%s has left the cluster", n.id)})
	n.disconnect(true)
	if n.back || n.owes {
		w.after(100*time.Millisecond+w.draw(time.Second), func() {
			if h.life == nil && h.lives == n.life && (n.owes && !w.parting || !w.calmed) {
				h.restart()
			}
		})
	}
}

// leave tells the coordinators on this node which nodes are about to leave.
func (r *reduces) leave(nodes []phalanx.NodeID) {
	if slices.Equal(nodes, r.leaving) {
		return
	}
	r.leaving = nodes
	for _, c := range slices.Clone(r.coords) {
		c.step(rnode.Leaving{Nodes: nodes})
	}
}

// handedOver checks the guarantee of leaving (2.1) when a node goes: it runs nothing, and other
// members keep its copies, as many as stay. The only member may go at any time. A dead member
// counts as long as it is in the node's view: it failed after the node relied on it. The node
// relies on no member that joined after it asked to be removed, or that has begun to leave since.
// It promised no copy that was still arriving when it asked.
func (a *audit) handedOver(n *node) {
	if h := n.here(false); len(n.view.Members) > 1 && len(h.Puts)+len(h.Places)+len(h.Reduces) > 0 {
		a.w.fail("(2.1) %s goes while %+v runs", n.id, h)
	}
	stay := 0
	for _, m := range a.newest.Members {
		if m.ID != n.id && !m.Leaving {
			stay++
		}
	}
	stay = min(stay, n.leaver.stay)
	if stay == 0 {
		return
	}
	for _, c := range n.wholes() {
		id, m := c.Object, a.w.oracle.model(c.Object)
		if !m.final() || m.gen != c.Gen || m.inline || m.deleting() || m.revived || a.w.hasChanged(id) { // what it relied on may have changed
			continue
		}
		has, keep := 0, 0
		for _, o := range a.w.nodes { // also a member that n does not know yet
			if o == n || o.left() || !n.view.Has(o.id) && !a.newest.Has(o.id) {
				continue
			}
			t := o.whole(id)
			here, made := t != nil && t.Gen == c.Gen, o.made(id, c.Digest)
			if here || made {
				has++ // the last copy of the members that stay is not evicted
			}
			if here && t.Pinned || made {
				keep++
			}
		}
		short := keep < min(m.copies, stay) && slices.Contains(n.leaver.had, c)
		if has == 0 || short {
			a.w.fail("(2.1) %s goes, and of %d other nodes with %s@%v only %d keep it: its Puts asked for %d copies", n.id, has, id, c.Gen, keep, m.copies)
		}
	}
}

// left reports whether the node has handed over everything and is about to be removed.
func (n *node) left() bool { return n.leaver != nil && n.leaver.gone }
