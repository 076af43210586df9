package actors_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx/actors"
)

// sleeper reports when it is woken, in milliseconds, and does what it is sent.
type sleeper struct {
	wakeup actors.Wakeup
	clock  func() time.Duration
	woken  chan<- time.Duration
}

func (s *sleeper) Receive(c actor.Context) {
	if s.wakeup.Due(c) {
		s.woken <- s.clock() / time.Millisecond
		return
	}
	if f, ok := c.Message().(func(set func(ms time.Duration, ok bool))); ok {
		f(func(ms time.Duration, ok bool) { s.wakeup.Set(c, s.clock(), ms*time.Millisecond, ok) })
	}
}

// woken returns when an actor is woken that does each of these, with a pause after each.
func woken(t *testing.T, pause time.Duration, do ...func(set func(ms time.Duration, ok bool))) []time.Duration {
	got := make(chan time.Duration, 100)
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		clock := func() time.Duration { return time.Since(start) }
		sys := actors.NewSystem("a", quiet())
		pid := sys.Root.Spawn(actors.Restarting(quiet()).Guard(actor.PropsFromProducer(func() actor.Actor {
			return &sleeper{clock: clock, woken: got}
		})))
		for _, f := range do {
			sys.Root.Send(pid, f)
			time.Sleep(pause)
		}
		time.Sleep(time.Second)
		_ = sys.Root.StopFuture(pid).Wait()
		settle()
	})
	close(got)
	var all []time.Duration
	for at := range got {
		all = append(all, at)
	}
	return all
}

func TestWakeup(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(set func(ms time.Duration, ok bool))
		want []time.Duration
	}{
		"the earliest time counts":  {func(set func(time.Duration, bool)) { set(30, true); set(20, true); set(40, true) }, []time.Duration{20}},
		"what is due comes at once": {func(set func(time.Duration, bool)) { set(-5, true) }, []time.Duration{0}},
		"nothing is due any more":   {func(set func(time.Duration, bool)) { set(20, true); set(0, false) }, nil},
		"nor when it is on its way": {func(set func(time.Duration, bool)) {
			set(0, true)
			time.Sleep(time.Millisecond) // the message is in the mailbox
			set(0, false)
		}, nil},
		"it is set again after that": {func(set func(time.Duration, bool)) { set(10, true); set(0, false); set(20, true) }, []time.Duration{20}},
		"it ends with the actor":     {func(set func(time.Duration, bool)) { set(5000, true) }, nil},
		"it ends with the instance":  {func(set func(time.Duration, bool)) { set(10, true); panic("oops") }, nil},
	} {
		if got := woken(t, 0, c.do); !slices.Equal(got, c.want) {
			t.Errorf("%s: woken at %v ms, want %v", name, got, c.want)
		}
	}
}

// A slow actor hears of it once, when it has time.
func TestWakeupOfASlowActor(t *testing.T) {
	sets := func(set func(time.Duration, bool)) { set(10, true) }
	slow := func(set func(time.Duration, bool)) { time.Sleep(25 * time.Millisecond); set(30, true) }
	if got, want := woken(t, 0, sets, slow), []time.Duration{25}; !slices.Equal(got, want) {
		t.Errorf("woken at %v ms, want %v", got, want)
	}
}

// An earlier time counts also if it is set after a later one, and the actor was woken before.
func TestWakeupIsMovedForward(t *testing.T) {
	first := func(set func(time.Duration, bool)) { set(20, true) }
	then := func(set func(time.Duration, bool)) { set(300, true); set(200, true) }
	if got, want := woken(t, 100*time.Millisecond, first, then), []time.Duration{20, 200}; !slices.Equal(got, want) {
		t.Errorf("woken at %v ms, want %v", got, want)
	}
}

// A message to an instance that has ended does not wake the next one.
func TestWakeupOfTheInstanceBefore(t *testing.T) {
	dies := func(set func(time.Duration, bool)) {
		set(0, true)
		time.Sleep(time.Millisecond) // the message is in the mailbox
		panic("oops")
	}
	next := func(set func(time.Duration, bool)) { set(500, true) }
	if got, want := woken(t, 0, dies, next), []time.Duration{500}; !slices.Equal(got, want) {
		t.Errorf("woken at %v ms, want %v", got, want)
	}
}
