package store

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// A caller that stops waiting for a copy leaves nothing behind, and a caller that waits on
// still hears of the copy.
func TestArrivedIsLeft(t *testing.T) {
	pool := dataplane.NewPool(dataplane.NewBudget(1 << 20))
	table := NewTable(pool.Budget())
	defer table.Close(errOver)
	_, leave := table.arrived("never")
	again, stay := table.arrived("never")
	leave()
	if len(table.arrival) != 1 {
		t.Errorf("%d objects are waited for, not 1", len(table.arrival))
	}
	stay()
	if len(table.arrival) != 0 {
		t.Errorf("the table keeps %d objects, and no caller waits", len(table.arrival))
	}

	shown, leave := table.arrived("o")
	small(t, table, "o", 10, false)
	next, stay := table.arrived("o")
	leave() // of the earlier wait: the later one goes on
	if len(table.arrival) != 1 {
		t.Error("the table has forgotten the later caller")
	}
	select {
	case <-shown:
	default:
		t.Error("the earlier caller has not heard of the copy")
	}
	for what, c := range map[string]<-chan struct{}{"a copy that never came": again, "a second copy": next} {
		select {
		case <-c:
			t.Errorf("%s is told of", what)
		default:
		}
	}
	stay()
}

// Streams of objects that are here keep nothing of them in the table.
func TestStreamsKeepNoArrivals(t *testing.T) {
	pool := dataplane.NewPool(dataplane.NewBudget(1 << 20))
	env := &Env{Now: func() time.Duration { return 0 }, Table: NewTable(pool.Budget()), Fanout: 1}
	arriving(t, pool, env.Table, "o", first, 1000)
	c, turn := env.turn(dataplane.Request{Object: "o", Generation: first}, nil)
	if turn != copies.Streams {
		t.Fatal("it is not found")
	}
	env.Table.served(c)
	env.Table.Close(errOver)
	if n := len(env.Table.arrival); n != 0 {
		t.Errorf("%d objects are waited for", n)
	}
}
