package barrier_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/barrier/message"
)

// A barrier that is removed ends for those who wait in it, and the next one begins anew.
func TestRemove(t *testing.T) {
	nodes := start(t, 3)
	cfg := barrier.Config{Max: 3}
	out := enter(t, within(t), nodes, "train", cfg, "a", "b")
	eventually(t, "two have entered", func() bool {
		all, err := barrier.List(within(t), nodes[2])
		return err == nil && entered(all, "train") == 2
	})
	seen := make(chan actors.BarrierRemoved, 3)
	for _, n := range nodes {
		n.System().EventStream.Subscribe(func(e any) {
			if r, ok := e.(actors.BarrierRemoved); ok {
				seen <- r
			}
		})
	}
	if err := join(t, nodes[2], "train").Remove(within(t)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		o := <-out
		is(t, o.err, phalanx.ErrDeleted)
		is(t, o.err, barrier.ErrRemoved)
	}
	if r := <-seen; r.Barrier != "train" || r.Entered != 2 {
		t.Errorf("%+v", r)
	}
	passed(t, enter(t, within(t), nodes, "train", barrier.Config{Max: 2}, "a", "c"), 2)
	if err := open(t, nodes[0], "train", cfg).Remove(within(t)); err != nil {
		t.Error(err)
	}
	is(t, open(t, nodes[0], "nobody's", cfg).Remove(within(t)), phalanx.ErrNotFound)
}

// Those who have passed a double barrier leave it together.
func TestDouble(t *testing.T) {
	nodes := start(t, 3)
	cfg := barrier.Config{Max: 3, Double: true}
	passed(t, enter(t, within(t), nodes, "phase", cfg, "a", "b", "c"), 3)
	soon, cancel := context.WithTimeout(context.Background(), 100*ms)
	defer cancel()
	err := open(t, nodes[0], "phase", cfg).Leave(soon, barrier.Entry{Host: "a"})
	var inside *barrier.InsideError
	if is(t, err, phalanx.ErrDeadline); !errors.As(err, &inside) || len(inside.Inside) != 2 {
		t.Errorf("%v", err)
	}
	left := make(chan error, 2)
	go func() { left <- join(t, nodes[1], "phase").Leave(within(t), barrier.Entry{Host: "b"}) }()
	err = open(t, nodes[2], "phase", cfg).Leave(within(t), barrier.Entry{Host: "nobody"})
	is(t, err, barrier.ErrOutside)
	select {
	case err := <-left:
		t.Errorf("b does not wait for c: %v", err)
	default:
	}
	if err := open(t, nodes[2], "phase", cfg).Leave(within(t), barrier.Entry{Host: "c"}); err != nil {
		t.Error(err)
	}
	if err := <-left; err != nil {
		t.Error(err)
	}
	field(t, open(t, nodes[0], "single", barrier.Config{Max: 1}).Leave(within(t), barrier.Entry{}), "Double")
}

// A node that dies inside a double barrier does not hold up those who leave.
func TestDoubleWithoutANode(t *testing.T) {
	nodes := start(t, 4)
	cfg := barrier.Config{Max: 4, Double: true}
	passed(t, enter(t, within(t), nodes, "phase", cfg, names(4)...), 4)
	left := make(chan error, 3)
	for i := range 3 {
		go func() { left <- open(t, nodes[i], "phase", cfg).Leave(within(t), barrier.Entry{Host: names(4)[i]}) }()
	}
	nodes[3].Close()
	for range 3 {
		if err := <-left; err != nil {
			t.Error(err)
		}
	}
}

// Actors leave a double barrier, and remove one, by messages.
func TestLeaveAndRemoveByMessages(t *testing.T) {
	n := start(t, 1)[0]
	pid, _ := n.Service(barrier.Name)
	ask := func(m any) any {
		t.Helper()
		r, err := n.System().Root.RequestFuture(pid, m, 10*time.Second).Result()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	cfg := barrier.Config{Max: 1, Double: true}
	if e, ok := ask(&message.Enter{Name: "phase", Config: cfg}).(*message.Entered); !ok || e.Err != nil {
		t.Fatalf("%+v", e)
	}
	if l, ok := ask(&message.Leave{Name: "phase"}).(*message.Left); !ok || l.Err != nil {
		t.Errorf("%+v", l)
	}
	if r, ok := ask(&message.Remove{Name: "phase"}).(*message.Removed); !ok || r.Err != nil {
		t.Errorf("%+v", r)
	}
	waits := make(chan *message.Entered, 1)
	n.System().Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case *actor.Started:
			c.Request(pid, &message.Enter{Name: "phase", Config: barrier.Config{Max: 2}})
		case *message.Entered:
			waits <- m
		}
	}))
	eventually(t, "it has entered", func() bool {
		all, err := barrier.List(within(t), n)
		return err == nil && entered(all, "phase") == 1
	})
	ask(&message.Remove{Name: "phase"})
	is(t, (<-waits).Err, barrier.ErrRemoved)
}
