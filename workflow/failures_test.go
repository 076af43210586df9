package workflow

import (
	"io"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/durable"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// fragile is a core that panics.
type fragile struct{ steps int }

func (f *fragile) Begin() []flow.TenureEffect       { return nil }
func (f *fragile) Due() (at time.Duration, ok bool) { return 0, false }

func (f *fragile) Step(time.Duration, flow.TenureEvent) []flow.TenureEffect {
	f.steps++
	panic("a broken invariant")
}

// A controller whose core panics ends, also if it panics as it ends. A core that has panicked decides nothing more.
func TestControllerEndsAfterAPanic(t *testing.T) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	for name, do := range map[string]func(*actor.RootContext, *actor.PID){
		"as it works": func(root *actor.RootContext, pid *actor.PID) { root.Send(pid, flow.Tick{}) },
		"as it ends":  func(root *actor.RootContext, pid *actor.PID) { root.Stop(pid) },
	} {
		t.Run(name, func(t *testing.T) {
			system := actors.NewSystem("x", log)
			ended := make(chan struct{})
			core := &fragile{}
			props := actor.PropsFromProducer(func() actor.Actor {
				return &controller{core: core, clock: func() time.Duration { return 0 }, log: log, ended: ended}
			})
			pid, err := system.Root.SpawnNamed(actors.StopOnPanic(log).Guard(props), "controller")
			if err != nil {
				t.Fatal(err)
			}
			do(system.Root, pid)
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Fatal("the controller has not ended within a minute")
			}
			if core.steps != 1 {
				t.Errorf("the core has been asked %d times", core.steps)
			}
		})
	}
}

// asks is a core that appends once, and notes what it is told.
type asks struct {
	fragile
	told chan flow.TenureEvent
}

func (a *asks) Begin() []flow.TenureEffect { return []flow.TenureEffect{flow.Append{Number: 1}} }

func (a *asks) Step(_ time.Duration, ev flow.TenureEvent) []flow.TenureEffect {
	a.told <- ev
	return nil
}

// refusesAppends is a tenure that goes on, and refuses what is appended.
type refusesAppends struct {
	durable.Tenure
	err error
}

func (r refusesAppends) Append(_ []ledger.Row, done func(error)) { done(r.err) }

// A controller is told apart that its tenure is over, and that the ledger refuses an append of a tenure that goes on: without an end nobody
// would control the runs from then on.
func TestControllerIsToldOfRefusals(t *testing.T) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	system := actors.NewSystem("x", log)
	for err, want := range map[error]flow.TenureEvent{
		nil:               flow.Appended{Number: 1},
		durable.ErrFenced: flow.Ended{},
		durable.ErrBusy:   flow.Refused{Why: durable.ErrBusy.Error()},
	} {
		core, ended := &asks{told: make(chan flow.TenureEvent, 2)}, make(chan struct{})
		pid := system.Root.Spawn(actor.PropsFromProducer(func() actor.Actor {
			return &controller{tenure: refusesAppends{err: err}, core: core, clock: func() time.Duration { return 0 }, log: log, ended: ended}
		}))
		select {
		case got := <-core.told:
			if got != want {
				t.Errorf("after %v it is told %#v", err, got)
			}
		case <-time.After(time.Minute):
			t.Fatalf("after %v it is told nothing", err)
		}
		system.Root.Stop(pid)
		<-ended
	}
}

// Controllers that fail one soon after the other begin ever more seldom, until one goes on for a minute.
func TestPausesAfterFailures(t *testing.T) {
	var f failures
	for i, want := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second, 30 * time.Second} {
		f.lived(59 * time.Second)
		if got := f.next(); got != want {
			t.Errorf("failure %d: %v, want %v", i+1, got, want)
		}
	}
	f.lived(time.Minute)
	if got := f.next(); got != 500*time.Millisecond {
		t.Errorf("after a minute: %v", got)
	}
}
