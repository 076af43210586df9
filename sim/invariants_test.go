package sim

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// The tombstone of an owner that was deposed says nothing of what the cluster knows: its shard was lost,
// or a later owner has the object's record.
func TestATombstoneOfADeposedOwner(t *testing.T) {
	for _, c := range []struct {
		name   string
		lostAt uint64
		later  uint64 // the epoch of the owner that last showed the object; 0: none did
		gone   bool
	}{
		{"it is the owner", 0, 4, true},
		{"the shard was lost before", 4, 0, true},
		{"the shard was lost since", 7, 0, false},
		{"a later owner has shown the object", 0, 5, false},
	} {
		s := directory.New(directory.Config{Self: "n", InlineLimit: 10})
		for _, ev := range []directory.Event{
			directory.Configure{Epoch: 4, Owner: "n", Members: []phalanx.NodeID{"n"}}, directory.Lease{Until: time.Hour}, directory.Holdings{From: "n", Epoch: 4, Round: 1, End: true},
			directory.Request{From: "n", Num: 1, Object: "a", Body: directory.PutInline{Meta: phalanx.Meta{Size: 1}, Digest: digestOf([]byte{1}), Bytes: []byte{1}}},
			directory.Request{From: "n", Num: 2, Object: "a", Body: directory.Delete{Gen: phalanx.Generation{Epoch: 4, Seq: 1}}},
		} {
			s.Step(0, ev)
		}
		w := &world{met: map[string]int{}, shape: shape{shards: 1}, now: 7}
		w.audit, w.oracle = newAudit(w), &oracle{w: w, objects: map[phalanx.ObjectID]*model{}}
		w.audit.table[0] = view.Shard{LostAt: c.lostAt}
		if c.later != 0 {
			w.audit.records["a"] = seen{epoch: c.later}
		}
		w.audit.shard(&node{id: "n", shards: []*directory.Shard{s}}, 0)
		if gone := w.oracle.model("a").gone != 0; gone != c.gone {
			t.Errorf("%s: the object counts as deleted everywhere: %v", c.name, gone)
		}
	}
}
