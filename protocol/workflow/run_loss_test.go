package workflow

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// save saves the output of a task.
func (h *hostOf) save(v int) {
	h.t.Helper()
	h.step(h.r.now, Checkpointed{Task: v, Gen: h.r.tasks[v].gen, Made: h.r.tasks[v].made})
}

// lose has no node and no disk have the output of a task.
func (h *hostOf) lose(v int) (did []RunEffect) {
	h.t.Helper()
	gen, made := h.r.tasks[v].gen, h.r.tasks[v].made
	h.step(h.r.now, Gone{Task: v, Gen: gen})
	did = h.did
	h.step(h.r.now, Unsaved{Task: v, Gen: gen, Made: made})
	h.did = append(did, h.did...)
	return h.did
}

// later lets the pauses between repeats pass.
func (h *hostOf) later() { h.step(h.r.now+mostPause, Tick{}) }

func (h *hostOf) lacks(want ...int) {
	h.t.Helper()
	if got := h.r.Lacks(); !slices.Equal(got, want) {
		h.t.Errorf("it lacks %v, want %v", got, want)
	}
}

func stuck(all []RunEffect) (why []string) {
	for _, e := range all {
		if e, ok := e.(Stuck); ok {
			why = append(why, e.Why)
		}
	}
	return why
}

// A checkpoint that all disks have lost is written again while a node has the output. The next controller knows as well
// that it does not count.
func TestALostCheckpointIsWrittenAgain(t *testing.T) {
	h := host(t, "a nd; x! < a")
	h.end("a do", Outcome{})
	h.save(0)
	h.runs("x do")
	h.step(0, Unsaved{Task: 0, Made: h.r.tasks[0].made})
	find[Save](t, h.did)
	if len(stuck(h.did)) > 0 || h.r.x.facts[0]&durable != 0 {
		t.Errorf("%+v", h.did)
	}
	made := h.r.tasks[0].made
	h.takeOver(RunConfig{Epoch: 2})
	h.r.Has(0, made)
	h.step(0, Tick{})
	find[Save](t, h.did)
	h.step(0, Unsaved{Task: 0, Made: Attempt{7, 7}}) // of another attempt
	if n := len(records[Unsaved](h)); n != 1 {
		t.Errorf("there are %d records", n)
	}
}

// A repeat of a task does not need the saves for which the task waited before it began.
func TestARepeatWaitsForItsInputsOnly(t *testing.T) {
	h := host(t, "a nd; m < a; x! < m")
	h.end("a do", Outcome{})
	h.save(0)
	h.recorded("m do")
	h.lose(0)
	h.end("x do", Outcome{Failed: "it crashes"})
	h.later()
	h.runs("x do")
	h.lacks()
}

// An output that is lost is made again: by a repeat under its key if something irreversible was made of it.
func TestALossThatIsMadeAgain(t *testing.T) {
	for _, c := range []struct{ graph, again string }{
		{"a; x! < a", "a do"},
		{"a nd; x < a", "a do"},
		{"a! nd; x! < a", "a remake"},
	} {
		h := host(t, c.graph)
		h.end("a do", Outcome{})
		h.save(0)
		h.end("x do", Outcome{Failed: "it crashes"})
		h.lose(0)
		h.lacks()
		h.later()
		h.runs(c.again)
		h.end(c.again, Outcome{})
		if c.again == "a do" {
			h.save(0)
		} else {
			find[Save](t, h.did)
		}
		h.later()
		h.runs("x do")
	}
}

// unmendable returns a run that lacks the output of a, of which an irreversible x was made.
func unmendable(t *testing.T) *hostOf {
	h := host(t, "a nd; x! < a")
	h.end("a do", Outcome{})
	h.save(0)
	h.end("x do", Outcome{Failed: "it crashes"})
	h.lose(0)
	if why := stuck(h.did); len(why) != 1 || why[0] != "the output of a is lost, and cannot be made again without other effects: resume the run and accept the loss, or cancel it" {
		t.Fatalf("%q", why)
	}
	h.later()
	h.runs()
	h.lacks(0)
	return h
}

// A loss that nothing mends is accepted once: the next one is asked about anew.
func TestALossIsAccepted(t *testing.T) {
	h := unmendable(t)
	for n := range 2 {
		h.step(h.r.now, Resume{})
		if len(stuck(h.did)) != 1 {
			t.Errorf("it does not say again what it lacks: %+v", h.did)
		}
		h.step(h.r.now, Resume{AcceptLoss: true})
		h.later()
		h.runs("a do")
		h.lacks()
		if all := records[Recovering](h); len(all) != n+1 || !all[n].Loss || !slices.Equal(all[n].Set, []int{0, 1}) || !records[Resumed](h)[n].AcceptLoss {
			t.Fatalf("%+v", all)
		}
		h.end("a do", Outcome{})
		h.runs() // x waits anew for what it is made of
		h.save(0)
		h.end("x do", Outcome{Failed: "it crashes"})
		h.lose(0)
		h.lacks(0)
	}
	h.step(h.r.now, Abort{Cause: "enough"})
	h.later()
	h.runs()
	h.lacks(0) // nobody knows whether outsiders have seen x
	h.step(h.r.now, Resume{AcceptLoss: true})
	if closed := records[Closed](h); len(closed) != 1 || closed[0].Failed != "enough" {
		t.Errorf("%+v", h.log)
	}
}

// To accept what nobody lacks is not to accept what is lost later.
func TestALossIsNotAcceptedBefore(t *testing.T) {
	h := host(t, "a nd; x! < a")
	h.step(0, Resume{AcceptLoss: true})
	h.end("a do", Outcome{})
	h.save(0)
	h.end("x do", Outcome{Failed: "it crashes"})
	h.lose(0)
	h.lacks(0)
	if n := len(records[Resumed](h)); n != 0 {
		t.Errorf("%d records say that it was resumed", n)
	}
}

// The acceptance holds until the recovery set is empty, for the next controller too: an undo that lacks an input leaves its
// effect.
func TestAnAcceptanceHoldsUntilTheRecoverySetIsEmpty(t *testing.T) {
	for _, dies := range []bool{false, true} {
		h := host(t, "a nd; v nd,u < a; x! < a; w < v")
		h.end("a do", Outcome{})
		h.save(0)
		h.end("x do", Outcome{Failed: "it crashes"})
		h.lose(0)
		h.lacks(0)
		h.step(h.r.now, Resume{AcceptLoss: true})
		if h.r.waives != true {
			t.Fatal("it holds no more, while v runs")
		}
		v := h.jobs["v do"]
		if dies {
			h.takeOver(RunConfig{Epoch: 2})
			h.r.Adopt(1, v.Attempt, Do)
			h.jobs["v do"] = v
			h.step(h.r.now, Tick{})
		}
		h.end("v do", Outcome{Failed: "canceled"})
		h.later()
		if all := records[Undone](h); len(all) != 1 || !all[0].Left || all[0].Task != 1 {
			t.Fatalf("dies %v: %+v", dies, h.log)
		}
		h.runs("a do")
		if h.r.waives {
			t.Error("it holds after the recovery set is empty")
		}
	}
}

// A run that goes back leaves effects whose undo or compensation lacks something, if that is accepted.
func TestEffectsThatStay(t *testing.T) {
	for _, graph := range []string{"a nd; v nd,u < a", "a nd; v! comp < a"} {
		h := host(t, graph+"; b < v; c nd < b")
		h.end("a do", Outcome{})
		h.save(0)
		h.end("v do", Outcome{})
		h.save(1)
		h.end("b do", Outcome{})
		h.lose(0)
		h.lacks() // nobody needs it
		h.end("c do", Outcome{Failed: "it is wrong", Final: true})
		h.runs()
		h.lacks(0)
		h.step(h.r.now, Resume{AcceptLoss: true})
		if all := records[Undone](h); len(all) != 1 || !all[0].Left || len(records[Closed](h)) != 1 {
			t.Errorf("%s: %+v", graph, h.log)
		}
		h.takeOver(RunConfig{Epoch: 2})
		if h.step(0, Tick{}); len(h.jobs) > 0 || !h.r.Closed() {
			t.Errorf("%v run after it is closed", h.jobs)
		}
	}
}

// A task that has returned a graph runs again only after an accepted loss. Its graph gets new numbers, so that no task of it has
// the key of an earlier one.
func TestAnExpansionAfterAnAcceptedLoss(t *testing.T) {
	h := host(t, "e nd; p nd expands < e; w < e")
	h.end("e do", Outcome{})
	h.save(0)
	h.end("w do", Outcome{Failed: "it crashes"})
	h.end("p do", Outcome{Graph: parse(t, "b! nd")})
	h.end("b do", Outcome{})
	h.save(3)
	h.lose(0)
	h.lacks(0)
	h.step(h.r.now, Resume{AcceptLoss: true})
	h.later()
	if all := records[Recovering](h); len(all) != 1 || !slices.Equal(all[0].Set, []int{0, 1, 3, 2}) {
		t.Fatalf("%+v", all)
	}
	h.end("e do", Outcome{})
	h.save(0)
	h.end("p do", Outcome{Graph: parse(t, "b! nd")})
	if all := records[Expanded](h); len(all) != 2 || all[1].First != 4 || h.jobs["b do"].Task != 4 || h.r.Maker(1) != 4 {
		t.Errorf("%+v, %v", all, h.jobs)
	}
	if name := h.r.Name(3); name != "a task that was dropped" {
		t.Errorf("3 is %s", name)
	}
}

// A task that has returned a graph has ended once all of the graph has, also if the result had before: what is made again may
// read what the task has read.
func TestAnExpansionHasEndedWithAllOfIt(t *testing.T) {
	h := host(t, "p nd expands; c < p; x! < p")
	h.end("p do", Outcome{Graph: parse(t, "a; b < a")})
	h.end("a do", Outcome{})
	h.recorded("b do")
	h.runs("c do")
	x := h.r.x
	if x.facts[0]&ended == 0 || !x.MayBegin(1) && x.facts[1]&begun == 0 {
		t.Fatal("p has not ended")
	}
	h.end("c do", Outcome{Failed: "it crashes"})
	h.step(h.r.now, Gone{Task: 3}) // x waits for its checkpoint
	h.later()
	if x.facts[0]&ended != 0 {
		t.Error("p has ended while a task of its graph is made again")
	}
	h.runs("a do")
	h.end("a do", Outcome{})
	h.runs("c do")
}

// The versions of functions that a Resume brings stay, for the next controller too.
func TestVersions(t *testing.T) {
	h := host(t, "a")
	h.step(0, Resume{Versions: []Function{{"f", 2}, {"g", 1}}})
	h.step(0, Resume{Versions: []Function{{"f", 3}}})
	for range 2 {
		if f, ok := h.r.Version("f"); f != 3 || !ok {
			t.Errorf("%d, %v", f, ok)
		}
		if _, ok := h.r.Version("h"); ok {
			t.Error("h has a version")
		}
		if all := fmt.Sprint(h.r.allVersions()); all != "[f@3 g@1]" {
			t.Error(all)
		}
		h.takeOver(RunConfig{Epoch: 2})
	}
}

// A cancel is recorded as one, and wins until the end of the run is written.
func TestACancelWinsUntilClosedIsWritten(t *testing.T) {
	h := host(t, "a! nd; b < a")
	h.recorded("a do")
	h.step(0, Abort{Cause: "enough"})
	if all := records[Cancelled](h); len(all) != 1 || all[0].Cause != "enough" || len(records[Failing](h)) != 0 {
		t.Errorf("%+v", h.log)
	}
	h.end("b do", Outcome{Output: Output{Recorded: true}})
	if all := records[Closed](h); len(all) != 1 || all[0].Failed != "enough" {
		t.Errorf("%+v", all)
	}
	r, did := single(t) // whose end is written with its checkpoint
	s := find[Save](t, did)
	r.Step(0, Checkpointed{Task: 0, Gen: s.Gen, Made: s.Made})
	for _, e := range r.Step(0, Abort{Cause: "too late"}) {
		t.Errorf("%+v", e)
	}
	if state, _ := r.state(); state != Open || !strings.Contains(fmt.Sprint(r.over), "true") {
		t.Errorf("it is %v", state)
	}
}
