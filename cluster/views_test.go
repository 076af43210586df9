package cluster_test

import (
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/protocol/view"
)

func TestWhyAShardMoved(t *testing.T) {
	a, leaving := view.Member{ID: "a"}, view.Member{ID: "a", Leaving: true}
	for want, c := range map[string]struct{ old, new []view.Member }{
		"its owner is down":                        {[]view.Member{a}, nil},
		"its owner has left":                       {[]view.Member{leaving}, nil},
		"its owner leaves":                         {[]view.Member{a}, []view.Member{leaving}},
		"the shards are spread over other members": {[]view.Member{a}, []view.Member{a, {ID: "b"}}},
	} {
		if got := cluster.WhyMoved("a", view.View{Members: c.old}, view.View{Members: c.new}); got != want {
			t.Errorf("from %v to %v: %q, want %q", c.old, c.new, got, want)
		}
	}
}

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
