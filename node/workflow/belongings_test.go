package workflow_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// A node drops what it has of a run that has ended, but for what the run ends with, and the rest once the run is forgotten.
func TestBelongings(t *testing.T) {
	u, other := core.UID{Ledger: 1, Epoch: 2, Index: 3}, core.UID{Ledger: 1, Epoch: 2, Index: 4}
	blob := func(u core.UID, task int) core.Blob {
		return core.Blob{Run: u, Task: task, Gen: 1, Made: core.Attempt{Epoch: 2, Number: uint64(task)}}
	}
	b := workflow.NewBelongings()
	run := u.String()
	for task := range 4 {
		b.Object(run, workflow.OutputID(blob(u, task), false), task == 3)
	}
	b.Object(run, workflow.OutputID(blob(u, 3), false), false) // it stays one with which the run ends
	b.Blob(workflow.PlaceOf(blob(u, 0)), false)
	b.Blob(workflow.PlaceOf(blob(u, 3)), true)
	b.Blob(workflow.PlaceOf(blob(other, 0)), false)
	for task := range 2 { // nothing is known of the second one: the run may end with it
		b.Found(workflow.PlaceOf(blob(u, task)))
	}
	if got := b.Runs(); !slices.Equal(got, []core.UID{u, other}) {
		t.Errorf("there is something of %v", got)
	}
	spare := workflow.Prefix(run, "2", 1, core.Attempt{Epoch: 2, Number: 2}, false)
	for _, want := range []struct {
		results bool
		objects []int
		places  []int
	}{{false, []int{0, 1}, []int{0}}, {false, nil, nil}, {true, []int{2, 3}, []int{1, 3}}} {
		objects, places := b.Free([]core.Released{{Run: u, Results: want.results, Spares: []string{spare}}})
		var ids []phalanx.ObjectID
		var at []string
		for _, task := range want.objects {
			ids = append(ids, workflow.OutputID(blob(u, task), false))
		}
		for _, task := range want.places {
			at = append(at, workflow.PlaceOf(blob(u, task)))
		}
		if !slices.Equal(objects, ids) || !slices.Equal(places, at) {
			t.Errorf("of the run, with its results: %v, %v and %v are dropped, not %v and %v", want.results, objects, places, ids, at)
		}
	}
	if got := b.Runs(); !slices.Equal(got, []core.UID{other}) {
		t.Errorf("afterwards there is something of %v", got)
	}
}

// The place of a checkpoint says which one it is; other names are those of none.
func TestBlobAt(t *testing.T) {
	b := core.Blob{Run: core.UID{Ledger: 7, Epoch: 1 << 40, Index: 3}, Task: 12, Gen: 2, Made: core.Attempt{Epoch: 1 << 40, Number: 1<<33 + 1}}
	if got, is := workflow.BlobAt(workflow.PlaceOf(b)); !is || got != b {
		t.Errorf("%+v, %v, want %+v", got, is, b)
	}
	good := workflow.PlaceOf(b)
	for _, place := range []string{"", "wf", good + "/", good[1:], "x" + good, strings.Replace(good, "/12/", "/+12/", 1), strings.Replace(good, "/12/", "/99999999999999999999/", 1), strings.Replace(good, "/2/", "/4294967298/", 1)} {
		if got, is := workflow.BlobAt(place); is {
			t.Errorf("%q is that of %+v", place, got)
		}
	}
}

// A node says whether it has something of a run, until what it has was deleted.
func TestBelongingsOfARun(t *testing.T) {
	b := workflow.NewBelongings()
	u := core.UID{Ledger: 1, Epoch: 2, Index: 3}
	one, two := phalanx.ObjectID("wf/"+u.String()+"/0/one"), phalanx.ObjectID("wf/"+u.String()+"/0/two")
	b.Object(u.String(), one, false)
	b.Object(u.String(), two, false)
	if b.NoObject(one); !b.Of(u) || len(b.Runs()) != 1 {
		t.Error("an object is left")
	}
	if b.NoObject(two); b.Of(u) || b.Runs() != nil {
		t.Error("no object is left")
	}
	if b.Blob("wf/"+u.String()+"/0/place", false); !b.Of(u) {
		t.Error("a checkpoint is there")
	}
}
