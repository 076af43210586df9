package workflow

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// badLink has node a call an actor on node b. Their letters are lost, late or doubled.
type badLink struct {
	t       *testing.T
	r       *rand.Rand
	c       *ActorCaller
	h       *ActorHost
	now     time.Duration
	events  []linkEvent
	noOvers bool                // each ActorOver is lost
	lasts   map[uint64]bool     // calls that an actor carries out until it is stopped
	long    uint64              // a call that takes longer than all others
	carried map[uint64]int      // how often calls were carried out
	ended   map[uint64]ActorEnd // how they have ended
	gone    map[uint64]bool     // calls that the caller has withdrawn
	kept    int                 // how many calls the host keeps as the long one ends
}

type linkEvent struct {
	at time.Duration
	do func()
}

const longCall = 40 * time.Second

func (l *badLink) later(d time.Duration, do func()) {
	l.events = append(l.events, linkEvent{l.now + d, do})
}

// within is later within d.
func (l *badLink) within(d time.Duration, do func()) {
	l.later(time.Duration(l.r.Int64N(int64(d))), do)
}

// send brings a letter, or does not, or does so more than once.
func (l *badLink) send(do func()) {
	for range l.r.IntN(4) {
		l.within(700*time.Millisecond, do)
	}
}

func (l *badLink) host(ev ActorHostEvent) {
	for _, e := range l.h.Step(l.now, ev) {
		switch e := e.(type) {
		case ActorPerform:
			n, _ := strconv.ParseUint(e.Call.As, 10, 64)
			l.carried[n]++
			end := func() {
				if n == l.long && l.h.call("a", e.Call.Number) != nil {
					l.kept = len(l.h.callers["a"].calls)
				}
				l.host(ActorPerformed{From: e.From, Answer: ActorAnswer{Number: e.Call.Number, End: ActorDone, Bytes: make([]byte, 1000)}})
			}
			switch {
			case l.lasts[n]:
			case n == l.long:
				l.later(longCall, end)
			default:
				l.within(3*time.Second, end)
			}
		case ActorReply:
			l.send(func() { l.caller(ActorAnswered{From: "b", Answer: e.Answer}) })
		}
	}
}

func (l *badLink) caller(ev ActorCallerEvent) {
	for _, e := range l.c.Step(l.now, ev) {
		switch e := e.(type) {
		case ActorSend:
			switch m := e.Letter.(type) {
			case ActorCall:
				l.send(func() { l.host(ActorCalled{From: "a", Call: m}) })
			case ActorOver:
				if !l.noOvers {
					l.send(func() { l.host(ActorLeft{From: "a", Over: m}) })
				}
			}
		case ActorEnded:
			if _, is := l.ended[e.Answer.Number]; is {
				l.t.Fatalf("call %d ends twice", e.Answer.Number)
			}
			l.ended[e.Answer.Number] = e.Answer.End
		}
	}
}

// ask makes a call. Some are withdrawn.
func (l *badLink) ask(n uint64) {
	withdrawn := n != l.long && l.r.IntN(5) == 0
	l.lasts[n] = withdrawn && l.r.IntN(2) == 0
	l.caller(ActorAsk{To: "b", Call: ActorCall{Number: n, Actor: actorOn("b"), Name: "m", As: fmt.Sprint(n)}})
	if withdrawn {
		l.within(time.Second, func() {
			if _, is := l.ended[n]; !is {
				l.gone[n] = true
				l.caller(ActorUnasked{Number: n})
			}
		})
	}
}

// step does what is next; false: that is after the time until, or nothing.
func (l *badLink) step(until time.Duration) bool {
	next := -1
	at := until
	for i, e := range l.events {
		if e.at <= at && (next < 0 || e.at < l.events[next].at) {
			next, at = i, e.at
		}
	}
	if due, ok := l.c.Due(); ok && due < at {
		l.now = due
		l.caller(Tick{})
		return true
	}
	if due, ok := l.h.Due(); ok && due < at {
		l.now = due
		l.host(Tick{})
		return true
	}
	if next < 0 {
		return false
	}
	e := l.events[next]
	l.events[next] = l.events[len(l.events)-1]
	l.events = l.events[:len(l.events)-1]
	l.now = e.at
	e.do()
	return true
}

// However many letters are lost, late or doubled: each call ends once, and is carried out once if it ends well. The host does not keep
// the calls that were made while a long one goes on, and none goes on in the end.
func TestActorCallsOverABadLink(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			l := &badLink{t: t, r: rand.New(rand.NewPCG(seed, 1)), c: NewActorCaller(), h: NewActorHost("b"), noOvers: seed%3 == 0, long: 1 + seed%5,
				lasts: map[uint64]bool{}, carried: map[uint64]int{}, ended: map[uint64]ActorEnd{}, gone: map[uint64]bool{}}
			nodes := []phalanx.NodeID{"a", "b"}
			l.c.Step(0, Around{Self: "a", Nodes: nodes})
			l.h.Step(0, Around{Self: "b", Nodes: nodes})
			l.h.Step(0, ActorCalled{From: "b", Call: ActorCall{Number: 1, Deed: ActorMake, Actor: actorOn("b"), Name: "k"}})
			l.h.Step(0, ActorPerformed{From: "b", Answer: ActorAnswer{Number: 1, End: ActorDone}})
			calls, most := uint64(30), 0
			if seed == 100 {
				calls = 3 * MaxOpen
			}
			var asked uint64
			for range calls {
				l.within(5*time.Second, func() {
					asked++
					l.ask(asked)
				})
			}
			for l.step(3 * time.Minute) {
				most = max(most, len(l.c.calls))
				if bytes := l.h.bytes; bytes > int(asked+1)*(callBytes+1000) {
					t.Fatalf("%d bytes of %d calls", bytes, asked)
				}
			}
			if seed == 100 && most <= MaxOpen {
				t.Errorf("%d calls at once are few", most)
			}
			if l.ended[l.long] == ActorDone && l.kept > 1 {
				t.Errorf("%d calls are kept behind a long one", l.kept)
			}
			if l.c.Busy() || len(l.c.peers) > 0 || l.h.Busy() || l.h.bytes > callBytes*int(calls+1) {
				t.Errorf("%d calls go on, or %d; there are %d bytes", len(l.c.calls), len(l.h.open), l.h.bytes)
			}
			for n := uint64(1); n <= asked; n++ {
				end, is := l.ended[n]
				switch {
				case l.gone[n] == is:
					t.Errorf("call %d was withdrawn: %v, has ended: %v", n, l.gone[n], is)
				case is && (end == ActorDone) != (l.carried[n] > 0) && end != ActorSilent:
					t.Errorf("call %d has ended as %s, and was carried out %d times", n, actorNews[end], l.carried[n])
				case l.carried[n] > 1:
					t.Errorf("call %d was carried out %d times", n, l.carried[n])
				}
			}
		})
	}
}

// A call costs about the same, however many others go on.
func BenchmarkActorHost(b *testing.B) {
	for _, open := range []int{10, 1_000, 100_000} {
		b.Run(fmt.Sprint(open), func(b *testing.B) {
			h, p := NewActorHost("b"), &actorPeer{calls: map[uint64]*actorCall{}, next: 1}
			h.Step(0, Around{Self: "b", Nodes: []phalanx.NodeID{"a", "b"}})
			h.Step(0, ActorCalled{From: "b", Call: ActorCall{Number: 1, Deed: ActorMake, Actor: actorOn("b"), Name: "k"}})
			at := actorOn("b")
			call := func() {
				a := &actorCall{call: ActorCall{Actor: at, Name: "m"}}
				p.add(a)
				a.call.OpenCalls = p.list()
				h.Step(0, ActorCalled{From: "a", Call: a.call})
			}
			for range open {
				call()
			}
			r := rand.New(rand.NewPCG(1, 1))
			for b.Loop() {
				call()
				n := p.next - 1 - r.Uint64N(uint64(open))
				for p.calls[n] == nil {
					n = p.open[0]
				}
				h.Step(0, ActorPerformed{From: "a", Answer: ActorAnswer{Number: n, End: ActorDone}})
				p.remove(n)
			}
		})
	}
}
