package group_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/barrier/message"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/group"
	"github.com/phalanx-go/phalanx/storenode"
)

// member is an application's actor: what it is told to send goes to the groups' actor,
// and what comes back to the test.
type member struct {
	node *cluster.Node
	came chan any
}

func (m *member) Receive(c actor.Context) {
	switch x := c.Message().(type) {
	case actor.SystemMessage, actor.AutoReceiveMessage:
	case send:
		pid, _ := m.node.Service(group.Name)
		c.Request(pid, x.message)
	default:
		m.came <- x
	}
}

type send struct{ message any }

// hired is a member as the test sees it.
type hired struct {
	t    *testing.T
	node *cluster.Node
	pid  *actor.PID
	came chan any
}

func hire(t *testing.T, nodes []*cluster.Node) []*hired {
	t.Helper()
	var all []*hired
	for _, n := range nodes {
		h := &hired{t: t, node: n, came: make(chan any, 100)}
		var err error
		h.pid, err = n.Spawn(actor.PropsFromProducer(func() actor.Actor { return &member{node: n, came: h.came} }), fmt.Sprint("member", len(all)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, h)
	}
	return all
}

func (h *hired) send(m any) { h.node.System().Root.Send(h.pid, send{m}) }

// next returns what comes next, which has to be a T.
func next[T any](h *hired) T {
	h.t.Helper()
	select {
	case m := <-h.came:
		v, ok := m.(T)
		if !ok {
			h.t.Fatalf("a %T comes: %+v", m, m)
		}
		return v
	case <-time.After(time.Minute):
		h.t.Fatal("nothing comes")
	}
	panic("unreachable")
}

// Actors form a group, make their calls in it, are interrupted, agree, shrink, and have
// left it when they end.
func TestActors(t *testing.T) {
	nodes := start(t, 3)
	hands := hire(t, nodes)
	for _, h := range hands {
		h.send(&group.FormGroup{Name: "g", Members: on(nodes), Rank: -1})
	}
	var groups []*group.Group
	for i, h := range hands {
		f := next[*group.Formed](h)
		if f.Err != nil || f.Group.Rank() != i {
			t.Fatalf("%+v", f)
		}
		groups = append(groups, f.Group)
	}
	hands[0].send(&group.Do{Group: groups[0], Request: &storenode.Put{Object: "o", Bytes: []byte("hello")}})
	if p := next[*storenode.PutDone](hands[0]); p.Err != nil {
		t.Fatal(p.Err)
	}
	hands[1].send(&group.Do{Group: groups[1], Request: &storenode.Get{Object: "o"}})
	if g := next[*storenode.Got](hands[1]); g.Err != nil || string(g.View.Bytes()) != "hello" {
		t.Fatalf("%+v", g)
	}
	ids := []phalanx.ObjectID{"x", "y"}
	for i, h := range hands {
		for _, r := range []any{&storenode.Get{Object: "x"}, &storenode.Open{Object: "x"}, &storenode.Gather{Sources: ids},
			&storenode.Reduce{Target: "r", Sources: ids, Op: phalanx.Sum}, &storenode.AllReduce{Target: "a", Sources: ids, Op: phalanx.Sum},
			&message.Enter{Name: "b", Config: barrier.Config{Max: 4}}} {
			h.send(&group.Do{Group: groups[i], Request: r})
		}
	}
	busy(t, nodes...)
	hands[1].send(&group.RevokeGroup{Group: groups[1], Reason: "enough"})
	for i, h := range hands {
		told, failed := 0, 0
		for range 7 {
			switch m := next[any](h).(type) {
			case *group.Interrupted:
				told++
				if m.Group != groups[i] || m.Revocation.Rank != 1 || m.Revocation.Reason != "enough" {
					t.Errorf("member %d: %+v", i, m)
				}
			case *storenode.Got:
				failed += revoked(t, m.Err)
			case *storenode.Opened:
				failed += revoked(t, m.Err)
			case *storenode.Gathered:
				failed += revoked(t, m.Err)
			case *storenode.Reduced:
				failed += revoked(t, m.Err)
			case *storenode.AllReduced:
				failed += revoked(t, m.Err)
			case *message.Entered:
				failed += revoked(t, m.Err)
			default:
				t.Errorf("member %d gets %+v", i, m)
			}
		}
		if told != 1 || failed != 6 {
			t.Errorf("member %d is told %d times, %d requests have failed", i, told, failed)
		}
	}
	hands[2].send(&group.RevokeGroup{Group: groups[2]}) // again
	if m := next[*group.Interrupted](hands[2]); m.Revocation.Rank != 1 {
		t.Errorf("%+v", m)
	}
	hands[2].send(&group.Do{Group: groups[2], Request: &storenode.Get{Object: "o"}})
	revoked(t, next[*storenode.Got](hands[2]).Err)
	for i, h := range hands {
		h.send(&group.AgreeOn{Group: groups[i], Value: int64(i), Op: group.Max})
	}
	for _, h := range hands {
		if a := next[*group.Agreed](h); a.Err != nil || a.Value != 2 {
			t.Errorf("%+v", a)
		}
	}
	if err := nodes[2].System().Root.StopFuture(hands[2].pid).Wait(); err != nil {
		t.Fatal(err)
	}
	for i, h := range hands[:2] {
		if f := next[*group.MembersFailed](h); f.Group != groups[i] || f.Ranks[0] != 2 || !f.Left {
			t.Errorf("%+v", f)
		}
		h.send(&group.ShrinkGroup{Group: groups[i]})
	}
	for _, h := range hands[:2] {
		if f := next[*group.Formed](h); f.Err != nil || f.Group.Size() != 2 {
			t.Errorf("%+v", f)
		}
	}
}

func revoked(t *testing.T, err error) int {
	t.Helper()
	if !errors.Is(err, phalanx.ErrRevoked) {
		t.Errorf("%v", err)
		return 0
	}
	return 1
}

// A newcomer that is an actor comes in; who asks for what cannot be is told so.
func TestActorsGrow(t *testing.T) {
	nodes := start(t, 3)
	hands := hire(t, nodes)
	for _, h := range hands[:2] {
		h.send(&group.FormGroup{Name: "g", Members: on(nodes[:2]), Rank: -1})
	}
	groups := []*group.Group{next[*group.Formed](hands[0]).Group, next[*group.Formed](hands[1]).Group}
	hands[2].send(&group.AwaitGroup{Label: "new"})
	for i, h := range hands[:2] {
		h.send(&group.GrowGroup{Group: groups[i], Newcomers: []group.Member{{Node: nodes[2].ID(), Label: "new"}}})
	}
	for i, h := range hands {
		if f := next[*group.Formed](h); f.Err != nil || f.Group.Size() != 3 || f.Group.Rank() != i {
			t.Errorf("%+v", f)
		}
	}
	hands[0].send(&group.FormGroup{Name: "g", Members: on(nodes[:2]), Rank: 7})
	is(t, next[*group.Formed](hands[0]).Err, phalanx.ErrInvalid)
	hands[0].send(&group.FormGroup{Name: "g", Members: on(nodes[:2]), Rank: 0})
	is(t, next[*group.Formed](hands[0]).Err, phalanx.ErrExists)
	hands[0].send(&group.AgreeOn{Group: groups[0], Op: 77})
	is(t, next[*group.Agreed](hands[0]).Err, phalanx.ErrInvalid)
	hands[0].send(&group.GrowGroup{Group: groups[0], Newcomers: on(nodes[:1])})
	is(t, next[*group.Formed](hands[0]).Err, phalanx.ErrInvalid)
	hands[0].send(&group.ShrinkGroup{})
	is(t, next[*phalanx.Error](hands[0]), phalanx.ErrInvalid)
	hands[0].send(&group.AwaitGroup{Deadline: 50 * ms})
	is(t, next[*group.Formed](hands[0]).Err, phalanx.ErrDeadline)
}

// What is asked for in vain, or by who has left, is answered, and breaks nothing.
func TestActorsOutOfPlace(t *testing.T) {
	nodes := start(t, 2)
	hands := hire(t, append(nodes, nodes[0]))
	ctx := within(t)
	pid, _ := nodes[0].Service(group.Name)
	nodes[0].System().Root.Send(pid, &group.FormGroup{Name: "g", Members: on(nodes), Rank: -1}) // by nobody
	for _, h := range hands[:2] {
		h.send(&group.FormGroup{Name: "g", Members: on(nodes), Rank: -1})
	}
	groups := []*group.Group{next[*group.Formed](hands[0]).Group, next[*group.Formed](hands[1]).Group}
	// One of the members is not known, and until the deadline is not waited for.
	hands[0].send(&group.FormGroup{Name: "ghosts", Members: append(on(nodes), group.Member{Node: "x#1"}), Rank: -1, Deadline: 20 * ms})
	is(t, next[*group.Formed](hands[0]).Err, phalanx.ErrDeadline)
	for _, nonsense := range []any{"nonsense", nil, (*storenode.Get)(nil), (*message.Enter)(nil)} {
		hands[0].send(&group.Do{Group: groups[0], Request: nonsense})
		is(t, next[*phalanx.Error](hands[0]), phalanx.ErrInvalid)
	}
	// An actor that ends while its group is formed leaves it.
	both := []group.Member{{Node: nodes[0].ID(), Label: "a"}, {Node: nodes[0].ID(), Label: "b"}}
	hands[2].send(&group.FormGroup{Name: "h", Members: both, Rank: 0})
	eventually(t, "it asks", func() bool {
		short, cancel := context.WithTimeout(ctx, 10*ms)
		defer cancel()
		_, err := group.Form(short, nodes[0], "never", on(nodes)) // behind it
		return err != nil
	})
	if err := nodes[0].System().Root.StopFuture(hands[2].pid).Wait(); err != nil {
		t.Fatal(err)
	}
	h, err := group.Form(ctx, nodes[0], "h", both, group.AtRank(1))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it has left", func() bool { return slices.Equal(h.Failed(), []int{0}) })
	hands[0].send(&group.RevokeGroup{Group: groups[0], Reason: strings.Repeat("x", 257)})
	is(t, next[*phalanx.Error](hands[0]), phalanx.ErrInvalid)
	// Who has left revokes nothing.
	if err := groups[0].Close(); err != nil {
		t.Fatal(err)
	}
	hands[0].send(&group.RevokeGroup{Group: groups[0]})
	is(t, next[*phalanx.Error](hands[0]), phalanx.ErrClosed)
	next[*group.MembersFailed](hands[1])
	if groups[1].IsRevoked() {
		t.Error("it is revoked")
	}
	// All that a revoked group is asked for fails.
	hands[1].send(&group.RevokeGroup{Group: groups[1]})
	next[*group.Interrupted](hands[1])
	ids := []phalanx.ObjectID{"x"}
	for _, r := range []any{&storenode.Put{Object: "o", Bytes: []byte("o")}, &storenode.Get{Object: "x"}, &storenode.Open{Object: "x"}, &storenode.Gather{Sources: ids},
		&storenode.Reduce{Target: "r", Sources: ids, Op: phalanx.Sum}, &storenode.AllReduce{Target: "a", Sources: ids, Op: phalanx.Sum},
		&message.Enter{Name: "b", Config: barrier.Config{Max: 4}}} {
		hands[1].send(&group.Do{Group: groups[1], Request: r})
		switch m := next[any](hands[1]).(type) {
		case *storenode.PutDone:
			revoked(t, m.Err)
		case *storenode.Got:
			revoked(t, m.Err)
		case *storenode.Opened:
			revoked(t, m.Err)
		case *storenode.Gathered:
			revoked(t, m.Err)
		case *storenode.Reduced:
			revoked(t, m.Err)
		case *storenode.AllReduced:
			revoked(t, m.Err)
		case *message.Entered:
			revoked(t, m.Err)
		default:
			t.Errorf("%T is answered by %+v", r, m)
		}
	}
}

// The service answers a message that it does not take.
func TestUnknownMessage(t *testing.T) {
	nodes := start(t, 1)
	pid, _ := nodes[0].Service(group.Name)
	if _, err := nodes[0].Request(within(t), pid, group.FormGroup{Name: "x"}); !errors.Is(err, phalanx.ErrInvalid) {
		t.Error(err)
	}
}
