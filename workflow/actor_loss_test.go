package workflow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/poll"
)

// cell is the state of an actor that holds a number, and knows where it is.
type cell struct {
	n  int64
	on string // node
	of *cells
}

func (c *cell) Close() error {
	c.of.count(c.on, -1)
	return nil
}

// cells is a kind of actors with tasks that use them.
type cells struct {
	calls effects // of tasks and of the functions of the kind

	kind         ActorKind[*cell, int64]
	add          ActorMethod[int64, int64]
	read         ActorMethod[int, int64]
	spawn        F1[int, []ActorRef]
	adds         F2[[]ActorRef, int64, []ActorRef]
	reads        F1[[]ActorRef, []int64]
	gate         *gate // before each addition that asks for it
	failsAfter   int64 // the first attempt that adds this fails afterwards; 0: none does
	leavesLosses bool  // additions go on with the actors that are left

	life atomic.Pointer[life] // of the last attempt that makes actors or adds to them

	mu   sync.Mutex
	live map[string]int // actors by node
}

func (s *cells) count(node string, n int) {
	s.mu.Lock()
	s.live[node] += n
	s.mu.Unlock()
}

func newCells() *cells {
	s := &cells{gate: newGate(), live: map[string]int{}}
	made := func(c ActorContext, n int64) *cell {
		on := c.Node().ID().Name()
		s.count(on, 1)
		return &cell{n, on, s}
	}
	s.kind = Actor("cell", 1, func(c ActorContext, n int64) (*cell, error) { return made(c, n), nil }).Snapshots(
		func(c *cell) ([]byte, error) { return binary.AppendVarint(nil, c.n), nil },
		func(c ActorContext, b []byte) (*cell, error) {
			s.calls.add("restored")
			n, _ := binary.Varint(b)
			return made(c, n), nil
		})
	s.add = Method(s.kind, "add", func(c *cell, _ ActorContext, n int64) (int64, error) { c.n += n; return c.n, nil })
	s.read = Method(s.kind, "read", func(c *cell, _ ActorContext, _ int) (int64, error) { return c.n, nil }).ReadOnly()
	s.spawn = Func1("spawn", 1, func(c Context, n int) (all []ActorRef, err error) {
		s.calls.add("spawn")
		s.life.Store(c.Value(lifeKey{}).(*life))
		for i := range n {
			a, err := s.kind.Spawn(c, fmt.Sprint("cell ", i), int64(i))
			if err != nil {
				return nil, err
			}
			all = append(all, a)
		}
		return all, nil
	}).With(NoEffect)
	s.adds = Func2("add", 1, func(c Context, all []ActorRef, n int64) (left []ActorRef, err error) {
		s.life.Store(c.Value(lifeKey{}).(*life))
		if n < 0 { // it waits
			if err := s.gate.pass(c, nodeOf(c)); err != nil {
				return nil, err
			}
			n = -n
		}
		for _, a := range all {
			_, err := s.add.Call(c, a, n)
			switch {
			case err == nil:
				left = append(left, a)
			case !s.leavesLosses || !errors.Is(err, phalanx.ErrLost):
				return nil, err
			}
		}
		if n == s.failsAfter && c.Attempt() == 1 && s.calls.count("failed") == 0 {
			s.calls.add("failed")
			return nil, errors.New("it fails after it has written")
		}
		return left, nil
	}).With(NoEffect)
	s.reads = Func1("read", 1, func(c Context, all []ActorRef) (sum []int64, err error) {
		s.calls.add("read")
		for _, a := range all {
			n, err := s.read.Call(c, a, 0)
			if err != nil {
				return nil, err
			}
			sum = append(sum, n)
		}
		return sum, nil
	}).With(NoEffect)
	return s
}

func (s *cells) settings(t *testing.T) Settings {
	return Settings{Dir: t.TempDir(), Tasks: Tasks(s.spawn, s.adds, s.reads), Actors: Actors(s.kind)}
}

// cluster has three nodes with all tasks, and one with the actors only, which is the last.
func (s *cells) cluster(t *testing.T) *bedOf {
	b := &bedOf{t: t}
	for _, name := range []string{"a", "b", "c"} {
		b.join(name, s.settings(t))
	}
	b.join("d", Settings{Actors: Actors(s.kind)})
	b.allSee()
	return b
}

// nodeOf returns the name of the node on which a task runs.
func nodeOf(c Context) string {
	return c.Value(lifeKey{}).(*life).store.(nodeStore).ID().Name()
}

// node returns the node with a name.
func (b *bedOf) node(name string) *cluster.Node {
	at := slices.IndexFunc(b.nodes, func(n *cluster.Node) bool { return n.ID().Name() == name })
	return b.nodes[at]
}

// none waits until no actor is left, but for those of a node that has died.
func (s *cells) none(t *testing.T, dead string) {
	t.Helper()
	poll.Until(t, "no actor is left", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for on, n := range s.live {
			if n != 0 && on != dead {
				return false
			}
		}
		return true
	})
}

const cellsMade = 8 // over four nodes

func cellsOf(of func(i int64) int64) (all []int64) {
	for i := range int64(cellsMade) {
		all = append(all, of(i))
	}
	return all
}

// When a node with actors dies, those without snapshots are made again with all that was written; those with snapshots are restored, and
// nothing is written twice.
func TestANodeWithActorsDies(t *testing.T) {
	for what, snapshot := range map[string]bool{"snapshots": true, "no snapshots": false} {
		for how, dead := range map[string]string{"dies": "d", "leaves": ""} {
			t.Run(what+", "+how, func(t *testing.T) {
				t.Parallel()
				s := newCells()
				b := s.cluster(t)
				first := s.adds.Bind(s.spawn.Bind(Value(cellsMade)), Value(int64(100)))
				if snapshot {
					first = first.With(Snapshot, SyncCheckpoint)
				}
				r, err := Start(within(t), b.nodes[0], "x", s.reads.Bind(Read(s.adds.Bind(first, Value(int64(-1000))))))
				if err != nil {
					t.Fatal(err)
				}
				on := s.gate.await(t)
				events := b.node(on).Events(t.Context())
				if dead == "d" {
					die(b.nodes[3])
				} else {
					leave(t, b.nodes[3])
				}
				close(s.gate.open)
				if got := result(t, r, nil); !slices.Equal(got, cellsOf(func(i int64) int64 { return 1100 + i })) {
					t.Errorf("%v", got)
				}
				restored, spawned := s.calls.count("restored"), s.calls.count("spawn")
				if snapshot != (restored > 0) || snapshot != (spawned == 1) {
					t.Errorf("%d were restored, and all were made %d times", restored, spawned)
				}
				happens(t, events, func(e actors.Event) bool {
					switch e := e.(type) {
					case actors.ActorRestored:
						return snapshot && e.UID == r.UID() && e.Of == "cell@1" && e.From.Name() == "d" && e.On.Name() != "d"
					case actors.ActorLost:
						return !snapshot && e.UID == r.UID() && e.Of == "cell@1" && e.Node.Name() == "d" && strings.HasPrefix(e.Actor, "cell ")
					}
					return false
				})
				s.none(t, dead)
			})
		}
	}
}

// An attempt that fails leaves nothing of what it has written: the actors are restored, or made again.
func TestAnAttemptThatHasWrittenFails(t *testing.T) {
	for what, snapshot := range map[string]bool{"snapshots": true, "no snapshots": false} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newCells()
			s.failsAfter = 1000
			b := s.cluster(t)
			first := s.adds.Bind(s.spawn.Bind(Value(cellsMade)), Value(int64(100)))
			if snapshot {
				first = first.With(Snapshot)
			}
			r, err := Start(within(t), b.nodes[0], "x", s.reads.Bind(Read(s.adds.Bind(first, Value(int64(1000))))))
			if got := result(t, r, err); !slices.Equal(got, cellsOf(func(i int64) int64 { return 1100 + i })) {
				t.Errorf("%v", got)
			}
			s.none(t, "")
		})
	}
}

// A task goes on with the actors that are left, and returns them.
func TestATaskGoesOnWithTheActorsThatAreLeft(t *testing.T) {
	s := newCells()
	s.leavesLosses = true
	b := s.cluster(t)
	r, err := Start(within(t), b.nodes[0], "x", s.reads.Bind(Read(s.adds.Bind(s.spawn.Bind(Value(cellsMade)), Value(int64(-100))))))
	if err != nil {
		t.Fatal(err)
	}
	s.gate.await(t)
	die(b.nodes[3])
	close(s.gate.open)
	got := result(t, r, nil)
	if len(got) != cellsMade*3/4 || s.calls.count("spawn") != 1 {
		t.Errorf("%v, made %d times", got, s.calls.count("spawn"))
	}
	s.none(t, "d")
}

// An undo of a task that has written actors reads the version that the task was given, not the one that it has made.
func TestAnUndoReadsARestoredVersion(t *testing.T) {
	s := newCells()
	var undone atomic.Int64
	spend := Func1("spend", 1, func(c Context, all []ActorRef) (int, error) {
		for _, a := range all {
			if _, err := s.add.Call(c, a, 1000); err != nil {
				return 0, err
			}
		}
		return 1, nil
	}).Undo(func(c Context, all []ActorRef) error {
		var sum int64
		for _, a := range all {
			n, err := s.read.Call(c, a, 0)
			if err != nil {
				return err
			}
			if _, err := s.add.Call(c, a, 1); !errors.Is(err, ErrReadOnly) {
				return fmt.Errorf("an undo writes an actor: %w", err)
			}
			sum += n
		}
		undone.Store(sum)
		return nil
	})
	fails := Func1("fails", 1, func(Context, int) (int, error) { return 0, Permanent(errors.New("it fails")) }).With(NoEffect)
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(s.spawn, s.adds, spend, fails), Actors: Actors(s.kind)})
	r, err := Start(within(t), n, "x", fails.Bind(spend.Bind(s.spawn.Bind(Value(2)).With(Snapshot))))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Result(within(t)); !errors.Is(err, phalanx.ErrFailed) {
		t.Error(err)
	}
	if undone.Load() != 1 { // 0 + 1
		t.Errorf("the undo has read %d", undone.Load())
	}
	s.none(t, "")
}

// A result with actors has their snapshots, which live as long as the result; the actors end with the run.
func TestAResultWithActors(t *testing.T) {
	s := newCells()
	b := s.cluster(t)
	r, err := Start(within(t), b.nodes[0], "x", s.spawn.Bind(Value(cellsMade)).With(Snapshot))
	got := result(t, r, err)
	if len(got) != cellsMade || got[1].Name() != "cell 1" || got[1].Version() != 1 {
		t.Errorf("%v", got)
	}
	s.none(t, "")
	all, err := b.nodes[1].List(within(t), "wf/")
	if err != nil || len(all) != cellsMade+1 {
		t.Errorf("%d objects, want the output and its %d snapshots: %v", len(all), cellsMade, err)
	}
	if err := Forget(within(t), b.nodes[0], "x"); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "no object of the run is left", func() bool {
		all, err := b.nodes[0].List(within(t), "wf/")
		return err == nil && len(all) == 0
	})
}

// Actors that nobody can use end with their attempt, not with the run: those that it has made besides, those that it was given and does not
// return, and all that an attempt has made which fails.
func TestActorsThatNobodyCanUse(t *testing.T) {
	s := newCells()
	half := Func1("half", 1, func(c Context, all []ActorRef) ([]ActorRef, error) {
		for i := range 5 {
			if _, err := s.kind.Spawn(c, fmt.Sprint("besides ", i), 7); err != nil {
				return nil, err
			}
		}
		if c.Attempt() == 1 {
			return nil, errors.New("it fails")
		}
		_, err := s.add.Call(c, all[0], 1)
		return all[:len(all)/2], err
	}).With(NoEffect)
	b := &bedOf{t: t}
	for _, name := range []string{"a", "b"} {
		b.join(name, Settings{Dir: t.TempDir(), Tasks: Tasks(s.spawn, half, s.reads), Actors: Actors(s.kind)})
	}
	b.allSee()
	r, err := Start(within(t), b.nodes[0], "x", After(s.reads.Bind(Read(half.Bind(s.spawn.Bind(Value(8)).With(Snapshot)))), Event[int]("go")))
	if err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "four are left", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.live["a"]+s.live["b"] == 4 && s.calls.count("spawn") == 1
	})
	if err := Signal(within(t), b.nodes[0], "x", "go", "key", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if got := result(t, r, nil); len(got) != 4 || got[0] != 1 {
		t.Errorf("%v", got)
	}
	s.none(t, "")
}

// An actor that panics is no more, and its node tells so. What its task does again has a new actor, or one that is restored.
func TestAnActorPanics(t *testing.T) {
	s := newCells()
	var panics atomic.Int32
	bad := Method(s.kind, "bad", func(c *cell, _ ActorContext, n int64) (int64, error) {
		if panics.Add(1) == 1 {
			panic("bad")
		}
		c.n += n
		return c.n, nil
	})
	risk := Func1("risk", 1, func(c Context, a []ActorRef) ([]ActorRef, error) {
		if _, err := s.add.Call(c, a[0], 10); err != nil {
			return nil, err
		}
		_, err := bad.Call(c, a[0], 1)
		return a, err
	}).With(NoEffect)
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(s.spawn, risk, s.reads), Actors: Actors(s.kind)})
	events := n.Events(t.Context())
	r, err := Start(within(t), n, "x", s.reads.Bind(Read(risk.Bind(s.spawn.Bind(Value(1)).With(Snapshot)))))
	if got := result(t, r, err); !slices.Equal(got, []int64{11}) {
		t.Errorf("%v", got)
	}
	stopped, failed := false, false // in any order
	happens(t, events, func(e actors.Event) bool {
		switch e := e.(type) {
		case actors.ActorStopped:
			stopped = stopped || strings.HasPrefix(e.Actor, "workflows-actor-")
		case actors.AttemptFailed:
			failed = failed || strings.Contains(e.Why, "it has panicked: bad")
		}
		return stopped && failed
	})
	s.none(t, "")
}
