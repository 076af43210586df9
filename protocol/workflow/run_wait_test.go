package workflow

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// hostOf is a host of a run that makes each Append durable at once, and keeps the log.
type hostOf struct {
	t    *testing.T
	g    *Graph
	r    *Run
	log  []Record
	did  []RunEffect // of the last step, without Appends
	jobs map[string]Dispatch
}

func hostGraph(t *testing.T, g *Graph) *hostOf {
	t.Helper()
	h := &hostOf{t: t, g: g}
	h.takeOver(RunConfig{Epoch: 1})
	h.step(0, Tick{})
	return h
}

func host(t *testing.T, text string) *hostOf { return hostGraph(t, parse(t, text)) }

func (h *hostOf) takeOver(cfg RunConfig) {
	h.t.Helper()
	e, err := Check(h.g)
	if err != nil {
		h.t.Fatal(err)
	}
	h.r, h.jobs = NewRun(cfg, e, h.log), map[string]Dispatch{}
}

func (h *hostOf) step(now time.Duration, ev RunEvent) {
	h.did = nil
	for todo := []RunEvent{ev}; len(todo) > 0; todo = todo[1:] {
		for _, e := range h.r.Step(now, todo[0]) {
			switch e := e.(type) {
			case Append:
				h.log = append(h.log, e.Records...)
				todo = append(todo, Durable{e.Number})
				continue
			case Dispatch:
				h.jobs[fmt.Sprint(h.r.x.Tasks[e.Task].Name, " ", [...]string{"do", "undo", "makeup", "remake"}[e.Kind])] = e
			}
			h.did = append(h.did, e)
		}
	}
}

// end ends an attempt that runs: "a do", "a undo".
func (h *hostOf) end(what string, o Outcome) {
	h.t.Helper()
	d, ok := h.jobs[what]
	if !ok {
		h.t.Fatalf("%q does not run: %v", what, h.jobs)
	}
	delete(h.jobs, what)
	o.Task, o.Attempt, o.Kind = d.Task, d.Attempt, d.Kind
	h.step(h.r.now, o)
}

// recorded ends an attempt well, with an output that is recorded.
func (h *hostOf) recorded(what string) {
	h.t.Helper()
	h.end(what, Outcome{Output: Output{Recorded: true}})
}

func (h *hostOf) runs(want ...string) {
	h.t.Helper()
	for _, w := range want {
		if _, ok := h.jobs[w]; !ok {
			h.t.Errorf("%q does not run: %v", w, h.jobs)
		}
	}
	if len(h.jobs) != len(want) {
		h.t.Errorf("%v run, want %v", h.jobs, want)
	}
}

func records[R Record](h *hostOf) (all []R) {
	for _, rec := range h.log {
		if rec, ok := rec.(R); ok {
			all = append(all, rec)
		}
	}
	return all
}

func (h *hostOf) taken() (errs []error) {
	for _, e := range h.did {
		if e, ok := e.(SignalTaken); ok {
			errs = append(errs, e.Err)
		}
	}
	return errs
}

// An early signal is kept, the first of a name counts, repeats are acknowledged, others are refused; after a
// takeover too.
func TestSignals(t *testing.T) {
	h := host(t, "a nd; ok event < a; b < ok")
	h.step(0, Signal{Name: "ok", ID: "1", Bytes: []byte("yes")})
	if got := h.taken(); len(got) != 1 || got[0] != nil {
		t.Fatalf("%v", h.did)
	}
	for range 2 {
		h.step(0, Signal{Name: "ok", ID: "1", Bytes: []byte("yes")})
		if got := h.taken(); len(got) != 1 || got[0] != nil {
			t.Errorf("the repeat: %v", h.did)
		}
		h.step(0, Signal{Name: "ok", ID: "2", Bytes: []byte("no")})
		if got := h.taken(); len(got) != 1 || !errors.Is(got[0], phalanx.ErrExists) {
			t.Errorf("another: %v", h.did)
		}
		h.takeOver(RunConfig{Epoch: 2})
		h.step(0, Tick{})
	}
	h.recorded("a do")
	h.runs("b do")
	if o := h.r.tasks[1].output; string(o.Bytes) != "yes" {
		t.Errorf("the event's output is %q", o.Bytes)
	}
	h.recorded("b do")
	if h.step(0, Signal{Name: "more", ID: "3"}); !errors.Is(h.taken()[0], phalanx.ErrClosed) {
		t.Errorf("a late signal: %v", h.did)
	}
	if h.step(0, Signal{Name: "ok", ID: "1"}); h.taken()[0] != nil {
		t.Errorf("a late repeat: %v", h.did)
	}
}

// A signal is answered once it is durable, and repeats until then are answered by that.
func TestSignalsAreDurable(t *testing.T) {
	e, err := Check(parse(t, "ok event"))
	if err != nil {
		t.Fatal(err)
	}
	r := NewRun(RunConfig{Epoch: 1}, e, nil)
	a := find[Append](t, r.Step(0, Signal{Name: "ok", ID: "1"}))
	if did := append(r.Step(0, Signal{Name: "ok", ID: "1"}), r.Step(0, Signal{Name: "ok", ID: "2"})...); len(did) > 0 {
		t.Errorf("%v before it is durable", did)
	}
	if r.x.Over() {
		t.Error("the event ends before the signal is durable")
	}
	did := r.Step(0, Durable{a.Number})
	var answers []string
	for _, e := range did {
		if e, ok := e.(SignalTaken); ok {
			answers = append(answers, fmt.Sprint(e.ID, errors.Is(e.Err, phalanx.ErrExists)))
		}
	}
	if fmt.Sprint(answers) != "[1false 2true]" {
		t.Errorf("%v", answers)
	}
	end := find[Append](t, did)
	if r.Step(0, Durable{end.Number}); !r.over || r.closed {
		t.Fatal("Closed is not written")
	}
	if did := r.Step(0, Signal{Name: "late", ID: "1"}); len(did) > 0 {
		t.Errorf("%v before it is durable that the run has ended", did)
	}
	if s := find[SignalTaken](t, r.Step(0, Durable{end.Number + 1})); !errors.Is(s.Err, phalanx.ErrClosed) {
		t.Errorf("%v", s)
	}
}

// What a run keeps of signals is bounded.
func TestBoundsOfSignals(t *testing.T) {
	h := host(t, "never event")
	refused := func(ev Signal, want error) {
		t.Helper()
		if h.step(0, ev); len(h.taken()) != 1 || !errors.Is(h.taken()[0], want) {
			t.Errorf("%v, want %v", h.did, want)
		}
	}
	refused(Signal{Name: "large", Bytes: make([]byte, MaxSignal+1)}, phalanx.ErrInvalid)
	refused(Signal{Name: "", Bytes: nil}, phalanx.ErrInvalid)
	refused(Signal{Name: string(make([]byte, MaxSignalName+1))}, phalanx.ErrInvalid)
	for i := range MaxSignalBytes / MaxSignal {
		h.step(0, Signal{Name: fmt.Sprint(i), Bytes: make([]byte, MaxSignal)})
	}
	refused(Signal{Name: "more", Bytes: make([]byte, 1)}, phalanx.ErrNoSpace)
	for i := range MaxSignals - MaxSignalBytes/MaxSignal {
		h.step(0, Signal{Name: fmt.Sprint("empty", i)})
	}
	refused(Signal{Name: "another"}, phalanx.ErrNoSpace)
	if n := len(records[Signalled](h)); n != MaxSignals {
		t.Errorf("%d are recorded", n)
	}
}

// An approval below a draft that is not settled waits, so that the draft that was approved is the one that counts.
func TestAnApprovalWaitsForTheDraft(t *testing.T) {
	h := host(t, "draft nd; ok event < draft; send! < ok draft")
	h.step(0, Signal{Name: "ok", ID: "1"})
	h.end("draft do", Outcome{})
	if h.r.x.facts[1]&ended != 0 {
		t.Error("the event takes its signal before the draft is saved")
	}
	h.step(0, Gone{Task: 0})
	h.end("draft do", Outcome{})
	s := find[Save](t, h.did)
	h.step(0, Checkpointed{Task: 0, Gen: s.Gen, Made: s.Made})
	h.runs("send do")
}

// A sleep ends when the ledger's clock says so, whoever's clock the next controller has.
func TestSleep(t *testing.T) {
	h := host(t, "a; nap sleep < a; b < nap")
	h.step(100*time.Second, Tick{})
	h.recorded("a do")
	slept := records[Slept](h)
	if len(slept) != 1 || slept[0].Until != 100*time.Second+time.Hour {
		t.Fatalf("%v", slept)
	}
	for _, clock := range []time.Duration{0, 90 * time.Second, -time.Hour} { // what the ledger's clock shows at now = 0
		h.takeOver(RunConfig{Epoch: 2, Clock: clock})
		due := slept[0].Until - clock
		h.step(min(0, due-1), Tick{})
		h.step(due-1, Tick{})
		if at, ok := h.r.Due(); len(h.jobs) > 0 || due > 1 && (!ok || at != due) {
			t.Errorf("clock %v: %v run, and it is due at %v, %v", clock, h.jobs, at, ok)
		}
		h.step(due, Tick{})
		h.runs("b do")
		h.log = h.log[:len(h.log)-2] // Ended, Begun
	}
	if n := len(records[Slept](h)); n != 1 {
		t.Errorf("it slept %d times", n)
	}
}

func TestWhatWaits(t *testing.T) {
	for _, c := range []struct {
		task Task
		says string
	}{
		{Task{Name: "e", Event: "e", Effect: None, Deterministic: true}, "deterministic: e is declared Deterministic, and its output is a signal: do not"},
		{Task{Name: "e", Event: "e"}, "shape: e waits, and has an effect"},
		{Task{Name: "e", Event: "e", Effect: None, Caught: true}, "shape: e waits, and has an effect"},
		{Task{Name: "e", Event: "e", Effect: None, Sleep: 1}, "shape: e waits for a signal and sleeps"},
		{Task{Name: "s", Effect: None, Sleep: -1}, "shape: s sleeps -1ns"},
		{Task{Name: "s", Effect: None, Sleep: MaxSleep + 1}, "shape: s sleeps 876000h0m0.000000001s"},
		{Task{Name: "e", Event: string(make([]byte, MaxSignalName+1)), Effect: None}, "shape: e waits for a signal whose name has 1025 bytes"},
	} {
		if _, err := Check(&Graph{Tasks: []Task{c.task}}); err == nil || len(err.Error()) < len(c.says) || err.Error()[:len(c.says)] != c.says {
			t.Errorf("got %v, want %s", err, c.says)
		}
	}
}
