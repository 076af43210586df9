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

// An object is asked for once, whichever inputs name it, with the disks of all, and without one none of these inputs is whole.
func TestSourcesOfAnObject(t *testing.T) {
	u := core.UID{Ledger: 1, Epoch: 2, Index: 3}
	s := workflow.NewSources(u)
	saved := core.Located{Task: 4, Gen: 1, Made: core.Attempt{Epoch: 2, Number: 7}, Disks: []string{"d", "e"}}
	off := core.Located{Task: 5, Output: core.Output{Bytes: []byte("b")}}
	other := core.Located{Task: 6, Disks: []string{"c", "d"}}
	s.Add(saved, []workflow.Ref{named("x"), named("y")})
	s.Add(off, []workflow.Ref{named("x"), named("x")})
	s.Add(off, []workflow.Ref{named("x")})
	s.Add(other, []workflow.Ref{named("x")})
	n, is := s.Naming("x")
	blobs := func(all ...core.Located) (of []core.Blob) {
		for _, l := range all {
			of = append(of, workflow.BlobOf(u, l))
		}
		return of
	}
	if !is || !slices.Equal(n.In, blobs(saved, off, other)) || !slices.Equal(n.Saved, blobs(saved, other)) {
		t.Fatalf("%+v", n)
	}
	if w := n.Wish; w.Object != "x" || w.Size != 1 || w.Place != workflow.PlaceOfRef(u.String(), named("x")) || !slices.Equal(w.Disks, []string{"c", "d", "e"}) {
		t.Errorf("%+v", w)
	}
	if n, is := s.Naming("z"); is {
		t.Errorf("nobody names it: %+v", n)
	}
	partly := func(want []int, ids ...phalanx.ObjectID) {
		t.Helper()
		if got := s.Partly(func(id phalanx.ObjectID) bool { return slices.Contains(ids, id) }); !slices.Equal(got, want) {
			t.Errorf("a node has an input whole if it has read all that it names: of %q it lacks parts of %v, want %v", ids, got, want)
		}
	}
	partly([]int{4}, "x")
	partly(nil, "x", "y")
	partly([]int{4, 5, 6})
}

// An object of a constant is asked for with the disks of inputs that name it, and without one of whichever disk has it: no input is missing.
func TestSourcesOfAConstant(t *testing.T) {
	u := core.UID{Ledger: 1, Epoch: 2, Index: 3}
	s := workflow.NewSources(u)
	s.Add(core.Located{Task: 4, Disks: []string{"d"}}, []workflow.Ref{named("x")})
	s.Given([]workflow.Ref{named("x"), named("y")})
	if n, is := s.Naming("x"); !is || len(n.In) != 1 || !slices.Equal(n.Wish.Disks, []string{"d"}) {
		t.Errorf("%+v", n)
	}
	if n, is := s.Naming("y"); !is || n.In != nil || n.Wish.Disks != nil || n.Wish.Place != workflow.PlaceOfRef(u.String(), named("y")) {
		t.Errorf("%+v, %v", n, is)
	}
	if tasks := s.Partly(func(id phalanx.ObjectID) bool { return id == "x" }); tasks != nil {
		t.Errorf("inputs %v lack a constant", tasks)
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
