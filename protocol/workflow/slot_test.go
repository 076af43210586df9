package workflow

import (
	"fmt"
	"testing"
	"time"
)

// The controller hears at once that an attempt waits, then every five seconds, also one that has only just asked, and at once
// when the attempt goes on.
func TestAnExecutorTellsThatAnAttemptWaits(t *testing.T) {
	e := newExecuting(t)
	id := AttemptID{Attempt: Attempt{3, 1}}
	e.x.Step(0, Heard{"c", Order{Epoch: 3, Serial: 1, ID: id}})
	expect := func(now time.Duration, ev ExecutorEvent, want ...string) {
		t.Helper()
		var got []string
		for _, e := range e.x.Step(now, ev) {
			if to, is := e.(ToController); is {
				if w, is := to.Message.(Waits); is {
					got = append(got, fmt.Sprint(to.To, " ", w.Epoch, " ", w.On))
				}
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("at %v: %v, want %v", now, got, want)
		}
	}
	expect(0, AttemptWaits{ID: id, On: true}, "c 3 true")
	expect(0, AttemptWaits{ID: id, On: true})
	expect(0, AttemptWaits{ID: AttemptID{Task: 7}, On: true})
	if at, ok := e.x.Due(); !ok || at != waitsPause {
		t.Error(at, ok)
	}
	expect(waitsPause, Tick{}, "c 3 true")
	expect(waitsPause+1, Heard{"d", Ask{Epoch: 4, Number: 1}}, "d 4 true")
	expect(waitsPause+2, AttemptWaits{ID: id}, "d 4 false")
	expect(3*waitsPause, Tick{})
	expect(3*waitsPause, AttemptWaits{ID: id, On: true}, "d 4 true")
	expect(3*waitsPause, AttemptEnded{ID: id})
	expect(9*waitsPause, Tick{})
	if e.x.waits.Len() > 0 {
		t.Error("something is left")
	}
}

// An attempt that waits takes no slot: another one gets it. However often the controller hears it, each slot is counted once.
func TestAnAttemptThatWaitsTakesNoSlot(t *testing.T) {
	d := started(t, "a; b; c; d; e < a b c d")
	d.durable()
	const slots = 2
	if len(d.orders) != slots {
		t.Fatalf("%d orders for two slots", len(d.orders))
	}
	n, first := d.order()
	for range 2 {
		d.do(Heard{n, Waits{Epoch: 1, ID: first.ID, On: true}})
	}
	d.durable()
	if len(d.orders) != slots {
		t.Fatalf("%d more orders, and one attempt waits", len(d.orders)-1)
	}
	m := d.c.members[n]
	for range 2 {
		d.do(Heard{n, Waits{Epoch: 1, ID: first.ID}})
	}
	if m.used != slots+1 {
		t.Errorf("%d slots are taken, and three attempts go on", m.used)
	}
	d.do(Heard{n, Waits{Epoch: 1, ID: first.ID, On: true}})
	d.do(Heard{"n2", Waits{Epoch: 1, ID: first.ID}})
	d.reports(n, first, small, "")
	d.durable()
	if m.used != slots {
		t.Errorf("%d slots are taken, and two attempts go on", m.used)
	}
}
