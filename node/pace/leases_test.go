package pace

import (
	"testing"

	"github.com/phalanx-go/phalanx"
)

// A sender reports the lease of a stream that broke, unless its receiver has come back: also before
// the sender saw that the stream was broken.
func TestLeaseOfABrokenStream(t *testing.T) {
	flow := func(id phalanx.ObjectID, num uint64) *Flow { return &Flow{Lease: Lease{id, num}} }
	l := Leases{}
	broken, other, again := flow("x", 1), flow("y", 1), flow("x", 1)
	l.Begin(broken)
	l.Begin(other) // another object under a lease of the same number
	if !l.End(broken) || l.End(broken) {
		t.Error("the lease of a broken stream is not reported once")
	}
	l.Begin(broken)
	l.Begin(again)
	if l.End(broken) {
		t.Error("a lease is reported that the receiver reads under again")
	}
	if !l.End(again) || !l.End(other) || len(l) > 0 {
		t.Errorf("%d leases are remembered", len(l))
	}
	local := flow("x", 0)
	if l.Begin(local); l.End(local) {
		t.Error("a stream without a lease has one")
	}
}
