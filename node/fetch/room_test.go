package fetch

import (
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/transfer"
)

func TestWays(t *testing.T) {
	for _, c := range []struct {
		size, charge, reserved int64
		want                   Way
	}{
		{phalanx.UnknownSize, 0, 100, Grows},
		{90, 100, 100, Reserved},
		{90, 100, 99, Tries},
		{0, 0, 0, Reserved},
	} {
		if got := new(Room).For(c.size, c.charge, c.reserved); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// A fetch waits for the charge of what it is about to make, and again if what it had was spent.
func TestWaitForRoom(t *testing.T) {
	var r Room
	if wait := r.Wait(phalanx.UnknownSize, 0); wait != 0 {
		t.Errorf("it waits for %d bytes of an object of unknown size that has no copy", wait)
	}
	if wait := r.Wait(90, 100); wait != 100 {
		t.Errorf("it waits for %d bytes", wait)
	}
	r.Spent(100)
	if wait := r.Wait(phalanx.UnknownSize, 0); wait != 100 {
		t.Errorf("it waits for %d bytes", wait)
	}
	if wait := r.Wait(phalanx.UnknownSize, 0); wait != 0 {
		t.Errorf("it waits again for %d bytes", wait)
	}
}

// A fetch holds no room while it waits for somebody to put the object.
func TestFrees(t *testing.T) {
	for _, state := range []transfer.State{transfer.Unbound, transfer.Lost, transfer.Begun, transfer.Finished} {
		free := state == transfer.Unbound || state == transfer.Lost
		if got := Frees(transfer.Answered{Waiting: true, State: state}); got != free {
			t.Errorf("%v: %v", state, got)
		}
		if Frees(transfer.Answered{State: state}) {
			t.Errorf("%v frees room though nothing is waited for", state)
		}
	}
}

func waiting() (i Inline) {
	i.Wait(transfer.TakeInline{Gen: phalanx.Generation{Epoch: 1, Seq: 2}})
	return i
}

// Inline bytes are taken once, whether there is room or never will be.
func TestInlineIsTakenOnce(t *testing.T) {
	i := waiting()
	if e, ok := i.Take(); !ok || e.Gen.Seq != 2 || i.Waits() {
		t.Errorf("%+v, %v", e, ok)
	}
	if e, ok := i.Take(); ok {
		t.Errorf("taken again: %+v", e)
	}
}

// An order that deletes their generation, or a later one, gives inline bytes up.
func TestInlineIsDeleted(t *testing.T) {
	for _, c := range []struct {
		order transfer.Order
		seq   uint64
		want  bool
	}{
		{transfer.OrderDrop, 2, true},
		{transfer.OrderDrop, 3, true},
		{transfer.OrderDrop, 1, false},
		{transfer.OrderFinal, 2, false},
	} {
		i := waiting()
		if got := i.Deleted(transfer.Pushed{Order: c.order, Gen: phalanx.Generation{Epoch: 1, Seq: c.seq}}); got != c.want || i.Waits() == c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if new(Inline).Deleted(transfer.Pushed{Order: transfer.OrderDrop}) {
		t.Error("nothing waits, and is deleted")
	}
}

// Inline bytes are given up when the last caller leaves.
func TestInlineIsLeft(t *testing.T) {
	i := waiting()
	if _, gone := i.Left(1); gone || !i.Waits() {
		t.Error("a caller waits, and they are gone")
	}
	if gen, gone := i.Left(0); !gone || gen.Seq != 2 || i.Waits() {
		t.Errorf("%v, %v", gen, gone)
	}
	if _, gone := i.Left(0); gone {
		t.Error("gone again")
	}
}
