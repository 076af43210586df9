package cluster_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// refusal returns the error of an answer of the store.
func refusal(t *testing.T, answer any) error {
	t.Helper()
	switch a := answer.(type) {
	case *storenode.PutDone:
		return a.Err
	case *storenode.Got:
		return a.Err
	case *storenode.Opened:
		return a.Err
	case *storenode.Deleted:
		return a.Err
	case *storenode.Stated:
		return a.Err
	case *storenode.Prefetched:
		return a.Err
	case *storenode.Reduced:
		return a.Err
	case *storenode.Gathered:
		return a.Err
	case *storenode.AllReduced:
		return a.Err
	}
	t.Errorf("the answer is a %T", answer)
	return nil
}

// Every message to the store of a node that was removed is answered as the call is.
func TestMessagesToARemovedNode(t *testing.T) {
	nodes := start(t, 3, silent)
	n := nodes[2]
	put(t, n, "x", random(1000, 1))
	answers := make(chan any, 1)
	ask, err := n.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case []any:
			c.Request(n.Store(), m[0])
		case actor.SystemMessage, actor.AutoReceiveMessage:
		default:
			answers <- m
		}
	}), "")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan bool, 1)
	within := &storenode.Within{Context: context.Background(), Request: &storenode.Get{Object: "x"}, Over: func() { over <- true }}
	for _, m := range []any{&storenode.Put{Object: "y"}, &storenode.Get{Object: "x"}, &storenode.Open{Object: "x"}, &storenode.Delete{Object: "x"},
		&storenode.Stat{Object: "x"}, &storenode.Prefetch{Object: "x"}, &storenode.Reduce{Target: "z", Sources: []phalanx.ObjectID{"x"}},
		&storenode.Gather{Sources: []phalanx.ObjectID{"x"}}, &storenode.AllReduce{Target: "z", Sources: []phalanx.ObjectID{"x"}}, within} {
		was := n.ID()
		n.Fence()
		n.System().Root.Send(ask, []any{m})
		select {
		case a := <-answers:
			if err := refusal(t, a); !errors.Is(err, phalanx.ErrFenced) {
				t.Errorf("%T: %v", m, err)
			}
		case <-time.After(time.Minute):
			t.Errorf("a %T is not answered", m)
		}
		eventually(t, "it is back", func() bool { return n.ID() != was })
	}
	<-over
}

// What was deleted since a node was removed is not read on it any more, not by its
// actors either.
func TestActorsDoNotReadWhatWasDeleted(t *testing.T) {
	for range 3 {
		nodes := start(t, 5, silent)
		steady(t, nodes)
		ctx := within(t)
		n := nodes[4]
		put(t, n, "x", random(200_000, 1))
		call, _ := spawnAsker(t, n)
		was := n.ID()
		n.Fence()
		if err := nodes[0].Delete(ctx, "x"); err != nil {
			t.Fatal(err)
		}
		for back := false; !back; {
			back = n.ID() != was
			answer := call(&storenode.Get{Object: "x", NoWait: true})
			got, ok := answer.(*storenode.Got)
			switch {
			case !ok:
				t.Fatalf("it was answered with a %T", answer)
			case got.Err == nil && n.ID() == was: // once it is back it may, where an owner was silent as it asked
				t.Fatal("it read what was deleted")
			case got.Err == nil:
				got.View.Release()
			case !errors.Is(got.Err, phalanx.ErrFenced) && !errors.Is(got.Err, phalanx.ErrDeleted):
				t.Fatal(got.Err)
			}
		}
		leave(t, nodes)
	}
}

func leave(t *testing.T, nodes []*cluster.Node) {
	t.Helper()
	for _, n := range nodes {
		if err := n.Leave(within(t)); err != nil {
			t.Error(err)
		}
	}
}
