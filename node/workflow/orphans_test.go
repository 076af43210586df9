package workflow

import (
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

func TestAdopt(t *testing.T) {
	u := core.UID{Ledger: 1, Epoch: 2, Index: 3}
	of := func(rest string) phalanx.ObjectID { return phalanx.ObjectID("wf/" + u.String() + "/" + rest) }
	b := NewBelongings()
	runs, dead := b.Adopt([]directory.ObjectStat{
		{Object: of("1/0/2.1/.output"), Origin: "dead"},
		{Object: of("1/0/2.2/.output"), Origin: "alive"},
		{Object: of("2/0/2/.output"), Origin: "alive", Maker: directory.ByReduce},
		{Object: CopyID("dead", 7), Origin: "dead"},
		{Object: CopyID("alive", 7), Origin: "alive"},
		{Object: CopyID("a/slash#1", 7), Origin: "other"},
		{Object: "wf/copy/", Origin: "dead"},
		{Object: "wf/mine", Origin: "dead"},
		{Object: "other", Origin: "dead"},
	}, func(n phalanx.NodeID) bool { return n == "alive" || n == "a/slash#1" })
	if !slices.Equal(runs, []core.UID{u}) || !slices.Equal(dead, []phalanx.ObjectID{CopyID("dead", 7)}) {
		t.Error(runs, dead)
	}
	if objects, _ := b.Free([]core.Released{{Run: u}}); objects != nil { // the run may end with them
		t.Error(objects)
	}
	objects, _ := b.Free([]core.Released{{Run: u, Results: true}})
	if want := []phalanx.ObjectID{of("1/0/2.1/.output"), of("2/0/2/.output")}; !slices.Equal(objects, want) {
		t.Error(objects)
	}
}

// What the node has noted before stays as it was, and its run is not named again: only what is new may be known to nobody.
func TestAdoptWhatIsKnown(t *testing.T) {
	u := core.UID{Ledger: 1, Epoch: 2, Index: 3}
	id := phalanx.ObjectID("wf/" + u.String() + "/1/0/2/.output")
	b := NewBelongings()
	b.Object(u.String(), id, false)
	some := []directory.ObjectStat{{Object: id, Origin: "dead"}, {Object: id, Origin: "alive", Maker: directory.ByReduce}}
	if runs, dead := b.Adopt(some, func(n phalanx.NodeID) bool { return n == "alive" }); runs != nil || dead != nil {
		t.Error(runs, dead)
	}
	if objects, _ := b.Free([]core.Released{{Run: u}}); !slices.Equal(objects, []phalanx.ObjectID{id}) {
		t.Errorf("of a run that has ended %v is deleted", objects)
	}
}
