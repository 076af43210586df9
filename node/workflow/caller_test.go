package workflow

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// script is a Caller on node a of a cluster of a, b and c.
type script struct {
	t   *testing.T
	c   *Caller
	now time.Duration
}

func scriptOf(t *testing.T) *script {
	s := &script{t: t, c: NewCaller()}
	s.c.Step(0, Around{Self: "a", Nodes: []phalanx.NodeID{"c", "a", "b"}})
	return s
}

// does has an event happen, and checks the effects.
func (s *script) does(ev CallerEvent, want ...string) {
	s.t.Helper()
	s.check(s.c.Step(s.now, ev), want)
}

// due lets time pass until the Caller is due.
func (s *script) due(want ...string) {
	s.t.Helper()
	at, ok := s.c.Due()
	if !ok {
		s.t.Fatal("nothing is due")
	}
	s.now = at
	s.check(s.c.Step(at, CallerTick{}), want)
}

func (s *script) check(effects []CallerEffect, want []string) {
	s.t.Helper()
	var got []string
	for _, e := range effects {
		switch e := e.(type) {
		case Deliver:
			got = append(got, "ask "+string(e.To))
		case Dismiss:
			got = append(got, "dismiss "+string(e.To))
		case Returned:
			got = append(got, fmt.Sprint("return ", e.Answer.Err))
		}
	}
	if strings.Join(got, "; ") != strings.Join(want, "; ") {
		s.t.Errorf("at %v: %q, want %q", s.now, got, want)
	}
}

func elsewhere(from phalanx.NodeID, disk bool, leads phalanx.NodeID, epoch uint64) Redirected {
	return Redirected{From: from, Elsewhere: Elsewhere{Number: 1, Disk: disk, Controller: leads, Epoch: epoch}}
}

func TestCallerSearchesForTheController(t *testing.T) {
	s := scriptOf(t)
	s.does(Call{Number: 1, Call: core.AttachRun{ID: "x"}, Deadline: time.Minute}, "ask a")
	s.does(elsewhere("a", false, "", 0), "ask b")
	s.due("ask c") // b has not answered
	s.does(elsewhere("c", true, "b", 3), "ask b")
	s.does(Leads{Node: "b", Epoch: 3})
	s.does(Leads{Node: "c", Epoch: 4}, "ask c")
	s.does(elsewhere("c", true, "b", 3), "ask a")  // that is no news, and the next one is not known
	s.does(elsewhere("a", false, "c", 4), "ask b") // c has said that its tenure is over
	s.does(Leads{Node: "c", Epoch: 5}, "ask c")
	s.does(Leads{Node: "c", Epoch: 7}, "ask c") // the one of epoch 5 may have ended without an answer
	s.does(Around{Self: "a", Nodes: []phalanx.NodeID{"a", "b"}}, "ask a")
	s.does(Replied{From: "b", Reply: Reply{Number: 1}}, "return <nil>") // an answer counts whoever was asked last
	s.does(Replied{From: "b", Reply: Reply{Number: 1}})
	if _, ok := s.c.Due(); ok {
		t.Error("something is due, and there is no call")
	}
}

// A call to a cluster without disks fails at once; one to a cluster whose disks are away waits.
func TestCallerWithoutDisks(t *testing.T) {
	for _, disk := range []bool{false, true} {
		s := scriptOf(t)
		s.does(Call{Number: 1, Call: core.AttachRun{ID: "x"}, Deadline: time.Second}, "ask a")
		s.does(elsewhere("a", false, "", 0), "ask b")
		s.does(elsewhere("b", false, "", 0), "ask c")
		if !disk {
			s.does(elsewhere("c", false, "", 0), "return workflow: invalid: no node of the cluster has a disk for workflows: start one with a folder (phalanx node --dir, or workflow.Settings.Dir)")
			continue
		}
		s.does(elsewhere("c", true, "", 0))
		s.due("ask a")
		s.now = time.Second
		s.does(CallerTick{}, "return workflow: unavailable: node a has not answered")
	}
}

// The only disk may be away: who has known a controller waits for it.
func TestCallerWhoseOnlyDiskIsAway(t *testing.T) {
	s := scriptOf(t)
	s.does(Leads{Node: "b", Epoch: 3})
	s.does(Around{Self: "a", Nodes: []phalanx.NodeID{"a", "c"}})
	s.does(Call{Number: 1, Call: core.AttachRun{ID: "x"}, Deadline: time.Second}, "ask a")
	s.does(elsewhere("a", false, "", 0), "ask c")
	s.does(elsewhere("c", false, "", 0))
	s.due("ask a")
}

// A node that comes while all nodes with disks are away waits for them, since the view knows that there were some.
func TestCallerThatComesWhenAllDisksAreAway(t *testing.T) {
	for _, before := range []Around{
		{Self: "a", Nodes: []phalanx.NodeID{"a", "c"}, First: "b#1"},                                        // it never saw one
		{Self: "a", Nodes: []phalanx.NodeID{"a", "b#1", "c", "d#2"}, Disks: []phalanx.NodeID{"d#2", "b#1"}}, // both have left
	} {
		s := scriptOf(t)
		s.does(before)
		s.does(Around{Self: "a", Nodes: []phalanx.NodeID{"a", "c"}, First: before.First})
		s.does(Call{Number: 1, Call: core.AttachRun{ID: "x"}, Deadline: time.Second}, "ask a")
		s.does(elsewhere("a", false, "", 0), "ask c")
		s.does(elsewhere("c", false, "", 0))
		s.due("ask a")
		s.does(elsewhere("a", false, "", 0), "ask c")
		s.does(elsewhere("c", false, "", 0))
		s.now = time.Second
		had := map[bool]string{true: "b", false: "b, d"}[before.First != ""]
		s.does(CallerTick{}, "return workflow: unavailable: no node leads the ledger of workflows: a majority of its disks has to be there (or, if it is lost for good, phalanx workflow ledger recover); no member has one now, and these nodes had: "+had)
	}
}

func TestCallerRepeats(t *testing.T) {
	s := scriptOf(t)
	s.does(Leads{Node: "b", Epoch: 1})
	again := Reply{Number: 1, Again: true, Answer: core.Answer{Err: failed(phalanx.ErrUnavailable, "", "it takes over")}}
	s.does(Call{Number: 1, Call: core.ForgetRun{ID: "x"}, Deadline: time.Minute}, "ask b")
	s.does(Replied{From: "b", Reply: again})
	s.due("ask b")
	// The request before has taken effect: its answer was lost.
	s.does(Replied{From: "b", Reply: Reply{Number: 1, Answer: core.Answer{Err: failed(phalanx.ErrDeleted, "", "it was forgotten")}}}, "return <nil>")

	s.does(Call{Number: 2, Call: core.AwaitResult{ID: "x"}, Deadline: time.Minute}, "ask b")
	s.does(Replied{From: "b", Reply: Reply{Number: 2, Answer: core.Answer{Err: failed(phalanx.ErrDeadline, "", "not yet")}}}, "ask b")
	s.does(Forsaken{Number: 2}, "dismiss b")

	s.does(Call{Number: 3, Call: core.StartRun{ID: "x"}, Deadline: time.Minute}, "ask b")
	got := s.c.Step(s.now, Replied{From: "b", Reply: Reply{Number: 3, Busy: true, Answer: core.Answer{Err: failed(phalanx.ErrUnavailable, "", "17000000 bytes are not on disks yet: %v", core.ErrBusy)}}})
	if err := got[0].(Returned).Answer.Err; !errors.Is(err, core.ErrBusy) || !errors.Is(err, phalanx.ErrUnavailable) || strings.Count(err.Error(), "busy") != 1 {
		t.Errorf("a busy ledger: %v", err)
	}
}

// A call without a deadline ends if no controller answers for a minute.
func TestCallerWithoutDeadline(t *testing.T) {
	s := scriptOf(t)
	s.does(Leads{Node: "b", Epoch: 1})
	s.does(Call{Number: 1, Call: core.AwaitResult{ID: "x"}}, "ask b")
	s.now = 40 * time.Second
	s.does(Replied{From: "b", Reply: Reply{Number: 1, Answer: core.Answer{Err: failed(phalanx.ErrDeadline, "", "not yet")}}}, "ask b")
	for range 1000 {
		at, ok := s.c.Due()
		if !ok {
			break
		}
		s.now = at
		s.c.Step(at, CallerTick{})
	}
	if s.now != 100*time.Second {
		t.Errorf("the call has ended at %v", s.now)
	}
}

func TestCallerIsBounded(t *testing.T) {
	s := scriptOf(t)
	for n := range uint64(maxCalls) {
		s.c.Step(0, Call{Number: n + 1, Call: core.AttachRun{ID: "x"}})
	}
	got := s.c.Step(0, Call{Number: maxCalls + 1, Call: core.AttachRun{ID: "x"}})
	if len(got) != 1 || !errors.Is(got[0].(Returned).Answer.Err, core.ErrBusy) {
		t.Errorf("one call too many: %v", got)
	}
}

func notInTime(number uint64) Replied {
	return Replied{From: "b", Reply: Reply{Number: number, Answer: core.Answer{Err: failed(phalanx.ErrDeadline, "", "the ledger has not answered in time: ask again")}}}
}

// A controller answers within its patience of 10 s, also if the ledger has not. The call goes on to its own deadline, and says then what it has waited for.
func TestCallerWaitsForASlowLedger(t *testing.T) {
	for _, call := range []core.Call{core.StartRun{ID: "x"}, core.CancelRun{ID: "x"}, core.SignalRun{ID: "x"}, core.AttachRun{ID: "x"}} {
		s := scriptOf(t)
		s.does(Leads{Node: "b", Epoch: 1})
		s.does(Call{Number: 1, Call: call, Deadline: time.Minute}, "ask b")
		s.now = 10 * time.Second
		s.does(notInTime(1), "ask b")
		s.does(Replied{From: "b", Reply: Reply{Number: 1}}, "return <nil>")

		s.does(Call{Number: 2, Call: call, Deadline: s.now + 12*time.Second}, "ask b")
		s.now += 10 * time.Second
		s.does(notInTime(2), "ask b")
		s.now += 1900 * time.Millisecond
		s.does(notInTime(2), "return workflow (node b): deadline: the ledger has not answered in time: ask again")
		if _, ok := s.c.Due(); ok {
			t.Errorf("%T: something is due", call)
		}
	}
}

// A request may be lost as the connection to the controller's node breaks: it is repeated long before the controller would be taken for dead.
func TestCallerRepeatsALostRequest(t *testing.T) {
	s := scriptOf(t)
	s.does(Leads{Node: "b", Epoch: 1})
	s.does(Call{Number: 1, Call: core.CancelRun{ID: "x"}, Deadline: time.Minute}, "ask b")
	for _, at := range []time.Duration{time.Second, 3 * time.Second, 7 * time.Second} {
		s.due("ask b")
		if s.now != at {
			t.Errorf("it is repeated after %v, want %v", s.now, at)
		}
	}
	s.due("ask a") // b has not answered in time
	if s.now != roundWait+lateAnswer {
		t.Errorf("b is doubted after %v", s.now)
	}
	s.does(Replied{From: "b", Reply: Reply{Number: 1}}, "return <nil>")

	// The client of a result waits as long as the run goes on, and many may. A large workflow takes a while to arrive.
	s.does(Call{Number: 2, Call: core.AwaitResult{ID: "x"}, Deadline: 2 * time.Minute}, "ask b")
	s.does(Call{Number: 3, Call: core.StartRun{ID: "y"}, Graph: make([]byte, MaxWhole), Deadline: 2 * time.Minute}, "ask b")
	began := s.now
	s.due("ask a", "ask a")
	if s.now-began != roundWait+lateAnswer {
		t.Errorf("they are repeated after %v", s.now-began)
	}
}

// As clients wait for as many results as can be, others can still cancel and signal: the runs may wait for that.
func TestCallerKeepsRoomBesideResults(t *testing.T) {
	s := scriptOf(t)
	n := uint64(0)
	busy := func(call core.Call) bool {
		n++
		got := s.c.Step(0, Call{Number: n, Call: call})
		r, is := got[0].(Returned)
		return is && errors.Is(r.Answer.Err, core.ErrBusy)
	}
	for range core.MaxAwaits {
		if busy(core.AwaitResult{ID: "x"}) {
			t.Fatalf("call %d is one too many", n)
		}
	}
	if !busy(core.AwaitResult{ID: "x"}) {
		t.Error("more wait for results than may")
	}
	if busy(core.SignalRun{ID: "x"}) {
		t.Error("a signal is refused")
	}
}

// A repeat may find that the run has ended because of the request before: the error says so.
func TestCallerSaysThatARequestMayHaveTakenEffect(t *testing.T) {
	for _, repeats := range []bool{false, true} {
		for _, call := range []core.Call{core.CancelRun{ID: "x"}, core.SignalRun{ID: "x"}} {
			s := scriptOf(t)
			s.does(Leads{Node: "b", Epoch: 1})
			s.does(Call{Number: 1, Call: call, Deadline: time.Minute}, "ask b")
			ended := Replied{From: "b", Reply: Reply{Number: 1, Answer: core.Answer{Err: failed(phalanx.ErrClosed, "", "run x has ended")}}}
			if !repeats {
				s.does(ended, "return workflow: closed: run x has ended")
				continue
			}
			s.does(Leads{Node: "c", Epoch: 2}, "ask c")
			s.does(ended, "return workflow: closed: run x has ended. This call was repeated, and its first request may have taken effect: look at the run's history")
		}
	}
}

// A large workflow is sent to a controller alone: while none is known, members are asked who leads.
func TestCallerSendsALargeWorkflowToTheControllerAlone(t *testing.T) {
	s := scriptOf(t)
	sent := ""
	step := func(ev CallerEvent) {
		for _, e := range s.c.Step(s.now, ev) {
			switch e := e.(type) {
			case Deliver:
				sent += fmt.Sprintf("%s %T %d; ", e.To, e.Request.Call, len(e.Request.Graph))
			case Returned:
				sent += fmt.Sprintf("return %v; ", e.Answer.Err)
			}
		}
	}
	wants := func(want string) {
		t.Helper()
		if sent != want {
			t.Errorf("at %v: %q, want %q", s.now, sent, want)
		}
		sent = ""
	}
	leads := func(n phalanx.NodeID, epoch uint64) Replied {
		return Replied{From: n, Reply: Reply{Number: 1, Answer: core.Answer{Ledger: &core.Ledger{Leader: n, Epoch: epoch}}}}
	}
	whole := fmt.Sprintf("workflow.StartRun %d; ", MaxWhole)
	step(Call{Number: 1, Call: core.StartRun{ID: "x"}, Graph: make([]byte, MaxWhole), Deadline: time.Minute})
	wants("a workflow.GetLedger 0; ")
	step(elsewhere("a", false, "", 0))
	wants("b workflow.GetLedger 0; ")
	step(leads("b", 3))
	wants("b " + whole)
	s.now = roundWait + lateAnswer // b does not answer: it is asked after the others whether it leads still
	step(CallerTick{})
	wants("a workflow.GetLedger 0; ")
	step(elsewhere("a", false, "b", 3))
	wants("c workflow.GetLedger 0; ")
	step(elsewhere("c", false, "b", 3))
	s.now += searchPause
	step(CallerTick{})
	wants("b " + whole)
	step(Leads{Node: "c", Epoch: 4})
	wants("c " + whole)
	step(Replied{From: "c", Reply: Reply{Number: 1}})
	wants("return <nil>; ")
}
