package workflow

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/poll"
	flow "github.com/phalanx-go/phalanx/node/workflow"
)

// stageOf is a stage that a function is.
type stageOf struct {
	nodes []phalanx.NodeID
	do    func(c flow.ActorCall) flow.ActorAnswer
}

func (s *stageOf) call(_ context.Context, c flow.ActorCall) flow.ActorAnswer { return s.do(c) }
func (s *stageOf) read(flow.ActorAnswer)                                     {}
func (s *stageOf) discard(flow.ActorAt)                                      {}
func (s *stageOf) tells(actors.Event)                                        {}
func (s *stageOf) patience() time.Duration                                   { return 0 }
func (s *stageOf) places() []phalanx.NodeID                                  { return s.nodes }

// full is a store that has all objects.
type full struct{ objects }

func (full) Look(context.Context, Ref) (phalanx.Meta, error) { return phalanx.Meta{}, nil }

// seatOn returns an actor with a snapshot, on node d, that an attempt is given.
func seatOn(s stage, writes bool) *seat {
	l := newLife(&attempt{run: "r", path: "1"}, full{}, nil)
	l.stage = s
	seat := l.newSeat("k@1", "x")
	seat.snapshot = &Ref{id: "snapshot"}
	seat.core = l.actors.Given(seat.kind, flow.ActorAt{Node: "d", ID: "wf/r/0/0/1.1/1", By: "wf/r/0/0/1.1/", Version: 1}, nil, true)
	if writes {
		seat.core.Write()
	}
	return seat
}

// Two calls of an actor at once, one of which finds it gone: what has succeeded was done by the actor that the output holds.
func TestTwoCallsOfAnActorThatIsGone(t *testing.T) {
	for range 200 {
		var mu sync.Mutex
		done := map[string]phalanx.NodeID{} // where each call was carried out
		calls := 0
		s := &stageOf{nodes: []phalanx.NodeID{"e"}}
		s.do = func(c flow.ActorCall) flow.ActorAnswer {
			mu.Lock()
			defer mu.Unlock()
			if calls++; c.Actor.Node == "d" && calls > 2 {
				return flow.ActorAnswer{End: flow.ActorGone, Why: "it has left"}
			}
			if c.Deed == flow.ActorDo && c.Name != "" {
				done[c.Name] = c.Actor.Node
			}
			return flow.ActorAnswer{End: flow.ActorDone}
		}
		seat := seatOn(s, true)
		failed := map[string]error{}
		var wait sync.WaitGroup
		for _, name := range []string{"one", "two"} {
			wait.Go(func() {
				_, _, err := seat.do(t.Context(), flow.ActorCall{Name: name})
				mu.Lock()
				failed[name] = err
				mu.Unlock()
			})
		}
		wait.Wait()
		for name, err := range failed {
			if err == nil && seat.lost == nil && done[name] != seat.form().Node {
				t.Fatalf("call %s has succeeded on node %s, and the output holds the actor on %s", name, done[name], seat.form().Node)
			}
		}
	}
}

// Readers that find an actor gone at once restore it once, and that counts once.
func TestReadersRestoreOnce(t *testing.T) {
	var mu sync.Mutex
	gone, restored := map[phalanx.NodeID]bool{"d": true}, 0
	s := &stageOf{nodes: []phalanx.NodeID{"e", "f", "g"}}
	s.do = func(c flow.ActorCall) flow.ActorAnswer {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case gone[c.Actor.Node] && c.Deed == flow.ActorRestore:
			return flow.ActorAnswer{End: flow.ActorSilent}
		case gone[c.Actor.Node]:
			return flow.ActorAnswer{End: flow.ActorGone}
		case c.Deed == flow.ActorRestore:
			restored++
		}
		return flow.ActorAnswer{End: flow.ActorDone}
	}
	seat := seatOn(s, false)
	for want := 1; want <= 2; want++ {
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				if _, _, err := seat.do(t.Context(), flow.ActorCall{Name: "read"}); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if restored != want {
			t.Errorf("restored %d times, want %d", restored, want)
		}
		gone[seat.form().Node] = true
	}
}

// A reader whose calls end each actor restores it three times, and no more.
func TestAReaderThatEndsActors(t *testing.T) {
	restored := 0
	s := &stageOf{nodes: []phalanx.NodeID{"e"}}
	s.do = func(c flow.ActorCall) flow.ActorAnswer {
		if c.Deed == flow.ActorRestore {
			restored++
			return flow.ActorAnswer{End: flow.ActorDone}
		}
		return flow.ActorAnswer{End: flow.ActorCrashed, Why: "it has panicked"}
	}
	_, _, err := seatOn(s, false).do(t.Context(), flow.ActorCall{Name: "read"})
	if is(t, err, phalanx.ErrLost); restored != 3 {
		t.Errorf("restored %d times", restored)
	}
}

// While no node has the kind of an actor an attempt waits: the one that had may begin anew. Nothing of that is a failure of the task.
func TestNoNodeHasTheKind(t *testing.T) {
	for what, snapshot := range map[string]bool{"snapshots": true, "no snapshots": false} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newCells()
			b := &bedOf{t: t}
			b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(s.spawn.With(Retry(0)), s.adds.With(Retry(0)), s.reads)})
			m := b.join("b", Settings{Actors: Actors(s.kind)})
			b.allSee()
			made := s.spawn.Bind(Value(2)).With(Retry(0))
			if snapshot {
				made = made.With(Snapshot, SyncCheckpoint)
			}
			r, err := Start(within(t), b.nodes[0], "x", s.reads.Bind(Read(s.adds.Bind(made, Value(int64(-10))).With(Retry(0)))))
			if err != nil {
				t.Fatal(err)
			}
			s.gate.await(t)
			leave(t, m)
			close(s.gate.open)
			poll.Until(t, "an attempt that asks the node without the kind", func() bool {
				l := s.life.Load()
				l.mu.Lock()
				defer l.mu.Unlock()
				return slices.ContainsFunc(l.actors.Leaves(false), func(a flow.ActorAt) bool { return a.Node.Name() == "a" })
			})
			b.join("c", Settings{Actors: Actors(s.kind)})
			if got := result(t, r, nil); len(got) != 2 || got[0] != 10 || got[1] != 11 {
				t.Errorf("%v", got)
			}
		})
	}
}

// An attempt whose own actors leave with their node has not failed.
func TestActorsOfAnAttemptLeave(t *testing.T) {
	s := newCells()
	uses := Func0("uses", 1, func(c Context) (int, error) {
		s.calls.add("uses")
		var all []ActorRef
		for _, name := range []string{"p", "q", "r", "s"} {
			a, err := s.kind.Spawn(c, name, 0)
			if err != nil {
				return 0, err
			}
			all = append(all, a)
		}
		if s.calls.count("uses") == 1 {
			if err := s.gate.pass(c, "uses"); err != nil {
				return 0, err
			}
		}
		for _, a := range all {
			if _, err := s.add.Call(c, a, 1); err != nil {
				return 0, err
			}
		}
		return len(all), nil
	}).With(NoEffect, Retry(0))
	b := &bedOf{t: t}
	b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(uses), Actors: Actors(s.kind)})
	b.join("b", Settings{Actors: Actors(s.kind)})
	b.allSee()
	r, err := Start(within(t), b.nodes[0], "x", uses.Bind())
	if err != nil {
		t.Fatal(err)
	}
	s.gate.await(t)
	leave(t, b.nodes[1])
	close(s.gate.open)
	if got := result(t, r, nil); got != 4 {
		t.Error(got)
	}
	s.none(t, "")
}

// An actor reads an object of which only the checkpoint is left.
func TestAnActorReadsACheckpoint(t *testing.T) {
	var e effects
	makes := Func0("makes", 1, func(c Context) (Ref, error) { e.add("makes"); return c.Put("x", make([]byte, 200_000)) })
	mark := Func1("mark", 1, func(Context, Ref) (int, error) { e.add("mark"); return 0, nil }) // it begins once makes is saved
	spawn := Func0("spawn", 1, func(c Context) (ActorRef, error) { return counters.Spawn(c, "w", 1) }).With(NoEffect)
	use := Func3("use", 1, func(c Context, a ActorRef, r Ref, _ int) (int, error) { return weighs.Call(c, a, r) }).With(NoEffect)
	b := &bedOf{t: t}
	b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(spawn, use), Actors: Actors(counters)})
	b.join("b", Settings{Dir: t.TempDir()})
	b.join("c", Settings{Dir: t.TempDir(), Tasks: Tasks(makes, mark)})
	b.allSee()
	made := makes.Bind()
	r, err := Start(within(t), b.nodes[0], "x", use.Bind(spawn.Bind(), made, After(Event[int]("go"), mark.Bind(made))))
	if err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "what is saved", func() bool { return e.count("mark") == 1 })
	die(b.nodes[2])
	if err := Signal(within(t), b.nodes[0], "x", "go", "key", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if got := result(t, r, nil); got != 200_000 || e.count("makes") != 1 {
		t.Errorf("%d bytes, made %d times", got, e.count("makes"))
	}
}

// The node of an actor leaves while it answers: its store takes no objects, and that is no error of the actor.
func TestALargeAnswerOfANodeThatLeaves(t *testing.T) {
	s := newCells()
	large := Method(s.kind, "large", func(_ *cell, _ ActorContext, n int) ([]byte, error) { return make([]byte, n), nil })
	use := Func1("use", 1, func(c Context, all []ActorRef) (int, error) {
		if c.Attempt() == 1 && s.calls.count("use") == 0 {
			s.calls.add("use")
			if err := s.gate.pass(c, "use"); err != nil {
				return 0, err
			}
		}
		b, err := large.Call(c, all[0], 200_000)
		return len(b), err
	}).With(NoEffect, Retry(0))
	held := make(chan struct{})
	hold := Func0("hold", 1, func(c Context) (int, error) { <-c.Done(); <-held; return 0, nil }).With(NoEffect) // its node stays until it ends
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(s.spawn, use)})
	m := b.join("b", Settings{Actors: Actors(s.kind), Tasks: Tasks(hold)})
	b.allSee()
	if _, err := Start(within(t), n, "hold", hold.Bind()); err != nil {
		t.Fatal(err)
	}
	r, err := Start(within(t), n, "r", use.Bind(s.spawn.Bind(Value(1))))
	if err != nil {
		t.Fatal(err)
	}
	s.gate.await(t)
	b.join("c", Settings{Actors: Actors(s.kind), Tasks: Tasks(hold)})
	left := make(chan struct{})
	go func() {
		leave(t, m)
		close(left)
	}()
	poll.Until(t, "a node that refuses objects", func() bool {
		_, err := m.Put(within(t), phalanx.ObjectID(time.Now().String()), nil)
		return err != nil
	})
	close(s.gate.open)
	if got := result(t, r, nil); got != 200_000 {
		t.Error(got)
	}
	close(held)
	<-left
	if err := Cancel(within(t), n, "hold", "the test ends"); err != nil {
		t.Error(err)
	}
}
