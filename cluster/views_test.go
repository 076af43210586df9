package cluster_test

import (
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/emptypb"
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
	nodes[2].Part(nodes[1].ID(), false)
	select {
	case <-heard:
	case <-time.After(time.Minute):
		t.Error("it has not heard that the node was removed")
	}
}

// A node was removed, and its process has come back at the same address: a request to an actor there goes on.
func TestARequestToAProcessThatHasComeBack(t *testing.T) {
	nodes := start(t, 3)
	asked, answer := make(chan struct{}), make(chan struct{})
	pid, err := nodes[1].Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(*emptypb.Empty); ok {
			close(asked)
			<-answer
			c.Respond(&emptypb.Empty{})
		}
	}), "asked")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() {
		_, err := nodes[2].Request(within(t), actor.NewPID(pid.Address, pid.Id), &emptypb.Empty{})
		over <- err
	}()
	<-asked
	nodes[2].Part(nodes[1].ID(), true)
	close(answer)
	if err := <-over; err != nil {
		t.Error(err)
	}
}
