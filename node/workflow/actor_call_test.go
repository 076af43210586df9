package workflow

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
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
				got = append(got, fmt.Sprint("call ", l.Number, " on ", e.To, " of ", l.Open, " below ", l.Below))
			case ActorOver:
				got = append(got, fmt.Sprint("over ", l.Number, " of ", l.Open, " below ", l.Below))
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

// A call is repeated until it is answered, and each letter says which calls go on. Letters count the calls to each node.
func TestActorCallIsRepeated(t *testing.T) {
	s := actorCallsAt(t)
	s.does(askActor(5, "b"), "call 1 on b of [1] below 2")
	if !s.c.Busy() {
		t.Error("no call goes on")
	}
	s.due("call 1 on b of [1] below 2")
	s.does(askActor(6, "b"), "call 2 on b of [1 2] below 3")
	s.does(ActorAnswered{From: "a", Answer: ActorAnswer{Number: 1, End: ActorDone}}) // it was not asked
	s.does(actorSays(1, ActorDone), "ended 5 done")
	s.does(actorSays(1, ActorDone)) // once more
	s.does(askActor(7, "b"), "call 3 on b of [2 3] below 4")
	s.does(actorSays(3, ActorDone), "ended 7 done")
	s.does(actorSays(2, ActorFailed), "ended 6 failed")
	s.due("over 0 of [] below 4")
	if at, ok := s.c.Due(); ok || s.c.Busy() {
		t.Errorf("something is due at %v", at)
	}
	s.does(askActor(8, "b"), "call 4 on b of [4] below 5") // the node remembers the numbers before
}

// A large answer is an object, which its node keeps until the attempt has read it: other calls do not say before that the call is over.
func TestActorCallIsOverOnceItsAnswerIsRead(t *testing.T) {
	s := actorCallsAt(t)
	large := ActorAnswered{From: "b", Answer: ActorAnswer{Number: 1, End: ActorDone, Large: Ref{Object: "answer"}}}
	s.does(askActor(11, "b"), "call 1 on b of [1] below 2")
	s.does(large, "ended 11 done")
	s.does(large) // once more
	if at, ok := s.c.Due(); ok || !s.c.Busy() {
		t.Errorf("the call is over, or something is due at %v", at)
	}
	s.does(askActor(12, "b"), "call 2 on b of [1 2] below 3")
	s.does(ActorUnasked{Number: 11}, "over 1 of [2] below 3")
	s.does(ActorAnswered{From: "b", Answer: ActorAnswer{Number: 2, End: ActorDone, Large: Ref{Object: "answer"}}}, "ended 12 done")
	s.does(Around{Self: "a", Nodes: []phalanx.NodeID{"a"}})
	s.does(ActorUnasked{Number: 12})
	if s.c.Busy() {
		t.Error("a call goes on to a node that has left")
	}
}

// A node that says that it works is waited for; one that says nothing is not, for long.
func TestActorCallToASilentNode(t *testing.T) {
	s := actorCallsAt(t)
	s.does(askActor(1, "b"), "call 1 on b of [1] below 2")
	for range 100 {
		s.due("call 1 on b of [1] below 2")
		s.does(actorSays(1, ActorWorks))
	}
	last := s.now
	for s.now < last+actorSilentMost-2*time.Second {
		s.due("call 1 on b of [1] below 2")
	}
	s.due("ended 1 silent node b has not answered for 10s")
	if s.now != last+actorSilentMost {
		t.Errorf("it ends after %v", s.now-last)
	}
}

// A node that leaves has no actors any more, whether it is called before or after. One that no view has named yet may be about to join.
func TestActorCallToANodeThatLeaves(t *testing.T) {
	s := actorCallsAt(t)
	s.does(askActor(1, "b"), "call 1 on b of [1] below 2")
	s.does(askActor(2, "c"), "call 1 on c of [1] below 2")
	s.does(Around{Self: "a", Nodes: []phalanx.NodeID{"a", "c"}}, "ended 1 gone node b has left")
	s.does(askActor(3, "b"), "ended 3 gone node b has left")
	s.does(ActorUnasked{Number: 2}, "over 1 of [] below 2")
	s.does(askActor(4, "d"), "call 2 on d of [2] below 3")
	s.due("call 2 on d of [2] below 3")
	s.due("over 0 of [] below 2")
	s.due("call 2 on d of [2] below 3")
	s.due("ended 4 gone node d is no member")
}

// A node that has begun anew has none of the actors that it had, also for a node that has never seen what it was.
func TestActorCallToAnEarlierIncarnation(t *testing.T) {
	s := actorCallsAt(t)
	s.does(askActor(1, "c#ff"), "call 1 on c#ff of [1] below 2")
	s.does(askActor(2, "c#101"), "call 1 on c#101 of [1] below 2")
	s.does(Around{Self: "a", Nodes: []phalanx.NodeID{"a", "b", "c#100"}}, "ended 1 gone node c#ff has left")
	s.does(askActor(3, "c#fe"), "ended 3 gone node c#fe has left")
	s.does(Around{Self: "a", Nodes: []phalanx.NodeID{"a", "b", "c#101"}})
	s.does(ActorAnswered{From: "c#101", Answer: ActorAnswer{Number: 1, End: ActorDone}}, "ended 2 done")
}

// A letter names the calls that go on with the lowest numbers. A call of which a letter has said that it is over stays so, also if the
// calls that go on are too many for the next letter.
func TestActorCallsAreManyAtOnce(t *testing.T) {
	c := NewActorCaller()
	c.Step(0, Around{Self: "a", Nodes: []phalanx.NodeID{"a", "b"}})
	open := map[uint64]bool{}
	var number, below uint64
	r := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		var out []ActorCallerEffect
		if most := 100 + 900*int(number/1000%2); len(open) == 0 || len(open) < most && r.IntN(4) > 0 {
			number++
			open[number] = true
			out = c.Step(0, askActor(number, "b"))
		} else {
			n := slices.Sorted(maps.Keys(open))[max(r.IntN(len(open)), r.IntN(2)*(len(open)-1))] // often the newest one
			delete(open, n)
			out = c.Step(0, ActorUnasked{Number: n})
		}
		var list OpenCalls
		switch l := out[0].(ActorSend).Letter.(type) {
		case ActorCall:
			list = l.OpenCalls
		case ActorOver:
			list = l.OpenCalls
		}
		want := slices.Sorted(maps.Keys(open))
		want = want[:min(len(want), MaxOpen)]
		if !slices.Equal(list.Open, want) || list.Below < below || len(want) > 0 && list.Below <= want[len(want)-1] {
			t.Fatalf("%v below %d, after %d; want %v", list.Open, list.Below, below, want)
		}
		for n := range open {
			if _, is := slices.BinarySearch(list.Open, n); n < list.Below && !is {
				t.Fatalf("call %d is over in %v below %d", n, list.Open, list.Below)
			}
		}
		if below = list.Below; len(open) <= MaxOpen && below != number+1 {
			t.Fatalf("below %d after call %d", below, number)
		}
		if kept := len(c.peers["b"].rest); kept > 2*len(open) {
			t.Fatalf("%d numbers of %d calls", kept, len(open))
		}
	}
}

// hosts is an ActorHost on node b, with callers a and c, and what it does.
type actorHosts struct {
	t   *testing.T
	h   *ActorHost
	now time.Duration
}

func actorHostOf(t *testing.T) *actorHosts {
	s := &actorHosts{t: t, h: NewActorHost("b")}
	s.h.Step(0, Around{Self: "b", Nodes: []phalanx.NodeID{"a", "b", "c"}})
	return s
}

func (s *actorHosts) does(ev ActorHostEvent, want ...string) {
	s.t.Helper()
	var got []string
	for _, e := range s.h.Step(s.now, ev) {
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
		case ActorSpare:
			got = append(got, fmt.Sprint("spare ", e.Object))
		}
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		s.t.Errorf("%q, want %q", got, want)
	}
}

func called(number uint64, deed ActorDeed, at ActorAt, by, name string) ActorCalled {
	return ActorCalled{From: "a", Call: ActorCall{Number: number, Deed: deed, Actor: at, By: by, Name: name}}
}

// list says that only the calls of these numbers go on below another one.
func list(turn, below uint64, open ...uint64) OpenCalls {
	return OpenCalls{Turn: turn, Open: open, Below: below}
}

// due has the time pass until something is due.
func (s *actorHosts) due(at time.Duration, want ...string) {
	s.t.Helper()
	due, ok := s.h.Due()
	if !ok || due != at {
		s.t.Fatalf("due at %v, %v; want %v", due, ok, at)
	}
	s.now = at
	s.does(Tick{}, want...)
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
	s.does(ActorLeft{From: "a", Over: ActorOver{OpenCalls: list(1, 3)}})
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
	s.does(ActorLeft{From: "a", Over: ActorOver{Number: 4, OpenCalls: list(1, 1)}}, "stop 4")
	s.does(called(5, ActorDo, at, "", "m"), "perform 5")
	s.does(Around{Self: "b", Nodes: []phalanx.NodeID{"b", "c"}}, "stop 5")
	s.does(called(6, ActorDo, at, "", "m")) // of a node that is no member
	if s.h.bytes != 0 || len(s.h.open) != 0 {
		t.Errorf("%d bytes, %d calls", s.h.bytes, len(s.h.open))
	}
}

// A node takes no more calls than it can keep. Those that it does not take are repeated. The oldest one of each node is taken.
func TestActorHostIsFull(t *testing.T) {
	s, at := actorHostOf(t), actorOn("b")
	s.does(called(1, ActorMake, at, "", "k"), "kept, perform 1")
	n := uint64(2)
	call := func(from phalanx.NodeID, number uint64, l OpenCalls) ActorCalled {
		return ActorCalled{From: from, Call: ActorCall{Number: number, OpenCalls: l, Actor: at, Name: "m", Bytes: make([]byte, MaxActorBytes)}}
	}
	for ; s.h.bytes+callBytes+MaxActorBytes <= mostActorBytes; n++ {
		s.h.Step(0, call("a", n, list(n, 2, 1)))
	}
	full := call("a", n, list(n, 2, 1))
	s.does(full, fmt.Sprint(n, " works"))
	s.does(call("c", 5, list(1, 6, 4, 5)), "5 works")
	s.does(call("c", 4, list(2, 6, 4, 5)), "perform 4")
	s.does(performed(2, ActorDone), "2 done")
	s.does(performed(3, ActorDone), "3 done")
	s.does(full, fmt.Sprint("perform ", n))
}

// A long call does not stop others: answers are kept of calls that go on only.
func TestActorHostForgetsCallsBehindALongOne(t *testing.T) {
	s, at := actorHostOf(t), actorOn("b")
	s.does(called(1, ActorMake, at, "", "k"), "kept, perform 1")
	for n := uint64(2); n < 5_000; n++ {
		m := called(n, ActorDo, at, "", "m")
		m.Call.OpenCalls = list(n, n+1, 1, n)
		s.does(m, fmt.Sprint("perform ", n))
		s.h.Step(0, ActorPerformed{From: "a", Answer: ActorAnswer{Number: n, End: ActorDone, Bytes: make([]byte, MaxActorBytes)}})
		if s.h.bytes > 2*(callBytes+MaxActorBytes) {
			t.Fatalf("%d bytes after %d calls", s.h.bytes, n)
		}
	}
	late := called(4_000, ActorDo, at, "", "m")
	late.Call.OpenCalls = list(4_000, 4_001, 1, 4_000)
	s.does(late)
	s.does(performed(1, ActorDone), "1 done")
}

// The newest letter of a node says which calls are over, in whatever order letters come, and so do all letters before.
func TestActorHostHearsTheNewestLetter(t *testing.T) {
	s, at := actorHostOf(t), actorOn("b")
	s.does(called(1, ActorMake, at, "", "k"), "kept, perform 1")
	s.does(performed(1, ActorDone), "1 done")
	call := func(number uint64, l OpenCalls) ActorCalled {
		m := called(number, ActorDo, at, "", "m")
		m.Call.OpenCalls = l
		return m
	}
	s.does(call(7, list(7, 8, 5, 7)), "perform 7")
	s.does(call(5, list(5, 6, 5)), "perform 5")
	s.does(call(6, list(6, 7, 5, 6))) // it was over when 7 was sent
	s.does(ActorLeft{From: "a", Over: ActorOver{Number: 5, OpenCalls: list(8, 8, 7)}}, "stop 5")
	s.does(call(9, list(9, 8, 7)), "perform 9") // more calls go on than a letter can name
	s.does(ActorLeft{From: "a", Over: ActorOver{Number: 9, OpenCalls: list(10, 6)}}, "stop 7, stop 9")
	s.does(call(7, list(7, 8, 5, 7)))
	s.does(call(9, list(9, 8, 7)), "9 gone nobody waited for it any more")
	s.does(ActorLeft{From: "a", Over: ActorOver{OpenCalls: list(11, 10)}})
	s.does(ActorLeft{From: "c", Over: ActorOver{Number: 1 << 62, OpenCalls: list(1, 1<<63)}})
	if s.h.bytes != 0 || len(s.h.callers["a"].calls) != 0 || len(s.h.open) != 0 {
		t.Errorf("%d bytes, %d calls", s.h.bytes, len(s.h.open))
	}
}

// The object of a large answer stays until its caller says that the call is over, however long that takes.
func TestActorHostKeepsLargeAnswers(t *testing.T) {
	s, at := actorHostOf(t), actorOn("b")
	large := func(n uint64, id phalanx.ObjectID) ActorPerformed {
		return ActorPerformed{From: "a", Answer: ActorAnswer{Number: n, End: ActorDone, Large: Ref{Object: id}}}
	}
	s.does(called(1, ActorMake, at, "", "k"), "kept, perform 1")
	s.does(performed(1, ActorDone), "1 done")
	for n := uint64(2); n < 5; n++ {
		s.does(called(n, ActorDo, at, "", "m"), fmt.Sprint("perform ", n))
		s.does(large(n, phalanx.ObjectID(fmt.Sprint("o", n))), fmt.Sprint(n, " done"))
	}
	s.due(tellEvery, "kept")
	s.does(ActorLeft{From: "a", Over: ActorOver{Number: 3, OpenCalls: list(1, 1)}}, "spare o3")
	s.does(ActorLeft{From: "a", Over: ActorOver{OpenCalls: list(2, 5, 2, 3)}}, "spare o4")
	s.does(ActorLeft{From: "a", Over: ActorOver{OpenCalls: list(3, 5, 2)}})
	s.does(Around{Self: "b", Nodes: []phalanx.NodeID{"b"}}, "spare o2")
}

// A call that its caller has given up is stopped, although the letter that says so was lost. Nor is an answer kept that nobody asks for.
func TestActorHostStopsCallsThatAreNotRepeated(t *testing.T) {
	s, at := actorHostOf(t), actorOn("b")
	s.does(called(1, ActorMake, at, "", "k"), "kept, perform 1")
	s.does(performed(1, ActorDone), "1 done")
	s.does(called(2, ActorDo, at, "", "m"), "perform 2")
	s.does(called(3, ActorDo, at, "", "m"), "perform 3")
	s.does(ActorPerformed{From: "a", Answer: ActorAnswer{Number: 3, End: ActorDone, Bytes: make([]byte, 1000)}}, "3 done")
	s.now = 10 * time.Second
	s.does(called(2, ActorDo, at, "", "m"), "2 works")
	s.due(15 * time.Second)
	if s.h.bytes != 3*callBytes {
		t.Errorf("%d bytes are kept", s.h.bytes)
	}
	s.due(25*time.Second, "stop 2, 2 gone its caller has not repeated it for 15s")
	if s.h.Busy() {
		t.Error("a call goes on that is not repeated")
	}
	s.does(performed(2, ActorDone)) // too late
	s.does(called(2, ActorDo, at, "", "m"), "2 gone its caller has not repeated it for 15s")
	s.due(tellEvery, "kept")
}

// That a run has ended may not reach the node: it says every minute of which runs it has actors, as long as it has some.
func TestActorHostTellsOfItsRuns(t *testing.T) {
	s, at := actorHostOf(t), actorOn("b")
	if at, ok := s.h.Due(); ok {
		t.Errorf("something is due at %v", at)
	}
	s.now = time.Second
	s.does(called(1, ActorMake, at, "", "k"), "kept, perform 1")
	s.does(performed(1, ActorDone), "1 done")
	s.due(time.Second+tellEvery, "kept")
	s.due(time.Second+2*tellEvery, "kept")
	s.does(ActorsFreed{Runs: []core.Released{{Run: actorRun}}}, "drop")
	if at, ok := s.h.Due(); ok {
		t.Errorf("something is due at %v", at)
	}
}
