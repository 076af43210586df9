package workflow

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

var (
	actorRun  = core.UID{Ledger: 1, Epoch: 2, Index: 3}
	actorNews = map[ActorEnd]string{ActorWorks: "works", ActorDone: "done", ActorFailed: "failed", ActorCrashed: "crashed", ActorGone: "gone", ActorSilent: "silent"}
)

// byAttempt is the Prefix of an attempt of a task.
func byAttempt(task string, n uint64) string {
	return Prefix(actorRun.String(), task, 0, core.Attempt{Epoch: 2, Number: n}, false)
}

func actorOn(node phalanx.NodeID) ActorAt {
	return ActorAt{Node: node, ID: ActorID(byAttempt("0", 1), "a"), By: byAttempt("0", 1), Version: 1}
}

// actorCalls is an ActorCaller on a cluster of a and b, and what it does.
type actorCalls struct {
	t   *testing.T
	c   *ActorCaller
	now time.Duration
}

func actorCallsAt(t *testing.T) *actorCalls {
	s := &actorCalls{t: t, c: NewActorCaller()}
	s.c.Step(0, Around{Self: "a", Nodes: []phalanx.NodeID{"a", "b"}})
	return s
}

func (s *actorCalls) does(ev ActorCallerEvent, want ...string) {
	s.t.Helper()
	var got []string
	for _, e := range s.c.Step(s.now, ev) {
		switch e := e.(type) {
		case ActorSend:
			switch l := e.Letter.(type) {
			case ActorCall:
				got = append(got, fmt.Sprint("call ", l.Number, " on ", e.To, " below ", l.Below))
			case ActorOver:
				got = append(got, fmt.Sprint("over ", l.Number, " below ", l.Below))
			}
		case ActorEnded:
			got = append(got, strings.TrimSpace(fmt.Sprint("ended ", e.Answer.Number, " ", actorNews[e.Answer.End], " ", e.Answer.Why)))
		}
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		s.t.Errorf("at %v: %q, want %q", s.now, got, want)
	}
}

func (s *actorCalls) due(want ...string) {
	s.t.Helper()
	at, ok := s.c.Due()
	if !ok {
		s.t.Fatal("nothing is due")
	}
	s.now = at
	s.does(Tick{}, want...)
}

func askActor(number uint64, on phalanx.NodeID) ActorAsk {
	return ActorAsk{To: on, Call: ActorCall{Number: number, Actor: actorOn(on)}}
}

func actorSays(number uint64, end ActorEnd) ActorAnswered {
	return ActorAnswered{From: "b", Answer: ActorAnswer{Number: number, End: end}}
}

// A call is repeated until it is answered, and each call says which others are over.
func TestActorCallIsRepeated(t *testing.T) {
	s := actorCallsAt(t)
	s.does(askActor(5, "b"), "call 5 on b below 5")
	if !s.c.Busy() {
		t.Error("no call goes on")
	}
	s.due("call 5 on b below 5")
	s.does(askActor(6, "b"), "call 6 on b below 5")
	s.does(ActorAnswered{From: "a", Answer: ActorAnswer{Number: 5, End: ActorDone}}) // it was not asked
	s.does(actorSays(5, ActorDone), "ended 5 done")
	s.does(actorSays(5, ActorDone)) // once more
	s.does(askActor(7, "b"), "call 7 on b below 6")
	s.does(actorSays(7, ActorDone), "ended 7 done")
	s.does(actorSays(6, ActorFailed), "ended 6 failed")
	s.due("over 0 below 8")
	if at, ok := s.c.Due(); ok || s.c.Busy() {
		t.Errorf("something is due at %v", at)
	}
}

// A large answer is an object, which its node keeps until the attempt has read it: other calls do not say before that the call is over.
func TestActorCallIsOverOnceItsAnswerIsRead(t *testing.T) {
	s := actorCallsAt(t)
	large := ActorAnswered{From: "b", Answer: ActorAnswer{Number: 1, End: ActorDone, Large: Ref{Object: "answer"}}}
	s.does(askActor(1, "b"), "call 1 on b below 1")
	s.does(large, "ended 1 done")
	s.does(large) // once more
	if at, ok := s.c.Due(); ok || !s.c.Busy() {
		t.Errorf("the call is over, or something is due at %v", at)
	}
	s.does(askActor(2, "b"), "call 2 on b below 1")
	s.does(ActorUnasked{Number: 1}, "over 1 below 2")
	s.does(ActorAnswered{From: "b", Answer: ActorAnswer{Number: 2, End: ActorDone, Large: Ref{Object: "answer"}}}, "ended 2 done")
	s.does(Around{Self: "a", Nodes: []phalanx.NodeID{"a"}})
	s.does(ActorUnasked{Number: 2})
	if s.c.Busy() {
		t.Error("a call goes on to a node that has left")
	}
}

// A node that says that it works is waited for; one that says nothing is not, for long.
func TestActorCallToASilentNode(t *testing.T) {
	s := actorCallsAt(t)
	s.does(askActor(1, "b"), "call 1 on b below 1")
	for range 100 {
		s.due("call 1 on b below 1")
		s.does(actorSays(1, ActorWorks))
	}
	last := s.now
	for s.now < last+actorSilentMost-2*time.Second {
		s.due("call 1 on b below 1")
	}
	s.due("ended 1 silent node b has not answered for 10s")
	if s.now != last+actorSilentMost {
		t.Errorf("it ends after %v", s.now-last)
	}
}

// A node that leaves has no actors any more, whether it is called before or after. One that no view has named yet may be about to join.
func TestActorCallToANodeThatLeaves(t *testing.T) {
	s := actorCallsAt(t)
	s.does(askActor(1, "b"), "call 1 on b below 1")
	s.does(askActor(2, "c"), "call 2 on c below 2")
	s.does(Around{Self: "a", Nodes: []phalanx.NodeID{"a", "c"}}, "ended 1 gone node b has left")
	s.does(askActor(3, "b"), "ended 3 gone node b has left")
	s.does(ActorUnasked{Number: 2}, "over 2 below 3")
	s.does(askActor(4, "d"), "call 4 on d below 4")
	s.due("call 4 on d below 4")
	s.due("over 0 below 3")
	s.due("call 4 on d below 4")
	s.due("ended 4 gone node d is no member")
}

// A node that has begun anew has none of the actors that it had, also for a node that has never seen what it was.
func TestActorCallToAnEarlierIncarnation(t *testing.T) {
	s := actorCallsAt(t)
	s.does(askActor(1, "c#ff"), "call 1 on c#ff below 1")
	s.does(askActor(2, "c#101"), "call 2 on c#101 below 2")
	s.does(Around{Self: "a", Nodes: []phalanx.NodeID{"a", "b", "c#100"}}, "ended 1 gone node c#ff has left")
	s.does(askActor(3, "c#fe"), "ended 3 gone node c#fe has left")
	s.does(Around{Self: "a", Nodes: []phalanx.NodeID{"a", "b", "c#101"}})
	s.does(ActorAnswered{From: "c#101", Answer: ActorAnswer{Number: 2, End: ActorDone}}, "ended 2 done")
}

// hosts is an ActorHost on node b, with callers a and c, and what it does.
type actorHosts struct {
	t *testing.T
	h *ActorHost
}

func actorHostOf(t *testing.T) *actorHosts {
	s := &actorHosts{t, NewActorHost("b")}
	s.h.Step(Around{Self: "b", Nodes: []phalanx.NodeID{"a", "b", "c"}})
	return s
}

func (s *actorHosts) does(ev ActorHostEvent, want ...string) {
	s.t.Helper()
	var got []string
	for _, e := range s.h.Step(ev) {
		switch e := e.(type) {
		case ActorPerform:
			got = append(got, fmt.Sprint("perform ", e.Call.Number))
		case ActorStop:
			got = append(got, fmt.Sprint("stop ", e.Number))
		case ActorReply:
			got = append(got, strings.TrimSpace(fmt.Sprint(e.Answer.Number, " ", actorNews[e.Answer.End], " ", e.Answer.Why)))
		case ActorDrop:
			got = append(got, "drop")
		case ActorKept:
			got = append(got, "kept")
		}
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		s.t.Errorf("%q, want %q", got, want)
	}
}

func called(number uint64, deed ActorDeed, at ActorAt, by, name string) ActorCalled {
	return ActorCalled{From: "a", Call: ActorCall{Number: number, Deed: deed, Actor: at, By: by, Name: name}}
}

func performed(number uint64, end ActorEnd) ActorPerformed {
	return ActorPerformed{From: "a", Answer: ActorAnswer{Number: number, End: end}}
}

// A call is carried out once, and answered as often as it comes.
func TestActorHostCarriesOutOnce(t *testing.T) {
	s, at := actorHostOf(t), actorOn("b")
	s.does(called(1, ActorMake, at, "", "k"), "kept, perform 1")
	s.does(called(1, ActorMake, at, "", "k"), "1 works")
	if !s.h.Busy() {
		t.Error("no call goes on")
	}
	s.does(performed(1, ActorDone), "1 done")
	if s.h.Busy() {
		t.Error("a call goes on that has ended")
	}
	s.does(called(1, ActorMake, at, "", "k"), "1 done")
	s.does(called(2, ActorDo, at, byAttempt("1", 2), "m"), "perform 2")
	s.does(performed(2, ActorFailed), "2 failed")
	s.does(called(2, ActorDo, at, byAttempt("1", 2), "m"), "2 failed")
	s.does(ActorLeft{From: "a", Over: ActorOver{Below: 3}})
	s.does(called(2, ActorDo, at, byAttempt("1", 2), "m")) // a late copy
	if s.h.bytes != 0 || len(s.h.open) != 0 {
		t.Errorf("%d bytes, %d calls", s.h.bytes, len(s.h.open))
	}
}

// An attempt that writes has moved the version away: neither a reader nor another writer can use it, nor the attempt's copy elsewhere.
func TestActorHostKnowsVersions(t *testing.T) {
	s, at := actorHostOf(t), actorOn("b")
	s.does(called(1, ActorDo, at, "", "m"), "1 gone node b does not have the actor any more")
	s.does(called(2, ActorMake, at, "", "k"), "kept, perform 2")
	s.does(performed(2, ActorDone), "2 done")
	s.does(called(3, ActorDo, at, "", "m"), "perform 3")
	s.does(called(4, ActorDo, at, byAttempt("1", 2), ""), "4 done") // it only makes the next version
	s.does(called(5, ActorDo, at, byAttempt("1", 3), "m"), "5 gone the actor is at version 2, which "+byAttempt("1", 2)+" has written, and not at 1 any more")
	s.does(called(6, ActorDo, at, "", "m"), "6 gone the actor is at version 2, which "+byAttempt("1", 2)+" has written, and not at 1 any more")
	s.does(called(7, ActorMake, at, "", "k"), "7 failed there is an actor "+at.ID)
	elsewhere := at
	elsewhere.Node = "c"
	s.does(called(8, ActorDo, elsewhere, "", "m"), "8 gone the actor was on node c, and this is node b")
	other := at
	other.Version, other.By = 2, byAttempt("1", 3)
	s.does(called(9, ActorSave, other, "", ""), "9 gone the actor is at version 2 of "+byAttempt("1", 2)+", and not at 2 of "+byAttempt("1", 3))
	s.does(called(10, ActorDiscard, other, "", ""), "10 done")
	other.By = byAttempt("1", 2)
	s.does(called(11, ActorDiscard, other, "", ""), "drop, stop 3, 3 gone the attempt that has made this version of the actor does not use it, 11 done")
	if s.h.Runs() != nil {
		t.Error(s.h.Runs())
	}
}

// The calls of an actor that dies, or whose run ends, are answered. Nobody waits for those of a node that has left.
func TestActorHostEndsCalls(t *testing.T) {
	s, at := actorHostOf(t), actorOn("b")
	second := at
	second.ID += "b"
	s.does(called(1, ActorMake, at, "", "k"), "kept, perform 1")
	s.does(performed(1, ActorFailed), "1 failed")
	s.does(ActorDied{ID: at.ID, Why: "it was not made"})
	s.does(called(2, ActorMake, at, "", "k"), "kept, perform 2")
	s.does(called(3, ActorMake, second, "", "k"), "perform 3")
	s.does(ActorDied{ID: at.ID, Why: "it has panicked"}, "stop 2, 2 crashed it has panicked")
	s.does(performed(2, ActorDone)) // too late
	s.does(ActorsFreed{Runs: []core.Released{{Run: actorRun}}}, "drop, stop 3, 3 gone the run of the actor has ended")
	s.does(called(4, ActorMake, at, "", "k"), "kept, perform 4")
	s.does(ActorLeft{From: "a", Over: ActorOver{Number: 4}}, "stop 4")
	s.does(called(5, ActorDo, at, "", "m"), "perform 5")
	s.does(Around{Self: "b", Nodes: []phalanx.NodeID{"b", "c"}}, "stop 5")
	s.does(called(6, ActorDo, at, "", "m")) // of a node that is no member
	if s.h.bytes != 0 || len(s.h.open) != 0 {
		t.Errorf("%d bytes, %d calls", s.h.bytes, len(s.h.open))
	}
}

// A node takes no more calls than it can keep. Those that it does not take are repeated.
func TestActorHostIsFull(t *testing.T) {
	s, at := actorHostOf(t), actorOn("b")
	s.does(called(1, ActorMake, at, "", "k"), "kept, perform 1")
	n := uint64(2)
	for ; s.h.bytes+callBytes+MaxActorBytes <= mostActorBytes; n++ {
		s.h.Step(ActorCalled{From: "a", Call: ActorCall{Number: n, Actor: at, Name: "m", Bytes: make([]byte, MaxActorBytes)}})
	}
	full := ActorCalled{From: "a", Call: ActorCall{Number: n, Actor: at, Name: "m", Bytes: make([]byte, MaxActorBytes)}}
	s.does(full, fmt.Sprint(n, " works"))
	s.does(performed(2, ActorDone), "2 done")
	s.does(full, fmt.Sprint("perform ", n))
}

// A node that is full of answers takes the oldest call of each node: what it keeps is of later ones, and waits for that.
func TestActorHostIsFullOfAnswers(t *testing.T) {
	s, at := actorHostOf(t), actorOn("b")
	s.does(called(1, ActorMake, at, "", "k"), "kept, perform 1")
	s.does(performed(1, ActorDone), "1 done")
	for n := uint64(3); s.h.bytes+callBytes <= mostActorBytes; n++ { // call 2 is late
		s.h.Step(ActorCalled{From: "a", Call: ActorCall{Number: n, Below: 2, Actor: at, Name: "m"}})
		s.h.Step(ActorPerformed{From: "a", Answer: ActorAnswer{Number: n, End: ActorDone, Bytes: make([]byte, MaxActorBytes)}})
	}
	s.does(ActorCalled{From: "c", Call: ActorCall{Number: 2, Below: 1, Actor: at, Name: "m"}}, "2 works")
	s.does(ActorCalled{From: "a", Call: ActorCall{Number: 2, Below: 2, Actor: at, Name: "m"}}, "perform 2")
}

// A call for which nobody waits is stopped, although one that was made later has come before it and goes on.
func TestActorHostStopsCallsInAnyOrder(t *testing.T) {
	s, at := actorHostOf(t), actorOn("b")
	s.does(called(1, ActorMake, at, "", "k"), "kept, perform 1")
	s.does(performed(1, ActorDone), "1 done")
	s.does(called(7, ActorDo, at, "", "m"), "perform 7")
	s.does(called(5, ActorDo, at, "", "m"), "perform 5")
	s.does(ActorLeft{From: "a", Over: ActorOver{Number: 5, Below: 7}}, "stop 5")
	if of := s.h.callers["a"]; len(of.calls) != 1 || len(of.order) != 1 {
		t.Errorf("%v is kept of %v", of.order, of.calls)
	}
}

// However many letters are lost, late or doubled: each call ends once, and is carried out once if it ends well.
func TestActorCallsOverABadLink(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		c, h := NewActorCaller(), NewActorHost("b")
		nodes := []phalanx.NodeID{"a", "b"}
		c.Step(0, Around{Self: "a", Nodes: nodes})
		h.Step(Around{Self: "b", Nodes: nodes})
		type event struct {
			at time.Duration
			do func()
		}
		var events []event
		var now time.Duration
		var asked uint64
		carried, ended := map[uint64]int{}, map[uint64]ActorEnd{}
		later := func(d time.Duration, do func()) { events = append(events, event{now + d, do}) }
		link := func(do func()) {
			for range r.IntN(4) { // lost, once, or more often
				later(time.Duration(r.Int64N(int64(700*time.Millisecond))), do)
			}
		}
		var caller func(ActorCallerEvent)
		var host func(ActorHostEvent)
		host = func(ev ActorHostEvent) {
			for _, e := range h.Step(ev) {
				switch e := e.(type) {
				case ActorPerform:
					carried[e.Call.Number]++
					later(time.Duration(r.Int64N(int64(3*time.Second))), func() {
						host(ActorPerformed{From: e.From, Answer: ActorAnswer{Number: e.Call.Number, End: ActorDone}})
					})
				case ActorReply:
					link(func() { caller(ActorAnswered{From: "b", Answer: e.Answer}) })
				}
			}
		}
		caller = func(ev ActorCallerEvent) {
			for _, e := range c.Step(now, ev) {
				switch e := e.(type) {
				case ActorSend:
					switch l := e.Letter.(type) {
					case ActorCall:
						link(func() { host(ActorCalled{From: "a", Call: l}) })
					case ActorOver:
						link(func() { host(ActorLeft{From: "a", Over: l}) })
					}
				case ActorEnded:
					if _, is := ended[e.Answer.Number]; is {
						t.Fatalf("seed %d: call %d ends twice", seed, e.Answer.Number)
					}
					ended[e.Answer.Number] = e.Answer.End
				}
			}
		}
		host(ActorCalled{From: "b", Call: ActorCall{Number: 1, Deed: ActorMake, Actor: actorOn("b"), Name: "k"}})
		gone := map[uint64]bool{}
		for range 30 {
			later(time.Duration(r.Int64N(int64(5*time.Second))), func() {
				asked++
				n := asked
				caller(ActorAsk{To: "b", Call: ActorCall{Number: n, Actor: actorOn("b"), Name: "m"}})
				if r.IntN(5) == 0 {
					later(time.Duration(r.Int64N(int64(time.Second))), func() {
						if _, is := ended[n]; !is {
							gone[n] = true
							caller(ActorUnasked{Number: n})
						}
					})
				}
			})
		}
		for len(events) > 0 || len(c.calls) > 0 || len(c.peers) > 0 {
			next := -1
			for i, e := range events {
				if next < 0 || e.at < events[next].at {
					next = i
				}
			}
			if at, ok := c.Due(); ok && (next < 0 || at < events[next].at) {
				now = at
				caller(Tick{})
				continue
			}
			e := events[next]
			events = append(events[:next], events[next+1:]...)
			now = e.at
			e.do()
		}
		delete(carried, 1<<63)
		for n := uint64(1); n <= asked; n++ {
			end, is := ended[n]
			switch {
			case gone[n] == is:
				t.Fatalf("seed %d: call %d was withdrawn: %v, has ended: %v", seed, n, gone[n], is)
			case is && (end == ActorDone) != (carried[n] > 0) && end != ActorSilent:
				t.Fatalf("seed %d: call %d has ended as %s, and was carried out %d times", seed, n, actorNews[end], carried[n])
			}
			if most := 1; carried[n] > most && n > 1 {
				t.Fatalf("seed %d: call %d was carried out %d times", seed, n, carried[n])
			}
		}
	}
}
