package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
)

var all = []struct {
	event actors.Event
	line  string
}{
	{actors.NodeJoined{Node: "b#1", View: 2}, "node b#1 joined (view 2)"},
	{actors.NodeLeft{Node: "b#1", View: 3}, "node b#1 left (view 3)"},
	{actors.NodeSuspected{Node: "b#1", Cause: "silence", Silent: 501234567}, "node b#1 is suspected: silence for 501.23ms"},
	{actors.NodeSuspected{Node: "b#1", Cause: "connection reset"}, "node b#1 is suspected: connection reset"},
	{actors.NodeDown{Node: "b#1", View: 4, Cause: "refused", Took: 1234 * time.Millisecond}, "node b#1 is down (view 4) after 1.23s: refused"},
	{actors.SenderLost{Object: "w", Generation: phalanx.Generation{Epoch: 1, Seq: 2}, Sender: "b#1", Offset: 7, Cause: "reset"}, `transfer of "w" from node b#1 broke at byte 7: reset`},
	{actors.TransferResumed{Object: "w", Sender: "c#1", Offset: 7, Took: 1500 * time.Microsecond}, `transfer of "w" goes on from node c#1 at byte 7 after 1.5ms`},
	{actors.ObjectReplaced{Object: "w", Old: phalanx.Generation{Epoch: 1, Seq: 2}, Generation: phalanx.Generation{Epoch: 1, Seq: 3}},
		`object "w" was lost and is replaced, generation 1.2 by 1.3`},
	{actors.ObjectLost{Object: "w", Generation: phalanx.Generation{Epoch: 1, Seq: 2}}, `object "w" is lost, generation 1.2 has no complete copy`},
	{actors.ReduceStarted{Target: "s", Sources: 10, Num: 6, Degree: 2}, `reduce "s" started: 6 of 10 sources, degree 2`},
	{actors.ReduceCompleted{Target: "s", Num: 6, Replaced: 1, Took: 900 * time.Microsecond}, `reduce "s" completed from 6 sources, 1 places replaced after 900µs`},
	{actors.PlaceLost{Target: "s", Place: 2, Node: "b#1", Source: "x", Cause: "down"}, `reduce "s" lost place 2 with "x" on node b#1: down`},
	{actors.PlaceReplaced{Target: "s", Place: 2, Node: "c#1", Source: "y"}, `reduce "s" has place 2 again, with "y" on node c#1`},
	{actors.AncestorsCleared{Target: "s", Cleared: []int{0, 1}, Cause: "place 3 was lost"}, `reduce "s" cleared places [0 1], which make their results again: place 3 was lost`},
	{actors.NodeTrusted{Node: "n#1"}, `node n#1 answers again`},
	{actors.NodeFenced{Node: "n#1", View: 7}, `node n#1 is no member of the cluster any more (view 7)`},
	{actors.NodeRejoined{Node: "n#2", Was: "n#1", Took: 1_500_000}, `node n#1 is back as n#2 after 1.5ms`},
	{actors.MajorityLost{View: 7, Voters: []phalanx.NodeID{"a#1", "b#1", "c#1"}, Missing: []phalanx.NodeID{"a#1", "c#1"}}, "the majority of the voters is lost (view 7): this node does not hear of a#1, c#1, 2 of 3"},
	{actors.MajorityLost{View: 7, Voters: []phalanx.NodeID{"a#1", "b#1", "c#1"}}, "the majority of the voters is lost (view 7): the 3 of them do not agree, although they answer"},
	{actors.MajorityLost{View: 7, Voters: []phalanx.NodeID{"a#1", "b#1", "c#1"}, Missing: []phalanx.NodeID{"a#1"}}, "the majority of the voters is lost (view 7): this node does not hear of a#1, 1 of 3, and the others do not agree"},
	{actors.ViewFormed{View: 1<<42 | 5<<32 | 7, By: "c#1", Missing: []phalanx.NodeID{"a#1", "b#1"}, LostShards: 3}, "node c#1 has formed the cluster anew (view 7 of form 1-5) without a#1, b#1; 3 shards of the directory are lost"},
	{actors.MajorityFound{View: 7, Took: 1234 * time.Millisecond}, "the majority of the voters is found (view 7) after 1.23s"},
	{actors.ShardMoved{Shard: 3, Epoch: 5, From: "a#1", To: "b#1"}, "shard 3 moved from node a#1 to node b#1 (epoch 5)"},
	{actors.ShardMoved{Shard: 3, Epoch: 1, To: "b#1"}, "shard 3 is owned by node b#1 (epoch 1)"},
	{actors.ShardLost{Shard: 3, Epoch: 6, Owner: "c#1"}, "shard 3 lost owner and backup, node c#1 rebuilds it (epoch 6)"},
	{actors.ShardWarm{Shard: 3, Epoch: 6, Took: time.Millisecond}, "shard 3 is warm (epoch 6) after 1ms"},
	{actors.MessageUnsendable{To: "b#1", Message: "directory.Reply", Cause: "it has 7 bytes"}, "a message directory.Reply for b#1 cannot be sent: it has 7 bytes"},
	{actors.ActorRestarted{Actor: "store", Cause: "oops", Took: 10 * time.Millisecond}, "actor store restarted after 10ms: oops"},
	{actors.ActorStopped{Actor: "place", Cause: "oops"}, "actor place stopped: oops"},
	{actors.EventsLost{N: 3}, "3 events were lost, the reader was too slow"},
}

func TestEventsReadAndTravel(t *testing.T) {
	for _, c := range all {
		if got := c.event.String(); got != c.line {
			t.Errorf("%s: %q, want %q", c.event.Kind(), got, c.line)
		}
		data, err := json.Marshal(c.event)
		if err != nil {
			t.Fatal(err)
		}
		back, err := actors.Decode(c.event.Kind(), data)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := json.Marshal(back); string(again) != string(data) || back.String() != c.line {
			t.Errorf("%s: decoded as %s, want %s", c.event.Kind(), again, data)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for kind, data := range map[string]string{"Birthday": "{}", "EventsLost": `{"n":"three"}`} {
		if _, err := actors.Decode(kind, []byte(data)); !errors.Is(err, phalanx.ErrInvalid) || !strings.Contains(err.Error(), kind) {
			t.Errorf("%s %s: %v, want invalid, with the kind", kind, data, err)
		}
	}
}

func TestBridgeKeepsOrderForEveryReader(t *testing.T) {
	sys := actors.NewSystem("a", quiet())
	b := actors.NewBridge(sys)
	defer b.Close()
	one, two := b.Subscribe(t.Context(), 10), b.Subscribe(t.Context(), 10)
	for n := range uint64(5) {
		sys.EventStream.Publish(actors.NodeJoined{View: n})
		sys.EventStream.Publish("not an event")
	}
	for n := range uint64(5) {
		for _, from := range []<-chan actors.Event{one, two} {
			if got := <-from; got != (actors.NodeJoined{View: n}) {
				t.Errorf("got %v, want view %d", got, n)
			}
		}
	}
}

func TestSlowReaderIsToldWhatItMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := actors.NewBridge(actors.NewSystem("a", quiet()))
		events := b.Subscribe(t.Context(), 2)
		b.Publish(actors.NodeJoined{View: 1})
		synctest.Wait() // it is offered now
		for n := uint64(2); n <= 7; n++ {
			b.Publish(actors.NodeJoined{View: n})
		}
		for _, want := range []actors.Event{
			actors.NodeJoined{View: 1}, actors.EventsLost{N: 4}, actors.NodeJoined{View: 6}, actors.NodeJoined{View: 7},
		} {
			if got := <-events; got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		}
		b.Close()
	})
}

func TestSubscriptionsEnd(t *testing.T) {
	b := actors.NewBridge(actors.NewSystem("a", quiet()))
	ctx, cancel := context.WithCancel(t.Context())
	gone, kept := b.Subscribe(ctx, 1), b.Subscribe(t.Context(), 1)
	cancel()
	if e, ok := <-gone; ok {
		t.Errorf("got %v after the context ended", e)
	}
	b.Publish(actors.EventsLost{})
	if _, ok := <-kept; !ok {
		t.Error("the other subscription ended too")
	}
	b.Close()
	b.Close()
	if e, ok := <-kept; ok {
		t.Errorf("got %v after the bridge was closed", e)
	}
	if e, ok := <-b.Subscribe(t.Context(), 1); ok {
		t.Errorf("got %v from a bridge that was closed before", e)
	}
}

func TestPanicsArriveAsEvents(t *testing.T) {
	sys := actors.NewSystem("a", quiet())
	b := actors.NewBridge(sys)
	defer b.Close()
	events := b.Subscribe(t.Context(), 10)
	saw := make(chan any, 10)
	long, short := spawn(sys, actors.Restarting(quiet()), saw), spawn(sys, actors.StopOnPanic(quiet()), saw)
	sys.Root.Send(long, "oops")
	if got, want := <-events, (actors.ActorRestarted{Actor: long.Id, Cause: "oops", Took: 10 * time.Millisecond}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	sys.Root.Send(short, "ouch")
	if got, want := <-events, (actors.ActorStopped{Actor: short.Id, Cause: "ouch"}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	<-saw // the restart
	<-saw // the stop
	_ = sys.Root.StopFuture(long).Wait()
}

func TestChildrenEscalateToTheirParent(t *testing.T) {
	sys := actors.NewSystem("a", quiet())
	b := actors.NewBridge(sys)
	defer b.Close()
	events := b.Subscribe(t.Context(), 10)
	up := actors.Restarting(quiet())
	up.Decide = func(any) actor.Directive { return actor.EscalateDirective }
	stopped := make(chan bool, 1)
	parent := func(c actor.Context) {
		switch c.Message().(type) {
		case *actor.Started:
			child := c.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				if m, ok := c.Message().(string); ok {
					panic(m)
				}
			}))
			c.Send(child, "oops")
		case *actor.Stopped:
			stopped <- true
		}
	}
	pid := sys.Root.Spawn(actor.PropsFromFunc(parent, actor.WithGuardian(actors.StopOnPanic(quiet())), actor.WithSupervisor(up)))
	if got, want := <-events, (actors.ActorStopped{Actor: pid.Id, Cause: "oops"}); got != want {
		t.Errorf("got %v, want only %v", got, want)
	}
	<-stopped
}
