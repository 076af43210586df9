package ledger

import (
	"fmt"
	"math/rand"
	"testing"
	"time"
)

// TestBootFaults has five nodes, three of which have disks, die and restart, and their links fail.
// A model of the ledger has one leader at a time while two disks live; a model of views has a lease
// while most members live. Answers take up to 600 ms. Each number is booted once, by the recorded node, and none
// while the node that records it could hear for 2 s of another that has a lease. In the end all are in one view,
// which has the greatest number.
func TestBootFaults(t *testing.T) {
	views, early, lost := 0, 0, 0
	for seed := int64(1); seed <= bootSeeds; seed++ {
		w := newBootWorld(t, seed)
		for range 12 {
			w.act()
			w.run(time.Duration(w.rng.Intn(20000)) * time.Millisecond)
		}
		for _, n := range w.nodes {
			n.up, n.off = true, false
		}
		clear(w.cut)
		w.healed = true
		w.run(60 * time.Second)
		w.quiet()
		views, early, lost = views+len(w.booted), early+w.early, lost+w.lost
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if views < 7*bootSeeds/3 || early < bootSeeds/2 || lost < bootSeeds/3 {
		t.Errorf("only %d views were booted, %d of them early; %d were lost", views, early, lost)
	}
}

type bootWorld struct {
	t       *testing.T
	rng     *rand.Rand
	now     time.Duration
	nodes   []*bootNode
	cut     map[[2]int]bool
	healed  bool          // no more faults
	electAt time.Duration // nobody leads before
	record  Record        // the ledger
	leader  int           // -1: none
	said    []bootSaid
	lost    int // how often a node knew that its view is
	early   int // records that came within 10 s of the start of the node
	booted  map[uint64]string
	views   map[uint64]map[*bootNode]int // number → the members, with their incarnations
}

type bootNode struct {
	*Boot
	at   int
	up   bool
	off  bool // its host is off, so that it does not even refuse connections
	life int
	view uint64
	held bool
	lost uint64 // the view of which it was told that it is lost

	heldSince time.Duration
	heard     [5]time.Duration // since when it could hear of each other node; 0: it cannot
}

// bootSaid is an answer on its way.
type bootSaid struct {
	to   *bootNode
	life int
	at   time.Duration
	ev   BootEvent
}

// bootSeeds is how many worlds TestBootFaults has. 30,000 were run once.
const bootSeeds = 300

func newBootWorld(t *testing.T, seed int64) *bootWorld {
	w := &bootWorld{t: t, rng: rand.New(rand.NewSource(seed)), cut: map[[2]int]bool{}, leader: -1, booted: map[uint64]string{}, views: map[uint64]map[*bootNode]int{}}
	for i := range 5 {
		n := &bootNode{at: i, up: true}
		w.nodes = append(w.nodes, n)
		w.restart(n)
	}
	return w
}

func (w *bootWorld) restart(n *bootNode) {
	var others []string
	for i := range 5 {
		if i != n.at {
			others = append(others, fmt.Sprint(i))
		}
	}
	n.Boot = NewBoot(BootConfig{Node: fmt.Sprint(n.at), Addresses: others})
	n.life++
	n.view, n.held, n.lost, n.heard = 0, false, 0, [5]time.Duration{}
	if w.leader == n.at {
		w.leader = -1
	}
}

func (w *bootWorld) act() {
	n := w.nodes[w.rng.Intn(5)]
	switch w.rng.Intn(6) {
	case 0, 1:
		n.up = !n.up
		n.off = !n.up && w.rng.Intn(3) == 0
		w.restart(n)
	case 2: // all
		for _, n := range w.nodes {
			n.up = w.rng.Intn(4) > 0
			n.off = !n.up && w.rng.Intn(3) == 0
			w.restart(n)
		}
	case 3:
		for i := range 5 {
			w.cut[[2]int{n.at, i}], w.cut[[2]int{i, n.at}] = true, true
		}
	case 4:
		clear(w.cut)
	case 5:
		w.depose()
	}
}

func (w *bootWorld) linked(a, b int) bool { return w.nodes[b].up && !w.cut[[2]int{a, b}] }

func (w *bootWorld) depose() {
	if w.leader >= 0 {
		old := w.nodes[w.leader]
		w.leader = -1
		w.step(old, LeadsNoMore{})
	}
}

// run lets the nodes tick ten times a second.
func (w *bootWorld) run(d time.Duration) {
	for end := w.now + d; w.now < end; w.now += 100 * time.Millisecond {
		w.elect()
		w.leases()
		w.lose()
		w.hear()
		for _, n := range w.nodes {
			if due, ok := n.Due(); n.up && ok && due <= w.now {
				w.step(n, BootTick{})
			}
		}
	}
}

// hear brings the answers that arrive now, and notes which nodes could hear of each other.
func (w *bootWorld) hear() {
	said := w.said
	w.said = nil
	for _, a := range said {
		switch {
		case a.at > w.now:
			w.said = append(w.said, a)
		case a.to.up && a.to.life == a.life:
			w.step(a.to, a.ev)
		}
	}
	for _, n := range w.nodes {
		for i := range n.heard {
			if both := n.up && w.linked(n.at, i) && w.linked(i, n.at); !both {
				n.heard[i] = 0
			} else if n.heard[i] == 0 {
				n.heard[i] = w.now
			}
		}
	}
}

// elect keeps a leader on one of the three disks that two of them reach.
func (w *bootWorld) elect() {
	serves := func(i int) bool {
		disks := 0
		for d := range 3 {
			if w.nodes[i].up && (d == i || w.linked(i, d) && w.linked(d, i)) {
				disks++
			}
		}
		return disks >= 2
	}
	if w.leader >= 0 && !serves(w.leader) {
		w.depose()
	}
	if i := w.rng.Intn(3); w.leader < 0 && serves(i) && w.now >= w.electAt {
		w.leader = i
		w.step(w.nodes[i], Leads{Record: w.record})
	}
}

// leases gives one to each member of a view that reaches most of its members.
func (w *bootWorld) leases() {
	for _, n := range w.nodes {
		reach := 0
		for o, life := range w.views[n.view] {
			if o.life == life && o.view == n.view && (o == n || w.linked(n.at, o.at) && w.linked(o.at, n.at)) {
				reach++
			}
		}
		if held := n.up && n.view > 0 && 2*reach > len(w.views[n.view]); held != n.held {
			n.held, n.heldSince = held, w.now
			if n.up {
				w.step(n, Lease{Held: held, Number: n.view})
			}
		}
	}
}

// lose tells nodes without a lease that the processes of so many members of their views have ended that the others are no majority.
func (w *bootWorld) lose() {
	for _, n := range w.nodes {
		members := w.views[n.view]
		live := len(members)
		for m := range members {
			if m != n && n.Ended(fmt.Sprint(m.at)) {
				live--
			}
		}
		if n.up && n.view > 0 && !n.held && 2*live <= len(members) {
			if n.view > n.lost {
				n.lost = n.view
				w.lost++
			}
			w.step(n, ViewLost{})
		}
	}
}

func (w *bootWorld) step(n *bootNode, ev BootEvent) {
	for _, e := range n.Step(w.now, ev) {
		switch e := e.(type) {
		case Ask:
			var at int
			if _, err := fmt.Sscan(e.Address, &at); err != nil {
				w.t.Fatal(err)
			}
			o, takes := w.nodes[at], time.Duration(w.rng.Intn(600))*time.Millisecond
			answer := bootSaid{to: n, life: n.life, at: w.now + takes}
			switch there, back := !w.cut[[2]int{n.at, at}], !w.cut[[2]int{at, n.at}]; {
			case !n.up || !there || !back || o.off: // it waits in vain
				continue
			case o.up:
				answer.ev = Heard{Address: e.Address, Standing: o.Standing()}
			default:
				answer.ev = NotListening(e)
			}
			w.said = append(w.said, answer)
		case Join:
			w.join(n, e.Address, e.Number)
		case EndIncarnation:
			if e.Number <= n.view {
				w.t.Errorf("node %d leaves view %d for %d", n.at, n.view, e.Number)
			}
			w.restart(n)
			return
		case RecordBoot:
			if w.leader != n.at || e.Record.Number <= w.record.Number {
				w.t.Errorf("node %d records %+v, the leader is %d, recorded is %+v", n.at, e.Record, w.leader, w.record)
			}
			for _, o := range w.nodes {
				const long = 2 * time.Second
				if o.held && o.view >= w.record.Number && w.now-o.heldSince >= long && n.heard[o.at] > 0 && w.now-n.heard[o.at] >= long {
					w.t.Errorf("node %d records %+v, and could hear of node %d, which has a lease", n.at, e.Record, o.at)
				}
			}
			if w.now-n.woke < 10*time.Second {
				w.early++
			}
			w.record = Record{Number: e.Record.Number, Node: e.Record.Node, Address: e.Record.Node}
			if w.healed || w.rng.Intn(3) > 0 {
				w.step(n, Recorded{Number: e.Record.Number})
			} else { // its tenure ends before it hears of it
				w.depose()
			}
		case BootView:
			if was, ok := w.booted[e.Number]; ok {
				w.t.Errorf("view %d is booted by %s and by %d", e.Number, was, n.at)
			}
			if w.record.Number != e.Number || w.record.Node != fmt.Sprint(n.at) {
				w.t.Errorf("node %d boots view %d, recorded is %+v", n.at, e.Number, w.record)
			}
			w.booted[e.Number] = fmt.Sprint(n.at)
			if n.view > 0 {
				w.restart(n)
			}
			n.view = e.Number
			w.views[n.view] = map[*bootNode]int{n: n.life}
			return
		}
	}
}

// join adds n to a view whose member has a lease, in the place of its earlier incarnation, unless it was in a view. If it
// joins another one already, of which it has got no lease, it turns to this one.
func (w *bootWorld) join(n *bootNode, address string, number uint64) {
	for _, o := range w.nodes {
		if fmt.Sprint(o.at) == address && o.held && o.view == number && (n.view == 0 || n.own == 0 && n.view != number) {
			for m, life := range w.views[number] { // the view removes those that are gone
				if m.life != life || m.view != number || !m.up {
					delete(w.views[number], m)
				}
			}
			n.view = number
			w.views[number][n] = n.life
		}
	}
}

func (w *bootWorld) quiet() {
	top := uint64(0)
	for n := range w.booted {
		top = max(top, n)
	}
	for _, n := range w.nodes {
		if n.view != top || !n.held {
			w.t.Errorf("node %d is in view %d, with a lease: %v; the last that was booted is %d", n.at, n.view, n.held, top)
		}
	}
}
