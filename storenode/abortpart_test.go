package storenode

import (
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx/protocol/directory"
)

// A part that is taken back as an epoch begins: the owner that has given the order hears that
// it was carried out, and the next one, which may have been told of the part, that it is gone.
func TestAbortOfAPartAsAnEpochBegins(t *testing.T) {
	var all []any
	env := alone(t)
	env.Directory = later{told{all: &all}, &[]uint64{7, 10}}
	arriving(t, env.Pool, env.Table, "o0", first, 30)
	s := &Store{env: env}
	s.pushed(nil, Pushed{From: "owner#1", Push: directory.Push{To: env.Self, Object: "o0", Order: directory.PushAbort, Gen: first, Seq: 7<<32 | 5}})
	if want := []any{directory.Drop{Gen: first}, directory.PushAcked{From: "n1#1", Object: "o0", Seq: 7<<32 | 5}}; env.Table.lookup("o0") != nil || !slices.Equal(all, want) {
		t.Errorf("it told %+v", all)
	}
}
