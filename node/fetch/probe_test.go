package fetch

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// looking is a probe that has begun, and the number of its next question.
type looking struct {
	t    *testing.T
	p    Probe
	now  time.Duration
	next uint64
}

func newLooking(t *testing.T) *looking {
	l := &looking{t: t, p: NewProbe(ProbeEvery), next: 1}
	if _, ok := l.p.Due(); ok {
		t.Fatal("it looks before bytes were asked for")
	}
	l.p.Begin(0)
	l.p.Begin(time.Second) // for another stream
	return l
}

// look lets time pass to the next look.
func (l *looking) look(held int64, waits bool, wantAsk, wantForget uint64) {
	l.t.Helper()
	at, ok := l.p.Due()
	if !ok || at != l.now+ProbeEvery {
		l.t.Fatalf("it is to look at %v, %v", at, ok)
	}
	l.now = at
	ask, forget := l.p.Look(at, seen(held), waits, l.next)
	if l.next++; ask != wantAsk || forget != wantForget {
		l.t.Fatalf("it asks with %d and ends %d", ask, forget)
	}
}

func seen(held int64) Seen { return Seen{Gen: phalanx.Generation{Epoch: 1, Seq: 1}, Held: held} }

// A probe asks once while nothing comes, and again once that was answered.
func TestAProbeAsksWhileNothingComes(t *testing.T) {
	l := newLooking(t)
	l.look(10, true, 0, 0)
	l.look(20, true, 0, 0)
	l.look(20, true, 3, 0)
	l.look(20, true, 0, 0)
	l.p.Answered(2) // an earlier question
	l.look(20, true, 0, 0)
	l.p.Answered(3)
	l.look(20, true, 6, 0)
	if forget := l.p.End(); forget != 6 {
		t.Errorf("it ends %d", forget)
	}
}

// A question is over once bytes come, or nobody waits for senders.
func TestAProbeEndsItsQuestion(t *testing.T) {
	l := newLooking(t)
	l.look(10, true, 0, 0)
	l.look(10, true, 2, 0)
	l.look(11, true, 0, 2)
	l.look(11, true, 4, 0)
	l.look(11, false, 0, 4)
	ask, _ := l.p.Look(l.now+ProbeEvery, Seen{}, true, 9) // what was here was cleared
	if ask != 0 {
		t.Error("it asks although something has happened")
	}
}

// A probe turns callers away if the owner is silent, unless bytes have come since, nobody waits, or the
// silence is about an earlier question.
func TestAProbeOfASilentOwner(t *testing.T) {
	for _, c := range []struct {
		name  string
		num   uint64
		held  int64
		waits bool
		away  bool
	}{
		{"silent", 2, 10, true, true},
		{"bytes came", 2, 11, true, false},
		{"nobody waits", 2, 10, false, false},
		{"an earlier question", 1, 10, true, false},
	} {
		l := newLooking(t)
		l.look(10, true, 0, 0)
		l.look(10, true, 2, 0)
		if away := l.p.Silent(c.num, seen(c.held), c.waits); away != c.away {
			t.Errorf("%s: %v", c.name, away)
		}
	}
}
