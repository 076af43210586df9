package actors_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/phalanx-go/phalanx/actors"
)

// fragile panics on every string, with it as the reason, and reports when it
// starts and stops and what else it gets.
type fragile struct{ saw chan any }

func (f fragile) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case string:
		panic(m)
	case *actor.Started, *actor.Stopped, int:
		f.saw <- m
	}
}

func spawn(sys *actor.ActorSystem, s *actors.Supervisor, saw chan any) *actor.PID {
	pid := sys.Root.Spawn(s.Guard(actor.PropsFromProducer(func() actor.Actor { return fragile{saw} })))
	<-saw // Started
	return pid
}

func directives(sys *actor.ActorSystem) (read func() []actor.Directive) {
	seen := make(chan actor.Directive, 100)
	sys.EventStream.Subscribe(func(m any) {
		if e, ok := m.(*actor.SupervisorEvent); ok {
			seen <- e.Directive
		}
	})
	return func() (all []actor.Directive) {
		for len(seen) > 0 {
			all = append(all, <-seen)
		}
		return all
	}
}

func TestRestartsWaitLongerEachTimeAndAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys := actors.NewSystem("a", quiet())
		decided := directives(sys)
		saw := make(chan any, 10)
		pid := spawn(sys, actors.Restarting(quiet()), saw)
		var waits []time.Duration
		for range 10 {
			start := time.Now()
			sys.Root.Send(pid, "oops")
			<-saw
			waits = append(waits, time.Since(start))
		}
		ms := time.Millisecond
		want := []time.Duration{10 * ms, 20 * ms, 40 * ms, 80 * ms, 160 * ms, 320 * ms, 640 * ms, 1280 * ms, 2000 * ms, 2000 * ms}
		if !slices.Equal(waits, want) {
			t.Errorf("restarts waited %v, want %v", waits, want)
		}
		sys.Root.Send(pid, "once more")
		if m, ok := (<-saw).(*actor.Stopped); !ok {
			t.Errorf("after eleven failures in a minute it got a %T, want Stopped", m)
		}
		want2 := append(slices.Repeat([]actor.Directive{actor.RestartDirective}, 10), actor.StopDirective)
		if got := decided(); !slices.Equal(got, want2) {
			t.Errorf("published %v, want %v", got, want2)
		}
		settle()
	})
}

func TestOldFailuresDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys := actors.NewSystem("a", quiet())
		saw := make(chan any, 10)
		pid := spawn(sys, actors.Restarting(quiet()), saw)
		for range 15 {
			start := time.Now()
			sys.Root.Send(pid, "oops")
			if m, ok := (<-saw).(*actor.Started); !ok || time.Since(start) != 10*time.Millisecond {
				t.Fatalf("got %T after %v, want a restart after 10ms", m, time.Since(start))
			}
			time.Sleep(time.Minute)
		}
		_ = sys.Root.StopFuture(pid).Wait()
		settle()
	})
}

func TestMessagesWaitForTheRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys := actors.NewSystem("a", quiet())
		saw := make(chan any, 10)
		pid := spawn(sys, actors.Restarting(quiet()), saw)
		sys.Root.Send(pid, "oops")
		sys.Root.Send(pid, 7)
		if _, ok := (<-saw).(*actor.Started); !ok {
			t.Error("a message was handled before the restart")
		}
		if m := <-saw; m != 7 {
			t.Errorf("after the restart it got %v, want 7", m)
		}
		_ = sys.Root.StopFuture(pid).Wait()
		settle()
	})
}

func TestStopOnPanicTellsWatchers(t *testing.T) {
	sys := actors.NewSystem("a", quiet())
	decided := directives(sys)
	saw, ended := make(chan any, 10), make(chan *actor.PID, 1)
	pid := spawn(sys, actors.StopOnPanic(quiet()), saw)
	watcher := sys.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case *actor.Started:
			c.Watch(pid)
			c.Send(pid, "oops")
		case *actor.Terminated:
			ended <- m.Who
		}
	}))
	if who := <-ended; who.Id != pid.Id {
		t.Errorf("Terminated names %v, want %v", who, pid)
	}
	if got := decided(); !slices.Equal(got, []actor.Directive{actor.StopDirective}) {
		t.Errorf("published %v, want one stop", got)
	}
	_ = sys.Root.StopFuture(watcher).Wait()
}

func TestEscalateAtTheRootStops(t *testing.T) {
	sys := actors.NewSystem("a", quiet())
	s := actors.Restarting(quiet())
	s.Decide = func(any) actor.Directive { return actor.EscalateDirective }
	saw := make(chan any, 10)
	sys.Root.Send(spawn(sys, s, saw), "oops")
	if m, ok := (<-saw).(*actor.Stopped); !ok {
		t.Errorf("got a %T, want Stopped", m)
	}
}

func TestResumeGoesOnWithTheSameInstance(t *testing.T) {
	sys := actors.NewSystem("a", quiet())
	s := actors.Restarting(quiet())
	s.Decide = func(any) actor.Directive { return actor.ResumeDirective }
	saw := make(chan any, 10)
	pid := spawn(sys, s, saw)
	sys.Root.Send(pid, "oops")
	sys.Root.Send(pid, 7)
	if m := <-saw; m != 7 {
		t.Errorf("got %v, want 7 without another start", m)
	}
	_ = sys.Root.StopFuture(pid).Wait()
}

func TestPanicIsLoggedWithItsStack(t *testing.T) {
	log, hook := logtest.NewNullLogger()
	sys := actors.NewSystem("a", log)
	saw := make(chan any, 10)
	sys.Root.Send(spawn(sys, actors.StopOnPanic(log), saw), "oops")
	<-saw
	for _, e := range hook.AllEntries() {
		if e.Level == logrus.ErrorLevel && e.Data["cause"] == "oops" {
			if stack, _ := e.Data["stack"].(string); !strings.Contains(stack, "fragile.Receive") {
				t.Errorf("the stack does not show where: %s", stack)
			}
			return
		}
	}
	t.Error("no error with the cause was logged")
}

// settle lets the library's timers in a bubble end.
func settle() { time.Sleep(time.Second); synctest.Wait() }
