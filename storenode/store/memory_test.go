package store

import (
	"errors"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

var errOver = errors.New("over")

func nobody(int) bool { return false }

// small keeps a complete inline copy of n bytes.
func small(t *testing.T, table *Table, id phalanx.ObjectID, n int, pinned bool) *objectCopy {
	t.Helper()
	if !table.budget.TryReserve(int64(n)) {
		t.Fatalf("no room for %s", id)
	}
	c := table.keepInline(storenode.Info{Object: id, Gen: first, Meta: phalanx.Meta{Size: int64(n)}}, make([]byte, n), "", pinned)
	table.release(c)
	return c
}

// arriving shows a partial copy of n bytes.
func arriving(t *testing.T, pool *dataplane.Pool, table *Table, id phalanx.ObjectID, gen phalanx.Generation, n int64) *objectCopy {
	t.Helper()
	buf := pool.TryBuffer(n)
	if buf == nil {
		t.Fatalf("no room for %s", id)
	}
	c, ok := table.show(id, gen, phalanx.Meta{Size: n}, buf, false)
	if !ok {
		buf.Release()
	}
	return c
}

func TestVictim1_8(t *testing.T) {
	pool := dataplane.NewPool(dataplane.NewBudget(1 << 20))
	table := NewTable(pool.Budget())
	is := func(what string, want phalanx.ObjectID, not ...phalanx.ObjectID) {
		t.Helper()
		for _, id := range not { // the owner refuses
			if c, _ := table.victim(1, nobody); c == nil || c.Object != id {
				t.Fatalf("%s: %v is chosen, not %s", what, c, id)
			} else {
				table.keep(c, true)
			}
		}
		got := phalanx.ObjectID("")
		if c, _ := table.victim(1, nobody); c != nil {
			got = c.Object
			table.keep(c, false)
		}
		table.reconsider()
		if got != want {
			t.Errorf("%s: %q is evicted, want %q", what, got, want)
		}
	}
	is("empty", "")
	small(t, table, "pinned", 10, true)
	is("a pinned copy", "")
	part := arriving(t, pool, table, "arriving", first, 10)
	is("a partial copy", "")
	small(t, table, "a", 10, false)
	small(t, table, "b", 10, false)
	is("the older one", "a")
	is("which was refused", "b", "a")
	is("both were refused", "", "a", "b")
	v := table.View("a")
	is("which is viewed", "b")
	v.Release()
	v.Release()
	is("which was viewed last", "b")
	b := table.lookup("b")
	if !table.retain(b) {
		t.Fatal("b is gone")
	}
	is("b is read", "a")
	table.release(b)
	is("read last", "a")
	table.finish(part, part.Meta, phalanx.Digest{}, false)
	is("one has arrived, which makes it the last", "a")
	for _, id := range []phalanx.ObjectID{"b", "a"} {
		table.View(id).Release()
	}
	is("the others were used since", "arriving")
	if !table.serve(part, 1) || table.serve(part, 1) {
		t.Error("a copy has not one receiver")
	}
	is("which is read by another node", "b")
	if left := table.served(part); left != 0 {
		t.Errorf("%d receivers are left", left)
	}
	is("and no more, a moment ago", "arriving", "b", "a")
	if !table.pinAtLeast("arriving", first) {
		t.Error("it cannot be pinned")
	}
	is("which was pinned", "b")
	table.Close(errOver)
	is("closed", "")
	if used := pool.Budget().Used(); used != 0 {
		t.Errorf("%d bytes are reserved by an empty table", used)
	}
}

// The table gives back a dropped copy's memory after the last reader.
func TestTableGivesBack(t *testing.T) {
	second := phalanx.Generation{Epoch: 1, Seq: 2}
	for _, c := range []struct {
		name string
		do   func(t *testing.T, pool *dataplane.Pool, table *Table)
		used int64 // besides copyCost
		left int64 // copies
	}{
		{"a newer generation replaces a partial copy", func(t *testing.T, pool *dataplane.Pool, table *Table) {
			old := arriving(t, pool, table, "o", first, 100)
			arriving(t, pool, table, "o", second, 30)
			if table.retain(old) || table.serve(old, 1) || table.viewOf(old) != nil {
				t.Error("the older copy can be read")
			}
		}, 30, 1},
		{"a newer inline one too", func(t *testing.T, pool *dataplane.Pool, table *Table) {
			arriving(t, pool, table, "o", first, 100)
			table.budget.TryReserve(20)
			table.release(table.keepInline(storenode.Info{Object: "o", Gen: second}, make([]byte, 20), "", false))
		}, 20, 1},
		{"an older generation does not", func(t *testing.T, pool *dataplane.Pool, table *Table) {
			now := arriving(t, pool, table, "o", second, 100)
			if c := arriving(t, pool, table, "o", first, 30); c != now {
				t.Error("it went back")
			}
		}, 100, 1},
		{"the same inline bytes twice", func(t *testing.T, pool *dataplane.Pool, table *Table) {
			a, b := small(t, table, "o", 20, false), small(t, table, "o", 20, true)
			if a != b || !a.Pinned {
				t.Error("there are two, or it is not pinned")
			}
		}, 20, 1},
		{"a view keeps its bytes", func(t *testing.T, pool *dataplane.Pool, table *Table) {
			o := arriving(t, pool, table, "o", first, 4)
			if _, err := o.buffer.Write([]byte("abcd")); err != nil {
				t.Fatal(err)
			}
			table.finish(o, o.Meta, phalanx.Digest{}, false)
			v := table.View("o")
			table.dropObject("o", first, errOver)
			table.dropObject("o", first, errOver)
			if used := table.budget.Used(); used != 4 || string(v.Bytes()) != "abcd" || table.View("o") != nil {
				t.Errorf("%d bytes are reserved for a view of %q", used, v.Bytes())
			}
			v.Release()
			v.Release()
		}, 0, 0},
		{"an old order to drop", func(t *testing.T, pool *dataplane.Pool, table *Table) {
			small(t, table, "p", 5, false)
			arriving(t, pool, table, "o", second, 100)
			table.dropObject("o", first, errOver)
		}, 105, 2},
		{"only complete copies are kept", func(t *testing.T, pool *dataplane.Pool, table *Table) {
			arriving(t, pool, table, "o", first, 100)
			small(t, table, "p", 5, false)
			table.KeepComplete(errOver)
		}, 5, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			pool := dataplane.NewPool(dataplane.NewBudget(10_000))
			table := NewTable(pool.Budget())
			c.do(t, pool, table)
			if used := pool.Budget().Used(); used != c.used+c.left*copyCost {
				t.Errorf("%d bytes are reserved, want %d and %d copies", used, c.used, c.left)
			}
			table.Close(errOver)
			if used := pool.Budget().Used(); used != 0 {
				t.Errorf("%d bytes are left", used)
			}
		})
	}
}
