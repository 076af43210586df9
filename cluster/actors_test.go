package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/storenode"
)

// asker is an application actor: it sends what it is told to its node's store
// and passes the answers on.
type asker struct {
	node    *cluster.Node
	answers chan any
}

type ask struct{ message any }

func (a *asker) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case ask:
		c.Request(a.node.Store(), m.message)
	case string:
		panic(m)
	case *storenode.Got, *storenode.PutDone, *storenode.Deleted, *storenode.Opened, *storenode.Reduced, *storenode.Prefetched, *storenode.Stated:
		a.answers <- m
	}
}

// spawnAsker returns a function that sends a message and waits for its answer.
func spawnAsker(t *testing.T, n *cluster.Node) (func(any) any, *actor.PID) {
	t.Helper()
	answers := make(chan any, 16)
	pid, err := n.Spawn(actor.PropsFromProducer(func() actor.Actor { return &asker{n, answers} }), "")
	if err != nil {
		t.Fatal(err)
	}
	return func(m any) any {
		t.Helper()
		n.System().Root.Send(pid, ask{m})
		select {
		case a := <-answers:
			return a
		case <-time.After(20 * time.Second):
			t.Fatalf("a %T was not answered", m)
			return nil
		}
	}, pid
}

func TestActorsUseTheStore(t *testing.T) {
	nodes := start(t, 3)
	first, _ := spawnAsker(t, nodes[0])
	second, pid := spawnAsker(t, nodes[1])

	data := random(3<<20, 7)
	if d := first(&storenode.Put{Object: "a", Bytes: data}).(*storenode.PutDone); d.Err != nil {
		t.Fatal(d.Err)
	}
	got := second(&storenode.Get{Object: "a"}).(*storenode.Got)
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	if !bytes.Equal(got.View.Bytes(), data) {
		t.Error("the bytes differ")
	}
	if d := first(&storenode.Stat{Object: "a"}).(*storenode.Stated); d.Err != nil || len(d.Stat.Holders) != 2 {
		t.Errorf("stat: %+v", d)
	}
	if d := first(&storenode.Prefetch{Object: "a"}).(*storenode.Prefetched); d.Err != nil {
		t.Error(d.Err)
	}
	if v, err := nodes[2].TryGet(within(t), "a"); err != nil {
		t.Error(err)
	} else {
		v.Release()
	}
	o := second(&storenode.Open{Object: "a"}).(*storenode.Opened)
	if o.Err != nil {
		t.Fatal(o.Err)
	}
	var copied bytes.Buffer
	if _, err := o.Reader.WriteTo(&copied); err != nil || !bytes.Equal(copied.Bytes(), data) {
		t.Errorf("read %d bytes: %v", copied.Len(), err)
	}
	if err := o.Reader.Close(); err != nil {
		t.Error(err)
	}

	// A view that its actor did not release is released when the actor ends.
	if err := nodes[1].System().Root.StopFuture(pid).Wait(); err != nil {
		t.Fatal(err)
	}
	if d := first(&storenode.Delete{Object: "a"}).(*storenode.Deleted); d.Err != nil {
		t.Error(d.Err)
	}
	d := first(&storenode.Get{Object: "a"}).(*storenode.Got)
	if !errors.Is(d.Err, phalanx.ErrDeleted) {
		t.Errorf("a deleted object: %v", d.Err)
	}
	d = first(&storenode.Get{Object: "never", Deadline: 50 * time.Millisecond}).(*storenode.Got)
	if !errors.Is(d.Err, phalanx.ErrDeadline) || d.Err.Error() != `get "never": deadline: nobody has announced it` {
		t.Errorf("an object that is never put: %v", d.Err)
	}
	d = first(&storenode.Get{Object: "never", NoWait: true}).(*storenode.Got)
	if !errors.Is(d.Err, phalanx.ErrNotFound) {
		t.Errorf("an object that is not there: %v", d.Err)
	}
}

func TestActorsReduce(t *testing.T) {
	nodes := start(t, 3)
	do, _ := spawnAsker(t, nodes[2])
	var sources []phalanx.ObjectID
	for i := range 5 {
		id := phalanx.ObjectID(fmt.Sprintf("s%d", i))
		sources = append(sources, id)
		if i == 4 {
			break // the last one never comes
		}
		values := make([]int64, 20_000)
		for j := range values {
			values[j] = 1 << (8 * i)
		}
		if _, err := cluster.PutArray(within(t), nodes[i%3], id, values); err != nil {
			t.Fatal(err)
		}
	}
	r := do(&storenode.Reduce{Target: "sum", Sources: sources, Op: phalanx.Sum, Num: 4, Degree: 2}).(*storenode.Reduced)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	if len(r.Result.In) != 4 || len(r.Result.Out) != 1 || r.Result.Out[0] != "s4" {
		t.Errorf("in %v, out %v", r.Result.In, r.Result.Out)
	}
	a, err := cluster.GetArray[int64](within(t), nodes[0], "sum")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Release()
	for j, v := range a.Values() {
		if v != 0x01010101 {
			t.Fatalf("element %d is %x", j, v)
		}
	}
	again := do(&storenode.Reduce{Target: "sum", Sources: sources, Op: phalanx.Sum, Num: 4}).(*storenode.Reduced)
	if again.Err != nil || len(again.Result.In) != 4 || again.Result.Digest != r.Result.Digest {
		t.Errorf("the same request again: %+v", again)
	}
	other := do(&storenode.Reduce{Target: "sum", Sources: sources, Op: phalanx.Max, Num: 4}).(*storenode.Reduced)
	if !errors.Is(other.Err, phalanx.ErrExists) {
		t.Errorf("another request on the target: %v", other.Err)
	}
}

func TestSupervisorEvents(t *testing.T) {
	n := start(t, 1)[0]
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	events := n.Events(ctx)
	do, pid := spawnAsker(t, n)
	n.System().Root.Send(pid, "a planted panic")
	for e := range events {
		if r, ok := e.(actors.ActorRestarted); ok {
			if r.Actor != pid.Id || r.Cause != "a planted panic" {
				t.Errorf("%+v", r)
			}
			break
		}
	}
	if d := do(&storenode.Put{Object: "a", Bytes: []byte("x")}).(*storenode.PutDone); d.Err != nil {
		t.Errorf("after the restart: %v", d.Err)
	}
}

func TestSpawnOn(t *testing.T) {
	nodes := start(t, 2, func(c *cluster.Config) {
		c.Kinds = map[string]func(*cluster.Node) *actor.Props{
			"putter": func(n *cluster.Node) *actor.Props {
				return actor.PropsFromFunc(func(c actor.Context) {
					if _, ok := c.Message().(*actor.Started); ok {
						c.Request(n.Store(), &storenode.Put{Object: phalanx.ObjectID("from " + n.ID().Name()), Bytes: []byte("hello")})
					}
				})
			},
		}
	})
	for _, on := range nodes {
		if _, err := nodes[0].SpawnOn(within(t), on.ID(), "putter", "putter"); err != nil {
			t.Fatal(err)
		}
		v, err := nodes[0].Get(within(t), phalanx.ObjectID("from "+on.ID().Name()))
		if err != nil {
			t.Fatal(err)
		}
		v.Release()
	}
	if _, err := nodes[0].SpawnOn(within(t), nodes[1].ID(), "nothing", ""); err == nil || !errors.Is(err, phalanx.ErrInvalid) {
		t.Errorf("an unknown kind: %v", err)
	}
	if _, err := nodes[0].SpawnOn(within(t), "nobody#1", "putter", ""); !errors.Is(err, phalanx.ErrInvalid) {
		t.Errorf("an unknown member: %v", err)
	}
}

// A request to an actor ends with its answer, with the context or with the actor,
// and an error names the member.
func TestRequest(t *testing.T) {
	nodes := start(t, 2, func(c *cluster.Config) {
		c.Kinds = map[string]func(*cluster.Node) *actor.Props{
			"echo": func(*cluster.Node) *actor.Props {
				return actor.PropsFromFunc(func(c actor.Context) {
					if m, ok := c.Message().(*messages.LookRequest); ok && m.Object != "nothing" {
						c.Respond(m)
					}
				})
			},
		}
	})
	for _, on := range nodes {
		pid, err := nodes[0].SpawnOn(within(t), on.ID(), "echo", "")
		if err != nil {
			t.Fatal(err)
		}
		m, err := nodes[0].Request(within(t), pid, &messages.LookRequest{Object: "x"})
		if echo, ok := m.(*messages.LookRequest); err != nil || !ok || echo.Object != "x" {
			t.Errorf("at %s: %v, %v", on.ID(), m, err)
		}
		ctx, cancel := context.WithCancel(within(t))
		time.AfterFunc(10*time.Millisecond, cancel)
		var e *phalanx.Error
		if _, err = nodes[0].Request(ctx, pid, &messages.LookRequest{Object: "nothing"}); !errors.As(err, &e) || e.Kind != phalanx.ErrCanceled || e.Node != on.ID() {
			t.Errorf("canceled at %s: %v", on.ID(), err)
		}
		if err := nodes[0].System().Root.StopFuture(pid).Wait(); err != nil {
			t.Fatal(err)
		}
		if _, err = nodes[0].Request(within(t), pid, &messages.LookRequest{Object: "x"}); !errors.As(err, &e) || e.Kind != phalanx.ErrUnavailable || e.Node != on.ID() {
			t.Errorf("stopped at %s: %v", on.ID(), err)
		}
	}
}
