package store

import (
	"errors"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// A caller that gets inline bytes which are here already, in a buffer, has a reference of it.
func TestInlineBytesThatAreHereInABuffer(t *testing.T) {
	pool := dataplane.NewPool(dataplane.NewBudget(1 << 20))
	table := NewTable(pool.Budget())
	c := arriving(t, pool, table, "o", first, 4)
	_, _ = c.buffer.Write([]byte("abcd"))
	_ = c.buffer.Finish(4)
	_ = table.budget.TryReserve(4)
	got := table.keepInline(storenode.Info{Object: "o", Gen: first, Meta: phalanx.Meta{Size: 4}, Digest: dataplane.DigestBytes([]byte("abcd"))}, []byte("abcd"), "", false)
	table.drop(c, &dataplane.Ended{Reason: dataplane.Gone})
	if got != c || pool.Budget().Used()-pool.Idle() == 0 {
		t.Error("its bytes are not kept for who has got them")
	}
	table.release(got)
	if used := pool.Budget().Used() - pool.Idle(); used != 0 {
		t.Errorf("%d bytes are left", used)
	}
}

// A note beside a copy takes memory, and gives it back.
func TestANoteTakesMemory(t *testing.T) {
	table := NewTable(dataplane.NewBudget(1 << 20))
	c := small(t, table, "o", 30, true)
	r := directory.Result{State: directory.Finished, Gen: first, Tag: "tag", Note: make([]byte, 100)}
	table.learn("o", first, r)
	table.learn("o", first, r)
	if used := table.budget.Used(); used != one+100 {
		t.Errorf("%d bytes are taken", used)
	}
	table.drop(c, &dataplane.Ended{Reason: dataplane.Gone})
	if used := table.budget.Used(); used != 0 {
		t.Errorf("%d bytes are left", used)
	}
}

// Inline bytes are given back as soon as the copy is dropped, also while a stream of them goes on.
func TestInlineBytesAreDroppedWhileTheyAreSent(t *testing.T) {
	table := NewTable(dataplane.NewBudget(1 << 20))
	c := small(t, table, "o", 30, true)
	table.serve(c, 1)
	table.drop(c, &dataplane.Ended{Reason: dataplane.Gone})
	table.served(c)
	if used := table.budget.Used(); used != 0 {
		t.Errorf("%d bytes are left", used)
	}
}

// Readers of a part hear why inline bytes take its place.
func TestInlineBytesTakeThePlaceOfAPart(t *testing.T) {
	for gen, want := range map[phalanx.Generation]dataplane.Ended{
		first:  {Reason: dataplane.Gone, Kind: phalanx.ErrAborted},
		second: {Reason: dataplane.Reset, Generation: second},
	} {
		pool := dataplane.NewPool(dataplane.NewBudget(1 << 20))
		table := NewTable(pool.Budget())
		c := arriving(t, pool, table, "o", first, 4)
		c.buffer.Retain()
		_ = table.budget.TryReserve(4)
		table.release(table.keepInline(storenode.Info{Object: "o", Gen: gen, Meta: phalanx.Meta{Size: 4}}, []byte("abcd"), "", false))
		var e *dataplane.Ended
		if !errors.As(c.buffer.Err(), &e) || *e != want {
			t.Errorf("readers hear %v, not %v", c.buffer.Err(), &want)
		}
		c.buffer.Release()
	}
}

// An answer without news of a copy does not press the evictor for room.
func TestAnswersThatTeachNothingPressNobody(t *testing.T) {
	budget, pressed := dataplane.NewBudget(2000), 0
	table := NewTable(budget)
	small(t, table, "o", 30, false)
	budget.Force(3000)
	budget.OnPressure(func(int64) { pressed++ })
	table.learn("o", first, directory.Result{State: directory.Finished, Gen: first}) // of no Reduce
	if pressed != 0 {
		t.Errorf("it presses %d times", pressed)
	}
}
