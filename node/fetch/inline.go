package fetch

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/transfer"
)

// Inline is an object whose bytes came with the owner's answer while there was no room for them.
// Its receiver has ended, and its callers wait for room. The zero value is none.
type Inline struct {
	of    transfer.TakeInline
	waits bool
}

// Wait begins to wait.
func (i *Inline) Wait(e transfer.TakeInline) { i.of, i.waits = e, true }

// Waits reports whether it waits.
func (i *Inline) Waits() bool { return i.waits }

// Take ends the wait: there is room, or there never will be. It returns the object; false: the
// fetch gave it up meanwhile, and the host gives the room back.
func (i *Inline) Take() (e transfer.TakeInline, ok bool) {
	e, ok = i.of, i.waits
	*i = Inline{}
	return e, ok
}

// Deleted gives the object up if an order deletes it, and reports so: its callers hear ErrDeleted.
func (i *Inline) Deleted(p transfer.Pushed) bool {
	if !i.waits || p.Order != transfer.OrderDrop || p.Gen.Less(i.of.Gen) {
		return false
	}
	*i = Inline{}
	return true
}

// Left gives the object up if no caller waits any more, and reports so. Its owner may list it: the
// host tells it that gen is not here, unless a Put has brought the same bytes (owner.Unkeep).
func (i *Inline) Left(callers int) (gen phalanx.Generation, gone bool) {
	if !i.waits || callers > 0 {
		return gen, false
	}
	e, _ := i.Take()
	return e.Gen, true
}
