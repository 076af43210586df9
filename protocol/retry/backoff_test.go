package retry

import (
	"testing"
	"time"
)

const ms = time.Millisecond

// Pauses double from the first one up to the bound.
func TestPauses(t *testing.T) {
	p := Pauses{First: 50 * ms, Most: time.Second}
	for times, want := range []time.Duration{50 * ms, 50 * ms, 100 * ms, 200 * ms, 400 * ms, 800 * ms, time.Second, time.Second} {
		if got := p.After(times); got != want {
			t.Errorf("after %d times: %v, want %v", times, got, want)
		}
	}
	if got := (Pauses{First: time.Second, Most: 50 * ms}).After(1); got != 50*ms {
		t.Errorf("the first pause is %v, and more than the bound", got)
	}
	if got := p.After(1 << 30); got != time.Second {
		t.Errorf("after very many times: %v", got)
	}
}

// Pauses that do not double are those whose bound is the first one.
func TestPausesThatStay(t *testing.T) {
	p := Pauses{First: 50 * ms, Most: 50 * ms}
	for times := range 5 {
		if got := p.After(times); got != 50*ms {
			t.Errorf("after %d times: %v", times, got)
		}
	}
}

// An answer has the pauses begin anew.
func TestBackoff(t *testing.T) {
	p := Pauses{First: 10 * ms, Most: 40 * ms}
	var b Backoff
	if b.Waits() || b.Times() != 0 {
		t.Fatalf("it was not sent, and is %+v", b)
	}
	now := time.Duration(0)
	for _, want := range []time.Duration{10 * ms, 20 * ms, 40 * ms, 40 * ms} {
		b.Sent(now)
		if at := b.At(p); !b.Waits() || at != now+want || b.Last() != now {
			t.Errorf("sent at %v for the %dth time: again at %v, want %v later", now, b.Times(), at, want)
		}
		now = b.At(p)
	}
	last := b.Last()
	if b.Answered(); b.Waits() || b.Last() != last {
		t.Errorf("it was answered, and is %+v", b)
	}
	if b.Sent(now); b != Once(now) || b.At(p) != now+10*ms {
		t.Errorf("sent again at %v: %+v", now, b)
	}
}

// The first pause grows with the time that answers take, and shrinks with it.
func TestTrip(t *testing.T) {
	var trip Trip
	first := func() time.Duration { return trip.Pauses(10*ms, time.Second).First }
	if got := first(); got != 10*ms {
		t.Errorf("before the first answer: %v", got)
	}
	for range 100 {
		trip.Took(20 * ms)
	}
	if got := first(); got < 79*ms || got > 80*ms {
		t.Errorf("answers take 20 ms: %v, want four times that", got)
	}
	for range 100 {
		trip.Took(ms)
	}
	if got := first(); got != 10*ms {
		t.Errorf("answers take 1 ms again: %v", got)
	}
}
