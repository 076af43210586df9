package copies

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// had is a copy whose host records the calls.
type had struct {
	Copy
	here, begun bool // all bytes, or the first
	told        []string
	why         error
}

func (h *had) Are(d phalanx.Digest) bool { return h.here && d == h.Digest }
func (h *had) Begun() bool               { return h.begun }
func (h *had) Shown()                    { h.told = append(h.told, "shown") }
func (h *had) Whole()                    { h.told = append(h.told, "whole") }
func (h *had) Gone(why error)            { h.told, h.why = append(h.told, "gone"), why }
func (h *had) Counts()                   {}

func part(id phalanx.ObjectID, seq uint64) *had {
	h := &had{Copy: Copy{Object: id, Gen: phalanx.Generation{Epoch: 1, Seq: seq}, Digest: phalanx.Digest{byte(seq)}}}
	h.Bytes = h
	return h
}

func origin(id phalanx.ObjectID, seq uint64) *had {
	h := part(id, seq)
	h.Origin = true
	return h
}

func whole(t *Table, id phalanx.ObjectID, seq uint64) *had {
	h := part(id, seq)
	t.Enter(&h.Copy)
	t.Unuse(&h.Copy)
	return h
}

func (h *had) replaced(t *testing.T, by Ended) {
	t.Helper()
	var e *Ended
	if !h.Dropped || !errors.As(h.why, &e) || *e != by {
		t.Errorf("%v is dropped: %v, for %v, not %v", h.Gen, h.Dropped, h.why, &by)
	}
}

// A newer generation takes the place of an older one, never the other way around.
func TestShow(t *testing.T) {
	table := NewTable()
	first, second := part("x", 1), part("x", 2)
	if _, ok := table.Show(&first.Copy); !ok {
		t.Fatal("it is not shown")
	}
	if now, ok := table.Show(&second.Copy); !ok || now != &second.Copy || table.Of("x") != &second.Copy {
		t.Fatal("the newer one is not shown")
	}
	first.replaced(t, Ended{Reset, second.Gen})
	for _, late := range []*had{part("x", 1), part("x", 2)} {
		if now, ok := table.Show(&late.Copy); ok || now != &second.Copy || len(late.told) > 0 {
			t.Errorf("%v is shown", late.Gen)
		}
	}
	if second.Dropped || table.Len() != 1 {
		t.Error("the newer one has gone")
	}
}

func TestEnterInlineBytes(t *testing.T) {
	for name, c := range map[string]struct {
		old     *had
		kept    bool // the old one
		dropped bool // the new one
		why     Ended
	}{
		"none":             {},
		"a newer one":      {old: part("x", 3), dropped: true},
		"an older one":     {old: part("x", 1), why: Ended{Reset, phalanx.Generation{Epoch: 1, Seq: 2}}},
		"a part":           {old: part("x", 2), why: Ended{Why: Aborted}},
		"the same bytes":   {old: func() *had { h := part("x", 2); h.here = true; return h }(), kept: true},
		"what it has made": {old: func() *had { h := origin("x", 2); h.here = true; return h }(), kept: true},
	} {
		table := NewTable()
		if c.old != nil {
			table.Show(&c.old.Copy)
		}
		small := part("x", 2)
		got := table.Enter(&small.Copy)
		switch {
		case c.kept:
			if got != &c.old.Copy || !got.Complete || got.Pinned != c.old.Origin || !slices.Contains(c.old.told, "whole") {
				t.Errorf("%s: %+v", name, got)
			}
		case got != &small.Copy || got.Dropped != c.dropped || !got.Complete:
			t.Errorf("%s: %+v", name, got)
		case c.why != Ended{}:
			c.old.replaced(t, c.why)
		}
		if last := table.Unuse(got); last != c.dropped || got.Used() {
			t.Errorf("%s: the caller is the last user of a dropped copy: %v", name, last)
		}
	}
}

// The bytes of a Put become the copy, or go to the fetch that has a part of them, or are here already.
func TestSupply(t *testing.T) {
	for name, c := range map[string]struct {
		old  *had
		want Supplied
	}{
		"nothing":            {nil, Kept},
		"an older part":      {part("x", 1), Kept},
		"a part":             {part("x", 2), Rest},
		"what is made here":  {origin("x", 2), Had},
		"a newer part":       {part("x", 3), Had},
		"all of it":          {func() *had { h := part("x", 2); h.Complete = true; return h }(), Had},
		"an older, complete": {func() *had { h := part("x", 1); h.Complete = true; return h }(), Kept},
	} {
		table := NewTable()
		if c.old != nil {
			table.Show(&c.old.Copy)
		}
		put := part("x", 2)
		if got := table.Supply(&put.Copy); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		now := table.Of("x")
		if (now == &put.Copy) != (c.want == Kept) || now.Pinned != (c.want != Rest) || c.want == Kept && !now.Complete {
			t.Errorf("%s: %+v is here", name, now)
		}
	}
}

// An origin's copy becomes complete with the digest of the final object, and no other copy does.
func TestSettles(t *testing.T) {
	table := NewTable()
	made := origin("x", 2)
	made.here = true
	table.Show(&made.Copy)
	got := part("y", 2)
	got.here = true
	table.Show(&got.Copy)
	for _, c := range []struct {
		id     phalanx.ObjectID
		seq    uint64
		digest byte
		want   *Copy
	}{
		{"x", 2, 2, &made.Copy},
		{"x", 1, 2, nil},
		{"x", 2, 3, nil},
		{"y", 2, 2, nil},
		{"z", 2, 2, nil},
	} {
		if c.want != table.Settles(c.id, phalanx.Generation{Epoch: 1, Seq: c.seq}, phalanx.Digest{c.digest}) {
			t.Errorf("%+v", c)
		}
	}
	made.here = false
	if table.Settles("x", made.Gen, made.Digest) != nil {
		t.Error("a copy settles whose bytes are not here")
	}
	made.here = true
	table.Finish(&made.Copy, made.Meta, made.Digest, true)
	if table.Settles("x", made.Gen, made.Digest) != nil {
		t.Error("a copy settles twice")
	}
}

func TestSupplant(t *testing.T) {
	reason := errors.New("no room for two")
	for name, c := range map[string]struct {
		old *had
		ok  bool
		why error
	}{
		"nothing":      {nil, true, nil},
		"a part":       {part("x", 2), true, reason},
		"an older one": {part("x", 1), true, &Ended{}},
		"all of it":    {func() *had { h := part("x", 2); h.Complete = true; return h }(), false, nil},
		"a newer one":  {part("x", 3), false, nil},
	} {
		table := NewTable()
		if c.old != nil {
			table.Show(&c.old.Copy)
		}
		put := part("x", 2)
		if ok := table.Supplant(&put.Copy, reason); ok != c.ok || ok && (!put.Complete || !put.Pinned || table.Of("x") != &put.Copy) {
			t.Errorf("%s: %v, %+v", name, ok, put.Copy)
		}
		if c.why == reason && c.old.why != reason || c.old != nil && (c.why != nil) != c.old.Dropped {
			t.Errorf("%s: dropped %v, %v", name, c.old.Dropped, c.old.why)
		}
	}
}

// Readers keep a copy that the node has dropped, and nothing brings it back into the table.
func TestDropped(t *testing.T) {
	table := NewTable()
	c := whole(table, "x", 1)
	if !table.Use(&c.Copy) || !table.Drop(&c.Copy, nil) || table.Drop(&c.Copy, nil) || table.Of("x") != nil {
		t.Fatal("it is not dropped once")
	}
	if table.Use(&c.Copy) || table.Serve(&c.Copy, 9) || table.Finish(&c.Copy, c.Meta, c.Digest, true) {
		t.Error("it can be used")
	}
	if !table.Unuse(&c.Copy) {
		t.Error("its last user is not the last")
	}
	arriving := part("y", 1)
	table.Show(&arriving.Copy)
	table.Drop(&arriving.Copy, nil)
	if table.Finish(&arriving.Copy, c.Meta, c.Digest, true) || arriving.Complete || slices.Contains(arriving.told, "whole") {
		t.Error("a part that was dropped becomes complete")
	}
	next := whole(table, "x", 2)
	if table.DropObject("x", c.Gen, nil) != nil || table.DropObject("x", next.Gen, nil) != &next.Copy || !next.Dropped {
		t.Error("an order to drop an older generation drops the present one, or one to drop it does not")
	}
	if late := part("x", 2); table.Supply(&late.Copy) != Kept || table.Successor(&next.Copy) != &late.Copy || table.Successor(&c.Copy) != nil {
		t.Error("a copy has no successor of its generation, or one of another")
	}
}

// A Put has a part pinned; the fetch that completes it does not unpin it.
func TestAPartThatIsPinnedStaysPinned(t *testing.T) {
	table := NewTable()
	c := part("x", 1)
	table.Show(&c.Copy)
	if !table.Pin("x", c.Gen) || !table.Finish(&c.Copy, c.Meta, c.Digest, false) || !c.Complete || !c.Pinned {
		t.Errorf("%+v", c.Copy)
	}
}

// A complete copy outlives the work that has made it.
func TestDropPart(t *testing.T) {
	table := NewTable()
	all, some := whole(table, "all", 1), part("some", 1)
	table.Show(&some.Copy)
	if table.DropPart(&all.Copy, nil) || all.Dropped || table.Of("all") == nil {
		t.Error("a complete copy is dropped")
	}
	if !table.DropPart(&some.Copy, nil) || !some.Dropped || table.DropPart(&some.Copy, nil) {
		t.Error("a part is not dropped once")
	}
}

func TestServeWithinFanout(t *testing.T) {
	table := NewTable()
	c := whole(table, "x", 1)
	for i, want := range []bool{true, true, false} {
		if got := table.Serve(&c.Copy, 2); got != want {
			t.Errorf("receiver %d is served: %v", i, got)
		}
	}
	if table.Served(&c.Copy) != 1 || !table.Serve(&c.Copy, 2) {
		t.Error("the end of one stream makes no room for another")
	}
}

// A call pins the generation that it wants pinned, and none on a node that leaves.
func TestWantPins(t *testing.T) {
	table := NewTable()
	c := whole(table, "x", 2)
	for _, w := range []struct {
		seq    uint64
		leaves bool
		pinned bool
	}{{1, false, false}, {2, true, false}, {2, false, true}} {
		if table.Want(&c.Copy, phalanx.Generation{Epoch: 1, Seq: w.seq}, w.leaves); c.Pinned != w.pinned {
			t.Errorf("%+v: %v", w, c.Pinned)
		}
	}
}

func TestHoldings(t *testing.T) {
	table := NewTable()
	a, b, made, ring := whole(table, "a", 1), part("b", 1), origin("c", 1), origin("d", 1)
	b.begun, ring.Ring = true, true
	for _, c := range []*had{b, made, ring} {
		table.Show(&c.Copy)
	}
	table.Reading(&b.Copy, "up", 7, "maker")
	table.KeepCopies("a", a.Gen, 3)
	want := []directory.Holding{
		{Object: "a", Gen: a.Gen, Digest: a.Digest, Complete: true, Begun: true, Copies: 3},
		{Object: "b", Gen: b.Gen, Digest: b.Digest, Begun: true, Upstream: "up", Lease: 7},
		{Object: "c", Gen: made.Gen, Digest: made.Digest, Origin: true},
		{Object: "d", Gen: ring.Gen, Digest: ring.Digest},
	}
	all := table.Holdings([]bool{true})
	Sort(all)
	got := all[0]
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if table.Finish(&b.Copy, b.Meta, b.Digest, false); table.Leased("b", 7) || b.Upstream != "" {
		t.Error("a complete copy is still read from a sender")
	}
	for _, c := range []struct {
		id   phalanx.ObjectID
		all  bool
		sure bool
	}{{"a", true, true}, {"c", true, false}, {"e", false, false}} {
		if all, sure := table.Whole(c.id, a.Gen), table.Sure(c.id, a.Gen) != nil; all != c.all || sure != c.sure {
			t.Errorf("%s: %v, %v", c.id, all, sure)
		}
	}
}

// Victim chooses the least recently used copy that may be evicted, whatever has happened to the others.
func TestVictim(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 0))
		table, all, last := NewTable(), []*had{}, map[*had]int{}
		refused := map[*had]bool{}
		for step := range 200 {
			if len(all) < 6 {
				c := whole(table, phalanx.ObjectID(rune('a'+len(all))), 1)
				all, last[c] = append(all, c), step
				continue
			}
			c := all[rng.IntN(len(all))]
			was := c.Used()
			switch rng.IntN(7) {
			case 0:
				table.Use(&c.Copy)
			case 1:
				if c.users > 0 {
					table.Unuse(&c.Copy)
				}
			case 2:
				table.Serve(&c.Copy, 2)
			case 3:
				if c.streams > 0 {
					table.Served(&c.Copy)
				}
			case 4:
				table.Reconsider()
				clear(refused)
			default:
				want := (*had)(nil)
				for _, o := range all {
					if !o.Used() && !refused[o] && (want == nil || last[o] < last[want]) {
						want = o
					}
				}
				v, _ := table.Victim(1, func(int) bool { return false })
				if v == nil != (want == nil) || v != nil && v != &want.Copy {
					t.Fatalf("seed %d, step %d: %v is chosen, not %v", seed, step, v, want)
				}
				if v == nil {
					continue
				}
				if !v.Asked() || table.Sure(v.Object, v.Gen) != nil {
					t.Fatal("the victim does not count as asked about")
				}
				if rng.IntN(2) == 0 {
					table.Keep(v, true)
					refused[want] = true
				} else {
					table.Keep(v, false)
				}
			}
			if was && !c.Used() {
				last[c], refused[c] = step, false
			}
		}
	}
}

// A copy stays that was pinned, or is in use, since the node asked for leave to evict it.
func TestEvict(t *testing.T) {
	table := NewTable()
	idle := func(int) bool { return false }
	whole(table, "x", 1)
	for _, use := range []func(c *Copy) (end func()){
		func(c *Copy) func() { table.Use(c); return func() { table.Unuse(c) } },
		func(c *Copy) func() { table.Serve(c, 1); return func() { table.Served(c) } },
		func(c *Copy) func() { table.Pin(c.Object, c.Gen); return func() { c.Pinned = false; table.arrange(c) } },
	} {
		c, _ := table.Victim(1, idle)
		if again, _ := table.Victim(1, idle); again != nil {
			t.Fatal("it is asked about twice")
		}
		end := use(c)
		if table.Evict(c, nil) || c.Dropped {
			t.Fatal("it is evicted")
		}
		end()
	}
	c, _ := table.Victim(1, idle)
	if table.Reclaim(); c.Asked() {
		t.Error("the copy counts as asked about for ever")
	}
	if c, _ = table.Victim(1, idle); c == nil || !table.Evict(c, nil) || table.Evictions() != 1 || table.Len() != 0 {
		t.Error("it is not evicted")
	}
	if c, _ = table.Victim(0, idle); c != nil {
		t.Error("a victim without a view")
	}
}

// Roots, and places of a ring that still lack some of the target, are made here; Puts are not.
func TestMaking(t *testing.T) {
	table := NewTable()
	put, ring, root, read := origin("put", 1), part("ring", 1), origin("root", 1), part("read", 1)
	ring.Ring = true
	for _, c := range []*had{put, root, ring, read} {
		table.Show(&c.Copy)
	}
	whole(table, "whole", 1)
	if got := table.Making([]phalanx.ObjectID{"other", "put"}); !slices.Equal(got, []phalanx.ObjectID{"ring", "root"}) {
		t.Errorf("%v are made here", got)
	}
}
