package sim

import (
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// A Put of other bytes in place of lost ones promises only its own number of copies.
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

// An owner may show a replaced generation again only if the shard was lost and the later generation
// was given up.
func TestAGenerationThatReturns(t *testing.T) {
	for _, c := range []struct {
		name     string
		lostAt   uint64
		later    directory.State
		replaced bool
	}{
		{"the shard was lost, and the later one was given up", 5, directory.Begun, false},
		{"the shard was lost, and the later one was final", 5, directory.Finished, true},
		{"the shard was not lost", 0, directory.Begun, true},
	} {
		w := &world{audit: &audit{table: map[int]view.Shard{0: {LostAt: c.lostAt}}}, met: map[string]int{}, shape: shape{shards: 1}, now: 7}
		o := &oracle{w: w, objects: map[phalanx.ObjectID]*model{}}
		m := o.model("a")
		show := func(state directory.State, seq uint64, b ...byte) phalanx.Generation {
			g := phalanx.Generation{Epoch: 1, Seq: seq}
			m.made[g] = b
			o.shows(nil, "a", directory.Record{Object: "a", State: state, Gen: g, Digest: digestOf(b)})
			return g
		}
		first := show(directory.Finished, 1, 1)
		show(c.later, 2, 2)
		if m.finals[first].over != 7 {
			t.Fatalf("%s: the first one was not replaced", c.name)
		}
		show(directory.Finished, 1, 1)
		if replaced := m.finals[first].over != 0; replaced != c.replaced {
			t.Errorf("%s: it counts as replaced: %v", c.name, replaced)
		}
	}
}
