package fetch

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/transfer"
)

// Room decides how much memory an object on its way takes. Its host reserves bytes as it charges them
// for an object of a size; they are no copy's until one is made. The zero value is ready.
type Room struct {
	spent int64 // the charge of a copy for which there was no room when it was made; 0: none
}

// Way is how a host gets the room for a copy.
type Way uint8

// The ways.
const (
	Grows    Way = iota // give back the reserved bytes: a copy of unknown size grows
	Reserved            // it is reserved; give back the rest
	Tries               // it is not: reserve it at once, or not at all
)

// Frees reports whether the host gives back the reserved bytes: an object that no node has put, or
// that is lost, may never come, and others need the room.
func Frees(a transfer.Answered) bool {
	return a.Waiting && (a.State == transfer.Unbound || a.State == transfer.Lost)
}

// Wait returns how many bytes the host waits for when the receiver wants room for size bytes, which
// take charge, and there is no copy yet; 0: none. It first gives back the reserved bytes: two
// fetches that wait while they hold could starve each other.
func (r *Room) Wait(size, charge int64) int64 {
	if size == phalanx.UnknownSize { // as much as was missing when the copy was made
		charge = r.spent
	}
	r.spent = 0
	return charge
}

// For returns how the host gets the room for a copy of size bytes, which take charge, while so much
// is reserved. If it Tries in vain it says Spent.
func (r *Room) For(size, charge, reserved int64) Way {
	switch {
	case size == phalanx.UnknownSize:
		return Grows
	case reserved >= charge:
		return Reserved
	}
	return Tries
}

// Spent takes note that there was no room for a copy that takes charge: the reserved bytes went
// elsewhere.
func (r *Room) Spent(charge int64) { r.spent = charge }
