package cluster_test

import (
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Who watches an actor on a node that is removed hears of it, also if this node has
// not suspected that one: it may hang, and its connections stay.
func TestWhoIsRemovedIsNotWatched(t *testing.T) {
	nodes := start(t, 3)
	watched, err := nodes[1].Spawn(actor.PropsFromFunc(func(actor.Context) {}), "watched")
	if err != nil {
		t.Fatal(err)
	}
	watches, heard := make(chan struct{}), make(chan struct{})
	_, err = nodes[2].Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch c.Message().(type) {
		case *actor.Started:
			c.Watch(actor.NewPID(watched.Address, watched.Id))
			close(watches)
		case *actor.Terminated:
			close(heard)
		}
	}), "watcher")
	if err != nil {
		t.Fatal(err)
	}
	<-watches
	nodes[2].Part(nodes[1].ID())
	select {
	case <-heard:
	case <-time.After(time.Minute):
		t.Error("it has not heard that the node was removed")
	}
}
