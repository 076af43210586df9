package workflow_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

func named(id string) workflow.Ref {
	return workflow.Ref{Object: phalanx.ObjectID(id), Meta: phalanx.Meta{Size: int64(len(id))}, Digest: phalanx.Digest{id[len(id)-1]}}
}

// An object is put again of any input that names it and has a checkpoint, and without one none of these inputs is whole.
func TestSourcesOfAnObject(t *testing.T) {
	u := core.UID{Ledger: 1, Epoch: 2, Index: 3}
	s := workflow.NewSources(u)
	saved := core.Located{Task: 4, Gen: 1, Made: core.Attempt{Epoch: 2, Number: 7}, Disks: []string{"d", "e"}}
	off := core.Located{Task: 5, Output: core.Output{Bytes: []byte("b")}}
	s.Add(saved, []workflow.Ref{named("x"), named("y")})
	s.Add(off, []workflow.Ref{named("x")})
	s.Add(off, []workflow.Ref{named("x")})
	all := s.Namings("x")
	if len(all) != 2 || all[0].Blob != workflow.BlobOf(u, saved) || all[1].Blob != workflow.BlobOf(u, off) || len(all[1].Wish.Disks) > 0 {
		t.Fatalf("%+v", all)
	}
	if w := all[0].Wish; w.Object != "x" || w.Size != 1 || w.Place != workflow.PlaceOfRef(u.String(), named("x")) || !slices.Equal(w.Disks, saved.Disks) {
		t.Errorf("%+v", w)
	}
	if all := s.Namings("z"); len(all) > 0 {
		t.Errorf("nobody names it: %+v", all)
	}
	read := func(ids ...phalanx.ObjectID) func(phalanx.ObjectID) bool {
		return func(id phalanx.ObjectID) bool { return slices.Contains(ids, id) }
	}
	if s.Whole(4, read("x")) || !s.Whole(4, read("x", "y")) || !s.Whole(5, read("x")) || s.Whole(5, read()) || !s.Whole(6, read()) {
		t.Error("a node has an input whole if it has read all that it names")
	}
}

// A disk writes all that an output names before the output itself, the same bytes once, and nothing that it has of the run.
func TestWritings(t *testing.T) {
	u := core.UID{Ledger: 1, Epoch: 2, Index: 3}
	b := workflow.NewBelongings()
	e := core.SaveBlob{Blob: core.Blob{Run: u, Task: 4}, Output: core.Output{Size: 9}}
	places := func(e core.SaveBlob, refs ...workflow.Ref) (all []string) {
		for _, w := range b.Writings(e, refs) {
			all = append(all, fmt.Sprint(w.Object, w.Size))
			b.Blob(w.Place, e.Result)
		}
		return all
	}
	same := named("x")
	same.Object = "wx"
	if got := places(e, named("x"), same, named("yy")); !slices.Equal(got, []string{"x1", "yy2", string(workflow.OutputID(e.Blob, false)) + "9"}) {
		t.Errorf("%q", got)
	}
	e.Blob.Task, e.Result = 5, true
	if got := places(e, named("x")); len(got) != 1 {
		t.Errorf("the disk has x: %q", got)
	}
	e.Blob.Task, e.Result = 6, false
	places(e, named("x"))
	if _, gone := b.Free([]core.Released{{Run: u}}); slices.Contains(gone, workflow.PlaceOfRef(u.String(), named("x"))) || len(gone) != 3 {
		t.Errorf("a result names x: %q", gone)
	}
}

// The objects that a caller has passed to a run are not deleted with it.
func TestObjectsOfACaller(t *testing.T) {
	u := core.UID{Ledger: 1, Epoch: 2, Index: 3}
	b := workflow.NewBelongings()
	b.Object(u.String(), "mine", false)
	b.Object(u.String(), phalanx.ObjectID("wf/"+u.String()+"/1/0/x"), false)
	if gone, _ := b.Free([]core.Released{{Run: u, Results: true}}); len(gone) != 1 || gone[0] == "mine" {
		t.Errorf("%q", gone)
	}
}

// A deterministic task that is made again puts the same bytes under the same id, whatever its generation is.
func TestNamedID(t *testing.T) {
	id := func(gen uint32, number uint64, det bool, digest byte) phalanx.ObjectID {
		return workflow.NamedID("r", "4", gen, core.Attempt{Epoch: 1, Number: number}, det, phalanx.Digest{digest}, "x")
	}
	if id(0, 1, true, 1) != id(1, 2, true, 1) || id(0, 1, true, 1) == id(0, 1, true, 2) || id(0, 1, false, 1) == id(0, 2, false, 1) {
		t.Error(id(0, 1, true, 1), id(1, 2, true, 1), id(0, 1, true, 2), id(0, 1, false, 1), id(0, 2, false, 1))
	}
}
