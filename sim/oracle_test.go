package sim

import (
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// A Put of other bytes in place of lost ones promises what it says itself.
func TestCopiesAreOfOneGeneration(t *testing.T) {
	o := &oracle{w: &world{}, objects: map[phalanx.ObjectID]*model{}}
	m := o.model("a")
	shown := func(seq uint64, b ...byte) phalanx.Generation {
		g := phalanx.Generation{Epoch: 1, Seq: seq}
		m.made[g] = b
		o.shows(nil, "a", directory.Record{Object: "a", State: directory.Finished, Gen: g, Digest: digestOf(b)})
		return g
	}
	first := shown(1, 1)
	if o.copied("a", first, 2); m.copies != 2 {
		t.Fatalf("two copies were promised, and %d are expected", m.copies)
	}
	if shown(1, 1); m.copies != 2 {
		t.Error("to be shown again takes a promise back")
	}
	if shown(2, 2); m.copies != 0 {
		t.Errorf("%d copies are expected of bytes of which one was promised", m.copies)
	}
}
