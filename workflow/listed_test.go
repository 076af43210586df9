package workflow

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/durable"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
	"github.com/phalanx-go/phalanx/workflow/internal/disk"
)

// many is a disk with so many checkpoints that it takes time to list them.
type many struct {
	durable.Store
	list chan struct{}
}

func (m many) List(f func(string, int64) bool) error {
	<-m.list
	return m.Store.List(f)
}

// An incarnation begins before the checkpoints on its disk are listed. Those of a run that is over by then are deleted after that.
func TestCheckpointsAreListedBesideTheActor(t *testing.T) {
	d, err := disk.Open(t.TempDir(), disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	over, goesOn := core.UID{Ledger: 1, Epoch: 2, Index: 3}, core.UID{Ledger: 1, Epoch: 2, Index: 4}
	for _, u := range []core.UID{over, goesOn} {
		if err := d.Put(flow.PlaceOf(core.Blob{Run: u}), bytes.NewReader([]byte("x")), 1, durable.DigestOf([]byte("x"))); err != nil {
			t.Fatal(err)
		}
	}
	m := many{d, make(chan struct{})}
	l := newIncarnation(&open{disk: m})
	l.free([]core.Released{{Run: over, Results: true}})
	close(m.list)
	l.wait.Wait()
	if runs := l.census(core.UID{}); len(runs) != 1 || runs[0] != goesOn {
		t.Errorf("the node has something of %v", runs)
	}
	if _, err := d.Open(flow.PlaceOf(core.Blob{Run: over})); !errors.Is(err, phalanx.ErrNotFound) {
		t.Errorf("the checkpoint of a run that is over: %v", err)
	}
	b, err := d.Open(flow.PlaceOf(core.Blob{Run: goesOn}))
	if err != nil {
		t.Fatal(err)
	}
	_ = b.Close()
}

// The Copier hears of no view before the checkpoints are listed: it would let the node leave with them.
func TestCopierWaitsForTheList(t *testing.T) {
	n := nodes(t, 1)[0]
	l := &incarnation{listed: make(chan struct{}), member: flow.NewMember(core.Offer{})}
	s := &service{node: n, open: &open{node: n, copier: flow.NewCopier(), life: l, caller: flow.NewCaller(), restorer: flow.NewRestorer()}}
	knows := func() bool { // it says what remains once it knows a view
		return slices.ContainsFunc(s.open.copier.Step(n.Now(), flow.Held{Places: []string{"x"}}), func(e flow.CopierEffect) bool {
			_, is := e.(flow.Remains)
			return is
		})
	}
	s.seeDisks(nil, flow.Disks{View: 3, Self: n.ID(), Leaving: true, Others: []phalanx.NodeID{"b"}})
	if knows() {
		t.Error("it knows the view, and not the checkpoints")
	}
	close(l.listed)
	s.open.copier.Step(n.Now(), s.open.disks)
	if !s.open.copier.Busy() {
		t.Error("it has nothing to hand over")
	}
}
