package store

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// open is a directory with two owners that keeps the requests to them.
type open struct {
	mute
	asked map[phalanx.NodeID][]asked
}

func (o open) Owner(id phalanx.ObjectID) phalanx.NodeID {
	return phalanx.NodeID(fmt.Sprint("owner", id[len(id)-1]%2))
}

func (o open) Request(id phalanx.ObjectID, _ uint64, body directory.Body, deliver func(phalanx.NodeID, directory.Result)) {
	owner := o.Owner(id)
	o.asked[owner] = append(o.asked[owner], asked{id, body, deliver})
}

// A node with very many copies asks each owner about some at a time. One that does not
// answer holds up only itself.
func TestConfirmAsksInPortions(t *testing.T) {
	const n = 4 * confirmsAtOnce
	table := NewTable(dataplane.NewBudget(64 << 20))
	for i := range n {
		small(t, table, phalanx.ObjectID(fmt.Sprintf("o%d", i)), 30, false)
	}
	d := open{asked: map[phalanx.NodeID][]asked{}}
	e := &Env{Self: "me", Table: table, Directory: d}
	all := map[phalanx.NodeID]int{}
	for _, h := range table.Everything() {
		all[d.Owner(h.Object)]++
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	e.Confirm(ended) // the node asks the other questions later
	if a, b := len(d.asked["owner0"]), len(d.asked["owner1"]); a != confirmsAtOnce || b != confirmsAtOnce {
		t.Errorf("%d and %d were asked at once", a, b)
	}
	for i := 0; i < len(d.asked["owner1"]); i++ {
		h := d.asked["owner1"][i]
		h.deliver("owner1", directory.Result{State: directory.Finished, Gen: first})
	}
	if a, b := len(d.asked["owner0"]), len(d.asked["owner1"]); a != confirmsAtOnce || b != all["owner1"] {
		t.Errorf("%d and %d of %v were asked, after one of them has answered", a, b, all)
	}
}

// A copy that is evicted before its owner is asked about it is not announced after that:
// the owner would list it, and let another node evict the last one.
func TestConfirmDoesNotAnnounceWhatIsGone(t *testing.T) {
	table := NewTable(dataplane.NewBudget(64 << 20))
	copies := map[phalanx.ObjectID]*objectCopy{}
	for i := range 3 * confirmsAtOnce {
		id := phalanx.ObjectID(fmt.Sprintf("o%d0", i)) // all of owner0
		copies[id] = small(t, table, id, 30, false)
	}
	d := open{asked: map[phalanx.NodeID][]asked{}}
	e := &Env{Self: "me", Table: table, Directory: d}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e.Confirm(ctx)
	before := map[phalanx.ObjectID]bool{}
	for _, a := range d.asked["owner0"] {
		before[a.id] = true
	}
	for id, c := range copies {
		if !before[id] && !table.evict(c, errors.New("evicted")) {
			t.Fatal("it is not evicted")
		}
	}
	for i := 0; i < len(d.asked["owner0"]); i++ {
		d.asked["owner0"][i].deliver("owner0", directory.Result{State: directory.Finished, Gen: first})
	}
	for _, a := range d.asked["owner0"] {
		if table.lookup(a.id) == nil {
			t.Fatalf("%s was evicted, and is announced after that", a.id)
		}
	}
}
