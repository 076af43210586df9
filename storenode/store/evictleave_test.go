package store

import (
	"context"
	"fmt"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// The node asks for leave to evict a copy and then announces it: the owner lists the copy again,
// and hears that it is gone. After an earlier announcement the owner has forgotten the copy.
func TestTheLeaveOfACopyThatWasAnnounced(t *testing.T) {
	for _, after := range []bool{false, true} {
		g, pool, table := evicting(t, 3*one+spare)
		c := small(t, table, "o0", 30, false)
		c.again.Store(true)
		table.budget.Force(2 * one)
		ended := wait(pool, one)
		a := <-g.asked
		if after {
			c.again.Store(true)
		}
		_ = g.env.addPut("o0", actor.NewPID("", "put"), false)
		a.deliver("owner", directory.Result{})
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		g.handled()
		var told []asked
		for len(g.asked) > 0 {
			told = append(told, <-g.asked)
		}
		if len(told) > 0 != after || after && told[0].body != (directory.Drop{Gen: first}) {
			t.Errorf("announced after: %v: it told %+v", after, told)
		}
		if got := g.env.meanwhile("o0").Unlisted; got != after {
			t.Errorf("announced after: %v: a Put that enters its copy later announces it: %v", after, got)
		}
	}
}

// Leave that comes when no reservation waits any more is given back: the missing bytes at the
// time of the answer count, not those at the evictor's last look.
func TestAGrantIsGivenBackOnceNobodyWaits(t *testing.T) {
	for name, ends := range map[string]func(table *Table, leave func()){
		"who waits leaves":    func(_ *Table, leave func()) { leave() },
		"there is room since": func(table *Table, _ func()) { table.budget.Release(one) },
	} {
		t.Run(name, func(t *testing.T) {
			g, pool, table := evicting(t, 4*one)
			table.budget.Force(one) // of a caller that gives it back
			for i := range 3 {
				small(t, table, phalanx.ObjectID(fmt.Sprint("o", i)), 30, false)
			}
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			ended := make(chan error, 1)
			go func() { ended <- pool.Budget().Reserve(ctx, one) }()
			for i := range 3 { // after that only the missing bytes count
				g.answer(t, phalanx.ObjectID(fmt.Sprint("o", i)), phalanx.ErrUnavailable)
			}
			a := <-g.asked
			ends(table, leave)
			<-ended
			a.deliver("owner", directory.Result{})
			g.handled()
			if table.lookup("o0") == nil {
				t.Fatal("a copy was dropped for nobody")
			}
			g.announced(t, "o0")
		})
	}
}
