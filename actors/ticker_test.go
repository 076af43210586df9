package actors_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx/actors"
)

// ticking reports when it is ticked; it panics on a string and sleeps for a
// duration.
type ticking struct {
	ticker *actors.Ticker
	start  time.Time
	at     chan time.Duration
}

func (a *ticking) Receive(c actor.Context) {
	if a.ticker.Due(c) {
		a.at <- time.Since(a.start)
		return
	}
	switch m := c.Message().(type) {
	case string:
		panic(m)
	case time.Duration:
		time.Sleep(m)
	}
}

func ticks(t *testing.T, n int, meanwhile func(sys *actor.ActorSystem, pid *actor.PID)) []time.Duration {
	var got []time.Duration
	synctest.Test(t, func(t *testing.T) {
		sys := actors.NewSystem("a", quiet())
		at, start := make(chan time.Duration, 100), time.Now()
		pid := sys.Root.Spawn(actors.Restarting(quiet()).Guard(actor.PropsFromProducer(func() actor.Actor {
			return &ticking{ticker: actors.NewTicker(10 * time.Millisecond), start: start, at: at}
		})))
		meanwhile(sys, pid)
		for range n {
			got = append(got, <-at/time.Millisecond)
		}
		_ = sys.Root.StopFuture(pid).Wait()
		settle()
		if len(at) > 0 {
			t.Errorf("%d ticks after the actor was stopped", len(at))
		}
	})
	return got
}

func TestTickerKeepsItsRhythm(t *testing.T) {
	got := ticks(t, 4, func(*actor.ActorSystem, *actor.PID) {})
	if want := []time.Duration{10, 20, 30, 40}; !slices.Equal(got, want) {
		t.Errorf("ticks at %v ms, want %v", got, want)
	}
}

func TestSlowActorGetsFewerTicks(t *testing.T) {
	got := ticks(t, 3, func(sys *actor.ActorSystem, pid *actor.PID) { sys.Root.Send(pid, 55*time.Millisecond) })
	if want := []time.Duration{55, 65, 75}; !slices.Equal(got, want) {
		t.Errorf("ticks at %v ms, want %v", got, want)
	}
}

func TestRestartedActorHasOneTicker(t *testing.T) {
	got := ticks(t, 4, func(sys *actor.ActorSystem, pid *actor.PID) {
		time.Sleep(5 * time.Millisecond)
		sys.Root.Send(pid, "oops") // restarted at 15, with the first instance's tick of 10 in the mailbox
	})
	if want := []time.Duration{25, 35, 45, 55}; !slices.Equal(got, want) {
		t.Errorf("ticks at %v ms, want %v", got, want)
	}
}

// alarmed reports which of its timers is due.
type alarmed struct {
	timers actors.Timers[string]
	due    chan string
}

func (a *alarmed) Receive(c actor.Context) {
	if key, ok := a.timers.Due(c); ok {
		a.due <- key
		return
	}
	if f, ok := c.Message().(func(actor.Context, *actors.Timers[string])); ok {
		f(c, &a.timers)
	}
}

func alarms(t *testing.T, f func(actor.Context, *actors.Timers[string])) []string {
	due := make(chan string, 10)
	synctest.Test(t, func(t *testing.T) {
		sys := actors.NewSystem("a", quiet())
		pid := sys.Root.Spawn(actors.Restarting(quiet()).Guard(actor.PropsFromProducer(func() actor.Actor { return &alarmed{due: due} })))
		sys.Root.Send(pid, f)
		time.Sleep(time.Second)
		synctest.Wait()
		_ = sys.Root.StopFuture(pid).Wait()
		settle()
	})
	close(due)
	var got []string
	for key := range due {
		got = append(got, key)
	}
	return got
}

func TestTimersFireOnceInOrder(t *testing.T) {
	got := alarms(t, func(c actor.Context, timers *actors.Timers[string]) {
		timers.Set(c, "late", 20*time.Millisecond)
		timers.Set(c, "soon", 10*time.Millisecond)
		timers.Set(c, "too late", time.Minute)
	})
	if want := []string{"soon", "late"}; !slices.Equal(got, want) {
		t.Errorf("due were %v, want %v", got, want)
	}
}

func TestCancelledTimerIsNeverDue(t *testing.T) {
	got := alarms(t, func(c actor.Context, timers *actors.Timers[string]) {
		timers.Set(c, "cancelled", 0)
		timers.Set(c, "replaced", 0)
		time.Sleep(time.Millisecond) // both messages are in the mailbox
		timers.Cancel("cancelled")
		timers.Set(c, "replaced", time.Millisecond)
	})
	if want := []string{"replaced"}; !slices.Equal(got, want) {
		t.Errorf("due were %v, want %v", got, want)
	}
}

func TestTimersEndWithTheInstance(t *testing.T) {
	got := alarms(t, func(c actor.Context, timers *actors.Timers[string]) {
		timers.Set(c, "of the first instance", 10*time.Millisecond)
		panic("oops")
	})
	if len(got) > 0 {
		t.Errorf("due were %v, want none", got)
	}
}
