package workflow

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// On random walks an Execution decides as the explorer does, and no rule is broken.
func TestExecutionsDecideAsTheExplorer(t *testing.T) {
	recoveries := 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 11))
		g := randomGraph(r, 1+r.IntN(7))
		if seed%2 == 1 {
			needSome(r, g)
		}
		e, err := Check(g)
		if err != nil {
			continue
		}
		x, o, c := NewExecution(e), newExplorer(g, e.Waits).spending(e), condition{}
		for step := range 60 {
			for v := range g.Tasks {
				may := o.begins(v, c)
				if x.MayBegin(v) != may {
					t.Fatalf("seed %d, step %d: task %d may begin: %v, want %v", seed, step, v, !may, may)
				}
			}
			want := set(0)
			need := o.needed(c)
			for v := range g.Tasks {
				if need.has(v) {
					want |= o.record(c, one(v)).drops &^ c.drops
				}
			}
			all := x.Recover(false)
			got := all.Set
			if all.Lost != nil || all.Again != nil {
				t.Fatalf("seed %d, step %d: %+v", seed, step, all)
			}
			if setOf(got) != want {
				t.Fatalf("seed %d, step %d: the recovery set is %b, want %b", seed, step, setOf(got), want)
			}
			v := r.IntN(len(g.Tasks))
			b := one(v)
			switch k := r.IntN(8); {
			case k < 3 && x.MayBegin(v):
				x.Begun(v)
				c.begun |= b
				if r.IntN(4) > 0 {
					x.Ended(v)
					c.done, c.live = c.done|b, c.live|b
				}
			case k == 3 && o.saves(v) && c.done&c.live&^c.saved&^c.drops&b != 0:
				x.Saved(v)
				c.saved |= b
			case k == 4:
				x.Lost(v)
				c.live &^= b
			case k == 5 && len(got) > 0:
				x.Record(got, false)
				for v := range g.Tasks {
					if need.has(v) {
						c = o.record(c, one(v))
					}
				}
				recoveries++
			case k > 5 && c.drops != 0:
				c = o.dropOne(t, x, c)
			}
		}
	}
	if recoveries < 1000 {
		t.Errorf("there were %d recoveries only", recoveries)
	}
}

func setOf(all []int) (s set) {
	for _, v := range all {
		s |= one(v)
	}
	return s
}

// dropOne has both drop the next task, after its undo, whose inputs are made again.
func (o *explorer) dropOne(t *testing.T, x *Execution, c condition) condition {
	t.Helper()
	d, ok := x.Next()
	if !ok || !c.drops.has(d.Task) || c.drops>>(d.Task+1) != 0 {
		t.Fatalf("%+v, %v is next of %b", d, ok, c.drops)
	}
	undo := o.Tasks[d.Task].Effect == Undo && c.begun.has(d.Task)
	if d.Undo != undo {
		t.Fatalf("task %d is undone: %v", d.Task, d.Undo)
	}
	for _, p := range d.Remake {
		if o.Tasks[p].source() {
			t.Fatalf("the source %d is made again for the undo of %d", p, d.Task)
		}
		if slices.ContainsFunc(o.shape.parents(p), func(q int32) bool { return !x.there(int(q)) }) {
			t.Fatalf("%d cannot be made again for the undo of %d", p, d.Task)
		}
		x.Remade(p)
		c.live |= one(p)
	}
	x.Dropped()
	b := one(d.Task)
	if o.Tasks[d.Task].Effect != Idempotent {
		c.begun &^= b
	}
	c.done, c.live, c.saved, c.drops, c.changed = c.done&^b, c.live&^b, c.saved&^b, c.drops&^b, c.changed&^b
	return c
}

// Figure 3.5 of the thesis: C needs A, which is lost; B, also of A, is saved.
func TestFigure3_5(t *testing.T) {
	for _, c := range []struct {
		graph string
		want  []int
	}{
		{"A off; B < A; C < A", []int{0}},
		{"A off,nd; B < A; C < A", []int{0, 1}},
	} {
		e, err := Check(parse(t, c.graph))
		if err != nil {
			t.Fatal(err)
		}
		x := NewExecution(e)
		for v := range 2 {
			x.Begun(v)
			x.Ended(v)
		}
		x.Saved(1)
		x.Lost(0)
		if got := x.Recover(false); got.Lost != nil || !slices.Equal(got.Set, c.want) {
			t.Errorf("%s: %+v; want %v", c.graph, got, c.want)
		}
	}
}

// "a nd,off → d → v u; a → w; a is lost": v is undone with saved d, then d and a are dropped.
func TestUndoWithSavedInputs(t *testing.T) {
	e, err := Check(parse(t, "a nd,off; d < a; v u < d; w < a"))
	if err != nil {
		t.Fatal(err)
	}
	x := NewExecution(e)
	for v := range 3 {
		x.Begun(v)
		if x.Ended(v); v == 1 {
			x.Saved(v)
			x.Lost(v)
		}
	}
	x.Lost(0)
	all := x.Recover(false)
	set := all.Set
	if all.Lost != nil || !slices.Equal(set, []int{0, 1, 2}) {
		t.Fatalf("%+v", all)
	}
	x.Record(set, false)
	for _, want := range []Drop{{Task: 2, Undo: true}, {Task: 1}, {Task: 0}} {
		if d, ok := x.Next(); !ok || d.Task != want.Task || d.Undo != want.Undo || len(d.Remake) > 0 {
			t.Errorf("%+v, %v; want %+v", d, ok, want)
		}
		x.Dropped()
	}
	if !x.MayBegin(0) || x.MayBegin(1) {
		t.Error("only a may begin")
	}
}

// A checkpoint of a task that is in the recovery set is void.
func TestVoidCheckpoint(t *testing.T) {
	e, err := Check(parse(t, "a off,nd; b < a; c < a"))
	if err != nil {
		t.Fatal(err)
	}
	x := NewExecution(e)
	x.Ended(0)
	x.Ended(1)
	x.Lost(0)
	set := x.Recover(false).Set
	x.Record(set, false)
	x.Saved(1)
	x.Dropped()
	x.Saved(1) // late
	if x.there(1) {
		t.Error("the checkpoint of an attempt that was dropped counts")
	}
}
