package workflow

import (
	"fmt"
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

// An object that the node has noted before stays as it was, and the node does not name its run again: only a new one may be on no list.
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

// BenchmarkAdopt measures a look at the objects of dead nodes, in pages as Walk has them: the first one, which notes all, and the next
// one, which finds them noted.
func BenchmarkAdopt(b *testing.B) {
	for _, n := range []int{10, 1000, 100_000} {
		var all []directory.ObjectStat
		for i := range n {
			u := core.UID{Ledger: 1, Epoch: 2, Index: uint64(i / 10)}
			all = append(all, directory.ObjectStat{Object: phalanx.ObjectID(fmt.Sprintf("wf/%s/%d/0/2.1/.output", u, i%10)), Origin: "dead"})
		}
		look := func(of *Belongings) {
			for page := range slices.Chunk(all, 500) {
				of.Adopt(page, func(phalanx.NodeID) bool { return false })
			}
		}
		b.Run(fmt.Sprint(n, "/first"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				look(NewBelongings())
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/object")
		})
		b.Run(fmt.Sprint(n, "/again"), func(b *testing.B) {
			of := NewBelongings()
			look(of)
			for b.Loop() {
				look(of)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/object")
		})
	}
}
