package store

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// mute is a directory that answers nothing.
type mute struct{ Directory }

func (mute) Nums(uint64) uint64                                     { return 1 }
func (mute) Forget(uint64)                                          {}
func (mute) Impatient(uint64, func(*phalanx.Error))                 {}
func (mute) Owner(phalanx.ObjectID) phalanx.NodeID                  { return "owner#1" }
func (mute) Epoch(phalanx.ObjectID) uint64                          { return 1 }
func (mute) View() uint64                                           { return 1 }
func (mute) Shards() int                                            { return 1 }
func (mute) Tell(phalanx.NodeID, phalanx.ObjectID, directory.Event) {}
func (mute) Request(phalanx.ObjectID, uint64, directory.Body, func(phalanx.NodeID, directory.Result)) {
}

// alone returns a node of which there is no actor yet, whose directory is mute.
func alone(t *testing.T) *Env {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	sys := actors.NewSystem("n1", log)
	t.Cleanup(sys.Shutdown)
	budget := dataplane.NewBudget(1 << 20)
	oneShot := actors.StopOnPanic(log)
	return &Env{Self: "n1#1", System: sys, Table: NewTable(budget), Pool: dataplane.NewPool(budget), Given: &Given{}, Directory: mute{},
		Now: actors.NewClock(), Log: log, Deadline: time.Minute, InlineLimit: 1000,
		Spawn: func(p *actor.Props, name string) (*actor.PID, error) {
			return sys.Root.SpawnNamed(oneShot.Guard(p), name)
		},
		StoreOn: func(phalanx.NodeID) (*actor.PID, bool) { return sys.NewLocalPID("elsewhere"), true },
		Request: func(ctx context.Context, _ *actor.PID, _ any) (any, error) {
			<-ctx.Done()
			return nil, &phalanx.Error{Op: "request", Kind: phalanx.ErrCanceled, Err: ctx.Err()}
		}}
}

// The requests of an actor end at once when its node is removed.
func TestMessagesThatWaitAsTheNodeEnds(t *testing.T) {
	for name, ask := range map[string]func(e *Env, done func(error)){
		"stat": func(e *Env, done func(error)) {
			e.Stat("x", time.Minute, func(_ storenode.ObjectStat, err error) { done(err) })
		},
		"delete": func(e *Env, done func(error)) { e.Delete("x", time.Minute, done) },
		"prefetch": func(e *Env, done func(error)) {
			e.Prefetch(context.Background(), "x", []phalanx.NodeID{"innocent#1"}, time.Minute, done)
		},
	} {
		e := alone(t)
		ended := make(chan error, 1)
		ask(e, func(err error) { ended <- err })
		e.Fence()
		e.Close()
		var err *phalanx.Error
		select {
		case got := <-ended:
			if !errors.As(got, &err) || err.Kind != phalanx.ErrFenced || err.Node != e.Self || err.Op != name || err.Object != "x" {
				t.Errorf("%s: %v", name, got)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s: it still waits", name)
		}
	}
}
