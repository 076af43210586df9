package ledger

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"
)

// said returns the effects other than Ask.
func said(out []BootEffect) string {
	out = slices.DeleteFunc(slices.Clone(out), func(e BootEffect) bool { _, ask := e.(Ask); return ask })
	if len(out) == 0 {
		return ""
	}
	return fmt.Sprintf("%T%+v", out[0], out[0])[len("ledger."):]
}

func TestBoot(t *testing.T) {
	const s = time.Second
	type step struct {
		at   time.Duration
		ev   BootEvent
		want string
	}
	heard := func(address string, in bool, n uint64) Heard {
		return Heard{address, Standing{InCluster: in, Number: n}}
	}
	for name, steps := range map[string][]step{
		"the leader boots when nobody was in a cluster for 10 s": {
			{0, BootTick{}, ""}, {1 * s, Leads{}, ""}, {9 * s, heard("b", false, 3), ""}, {10*s - 1, BootTick{}, ""},
			{10 * s, BootTick{}, "RecordBoot{Record:{Number:4 Node:a Address:}}"}, {11 * s, Recorded{4}, "BootView{Number:4}"}, {12 * s, Recorded{4}, ""},
		},
		"a node that restarts alone begins no second cluster": {
			{0, BootTick{}, ""}, {100 * s, BootTick{}, ""}, {200 * s, Recorded{1}, ""},
		},
		"it joins whoever is in a cluster": {
			{0, BootTick{}, ""}, {1 * s, heard("b", true, 2), "Join{Address:b Number:2}"}, {2 * s, Lease{true, 2}, ""}, {3 * s, heard("b", true, 2), ""},
		},
		"a leader in a cluster boots nothing": {
			{0, Lease{true, 2}, ""}, {1 * s, Leads{}, ""}, {100 * s, BootTick{}, ""},
		},
		"a lease that was heard of counts for 10 s": {
			{0, Leads{}, ""}, {9 * s, heard("b", true, 1), "Join{Address:b Number:1}"}, {18 * s, BootTick{}, ""}, {19 * s, BootTick{}, "RecordBoot{Record:{Number:2 Node:a Address:}}"},
		},
		"a node that boots counts too": {
			{0, Leads{}, ""}, {9 * s, Heard{"b", Standing{Booting: true, Number: 7}}, ""}, {18 * s, BootTick{}, ""}, {19 * s, BootTick{}, "RecordBoot{Record:{Number:8 Node:a Address:}}"},
		},
		"a new leader first asks the recorded node": {
			{0, BootTick{}, ""}, {50 * s, Leads{Record{5, "b", "b:1"}}, ""}, {52*s - 1, BootTick{}, ""}, {52 * s, BootTick{}, "RecordBoot{Record:{Number:6 Node:a Address:}}"},
		},
		"the recorded node is in a cluster": {
			{0, BootTick{}, ""}, {50 * s, Leads{Record{5, "b", "b:1"}}, ""}, {51 * s, heard("b:1", true, 5), "Join{Address:b:1 Number:5}"}, {60 * s, BootTick{}, ""},
		},
		"the recorded node is this one, an incarnation before": {
			{0, BootTick{}, ""}, {50 * s, Leads{Record{5, "a", ""}}, "RecordBoot{Record:{Number:6 Node:a Address:}}"},
		},
		"a tenure that ends leaves the record open": {
			{0, BootTick{}, ""}, {50 * s, Leads{}, "RecordBoot{Record:{Number:1 Node:a Address:}}"}, {51 * s, LeadsNoMore{}, ""}, {52 * s, Recorded{1}, ""},
			{53 * s, Leads{Record{1, "a", ""}}, "RecordBoot{Record:{Number:2 Node:a Address:}}"}, {54 * s, Recorded{1}, ""}, {55 * s, Recorded{2}, "BootView{Number:2}"},
		},
		"it hears of a cluster while it records": {
			{0, BootTick{}, ""}, {50 * s, Leads{}, "RecordBoot{Record:{Number:1 Node:a Address:}}"}, {51 * s, heard("b", true, 1), "Join{Address:b Number:1}"}, {52 * s, Recorded{1}, ""},
		},
		"the survivor of a dead view": {
			{0, Lease{true, 2}, ""}, {1 * s, Lease{false, 2}, ""}, {2 * s, heard("b", true, 2), "Join{Address:b Number:2}"},
			{3 * s, heard("b", true, 3), "EndIncarnation{Address:b Number:3}"}, {4 * s, heard("b", true, 4), ""},
		},
		"a node in a view that most disks have given up": {
			{0, Lease{true, 2}, ""}, {1 * s, heard("b", true, 1), ""}, {2 * s, heard("b", false, 3), ""}, {3 * s, heard("b", true, 3), "EndIncarnation{Address:b Number:3}"},
		},
		"the survivor leads the ledger": {
			{0, Lease{true, 2}, ""}, {1 * s, Leads{Record{2, "b", "b:1"}}, ""}, {2 * s, Lease{false, 2}, ""}, {12*s - 1, BootTick{}, ""},
			{12 * s, BootTick{}, "RecordBoot{Record:{Number:3 Node:a Address:}}"}, {13 * s, Recorded{3}, "BootView{Number:3}"}, {14 * s, heard("b", true, 9), ""},
		},
		"another one boots a later view": {
			{0, BootTick{}, ""}, {50 * s, Leads{}, "RecordBoot{Record:{Number:1 Node:a Address:}}"}, {51 * s, Recorded{1}, "BootView{Number:1}"},
			{52 * s, heard("b", true, 1), ""}, {53 * s, heard("b", true, 2), "EndIncarnation{Address:b Number:2}"},
		},
	} {
		b := NewBoot(BootConfig{Node: "a", Addresses: []string{"b", "c"}})
		for i, st := range steps {
			if got := said(b.Step(st.at, st.ev)); got != st.want {
				t.Errorf("%s: step %d, %+v: %q, want %q", name, i+1, st.ev, got, st.want)
				break
			}
		}
	}
}

func TestBootAsks(t *testing.T) {
	b := NewBoot(BootConfig{Node: "a", Addresses: []string{"b", "c"}})
	asks := func(now time.Duration, ev BootEvent) (n int) {
		for _, e := range b.Step(now, ev) {
			if _, ok := e.(Ask); ok {
				n++
			}
		}
		return n
	}
	if due, ok := b.Due(); !ok || due != 0 {
		t.Errorf("due at %v at first", due)
	}
	for i, c := range []struct {
		at   time.Duration
		ev   BootEvent
		want int
	}{
		{time.Second, BootTick{}, 2}, {1400 * time.Millisecond, BootTick{}, 0}, {1500 * time.Millisecond, BootTick{}, 2},
		{1600 * time.Millisecond, Leads{Record{1, "d", "d"}}, 0}, {2 * time.Second, BootTick{}, 3}, // the recorded one too
		{2100 * time.Millisecond, Lease{true, 1}, 0}, {6900 * time.Millisecond, BootTick{}, 0}, {7 * time.Second, BootTick{}, 3},
	} {
		if got := asks(c.at, c.ev); got != c.want {
			t.Errorf("step %d asks %d, want %d", i+1, got, c.want)
		}
		if due, ok := b.Due(); !ok || due <= c.at {
			t.Errorf("after step %d it is due at %v", i+1, due)
		}
	}
	if b := NewBoot(BootConfig{Addresses: make([]string, 1000)}); len(b.Step(0, BootTick{})) != maxAddresses {
		t.Error("it asks too many")
	}
}

// TestBootFaults has five nodes, three of which have disks, die and restart, and their links fail.
// A model of the ledger has one leader at a time while two disks live; a model of views has a lease
// while most members live. Each number is booted once, by the recorded node, and in the end all
// are in one view, which has the greatest number.
func TestBootFaults(t *testing.T) {
	views := 0
	for seed := int64(1); seed <= 300; seed++ {
		w := newBootWorld(t, seed)
		for range 12 {
			w.act()
			w.run(time.Duration(w.rng.Intn(20000)) * time.Millisecond)
		}
		for _, n := range w.nodes {
			n.up = true
		}
		clear(w.cut)
		w.run(60 * time.Second)
		w.quiet()
		views += len(w.booted)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if views < 700 {
		t.Errorf("only %d views were booted", views)
	}
}

type bootWorld struct {
	t      *testing.T
	rng    *rand.Rand
	now    time.Duration
	nodes  []*bootNode
	cut    map[[2]int]bool
	record Record // the ledger
	leader int    // -1: none
	booted map[uint64]string
	views  map[uint64]map[*bootNode]int // number → the members, with their incarnations
}

type bootNode struct {
	*Boot
	at   int
	up   bool
	life int
	view uint64
	held bool
}

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
	n.view, n.held = 0, false
	if w.leader == n.at {
		w.leader = -1
	}
}

func (w *bootWorld) act() {
	n := w.nodes[w.rng.Intn(5)]
	switch w.rng.Intn(6) {
	case 0, 1:
		n.up = !n.up
		w.restart(n)
	case 2: // all
		for _, n := range w.nodes {
			n.up = w.rng.Intn(4) > 0
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
		for _, n := range w.nodes {
			if due, ok := n.Due(); n.up && ok && due <= w.now {
				w.step(n, BootTick{})
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
	if i := w.rng.Intn(3); w.leader < 0 && serves(i) {
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
			n.held = held
			if n.up {
				w.step(n, Lease{Held: held, Number: n.view})
			}
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
			if o := w.nodes[at]; n.up && w.linked(n.at, at) && w.linked(at, n.at) {
				life, standing := n.life, o.Standing()
				if n.life == life {
					w.step(n, Heard{Address: e.Address, Standing: standing})
				}
			}
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
			w.record = Record{Number: e.Record.Number, Node: e.Record.Node, Address: e.Record.Node}
			if w.rng.Intn(3) > 0 {
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

// join adds n to a view whose member has a lease, in the place of its earlier incarnation.
func (w *bootWorld) join(n *bootNode, address string, number uint64) {
	for _, o := range w.nodes {
		if fmt.Sprint(o.at) == address && o.held && o.view == number && n.view == 0 {
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
