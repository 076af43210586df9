package workflow

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// takes checks which inputs an attempt of a task would take now.
func (h *hostOf) takes(v int, want ...int32) {
	h.t.Helper()
	if got := h.r.x.inputs(v); !slices.Equal(got, want) {
		h.t.Errorf("task %d takes %v, want %v", v, got, want)
	}
}

// A task that needs two of three inputs begins with the second one, and what reads it goes on. The run ends with the last task.
func TestATaskBeginsWithSomeOfItsInputs(t *testing.T) {
	h := host(t, "a nd; b nd; c nd; r needs:2 < a b c; z nd < r")
	h.recorded("c do")
	h.runs("a do", "b do")
	h.takes(3)
	h.recorded("a do")
	h.runs("b do", "r do")
	h.takes(3, 0, 2)
	h.recorded("r do")
	h.recorded("z do")
	h.runs("b do")
	if h.r.Closed() {
		t.Fatal("the run has ended before its last task")
	}
	h.recorded("b do")
	if h.runs(); !h.r.Closed() || len(records[Begun](h)) != 5 {
		t.Errorf("it has ended: %v, %d attempts", h.r.Closed(), len(records[Begun](h)))
	}
}

// An irreversible task behind it waits until nothing is made again that it may have read: also for the input that is late.
func TestAnIrreversibleTaskWaitsForTheLateInput(t *testing.T) {
	h := host(t, "a nd; b nd,off; r needs:1 < a b; u u < r; x! < r")
	h.recorded("a do")
	h.recorded("r do")
	h.runs("b do", "u do")
	h.end("b do", Outcome{})
	h.runs("u do", "x do")
}

// An input that is late and fails has the run fail, though nobody waits for it.
func TestALateInputFails(t *testing.T) {
	h := host(t, "a nd,u; b nd; r needs:1 < a b; u nd,u < r")
	h.recorded("a do")
	h.recorded("r do")
	h.recorded("u do")
	h.end("b do", Outcome{Failed: "it cannot", Final: true})
	for _, undo := range []string{"u undo", "a undo"} {
		h.runs(undo)
		h.end(undo, Outcome{})
	}
	if closed := records[Closed](h); len(closed) != 1 || closed[0].Failed != "b: it cannot" {
		t.Errorf("%+v", closed)
	}
}

// An input that is lost is made again only if too few are left. An attempt that has read it may go on.
func TestAnInputOfSomeIsLost(t *testing.T) {
	h := host(t, "a nd,off; b nd,off; c nd,off; r needs:2 < a b c")
	h.end("a do", Outcome{})
	h.lose(0)
	h.runs("a do", "b do", "c do") // one is there, and two are needed
	h.end("a do", Outcome{})
	h.end("b do", Outcome{})
	h.end("c do", Outcome{})
	h.runs("r do")
	h.lose(1)
	h.runs("r do")
	h.takes(3, 0, 2)
	h.end("r do", Outcome{Lost: true, Failed: "b is gone"})
	h.later()
	h.runs("r do")
	h.lose(2)
	if set := records[Recovering](h); len(set) != 2 || !slices.Equal(set[1].Set, []int{1, 2, 3}) {
		t.Fatalf("%+v", set)
	}
	h.end("r do", Outcome{Failed: "canceled"})
	h.runs("b do", "c do")
	h.end("c do", Outcome{})
	h.runs("b do", "r do")
	h.takes(3, 0, 2)
}

// An input comes while another is made again: the task begins with that one.
func TestAnotherInputComesInPlaceOfALostOne(t *testing.T) {
	h := host(t, "a off; b off; c off; r needs:2,off < a b c; z nd < r")
	h.end("a do", Outcome{})
	h.end("b do", Outcome{})
	h.end("r do", Outcome{Lost: true, Failed: "a is gone"})
	h.lose(0)
	h.later()
	h.runs("a do", "c do")
	h.end("c do", Outcome{})
	h.runs("a do", "r do")
	h.takes(3, 1, 2)
	h.end("r do", Outcome{})
	h.end("a do", Outcome{})
	h.lose(3) // it is made again of others than before
	h.end("z do", Outcome{Failed: "canceled"})
	h.runs("r do")
	h.takes(3, 0, 1, 2)
}

// A controller that takes over goes on with a task that has begun, or has ended, before all of its inputs.
func TestTakeoverBeforeTheLateInput(t *testing.T) {
	for _, ends := range []bool{false, true} {
		h := host(t, "a nd; b nd; r needs:1 < a b; z nd < r")
		h.recorded("a do")
		want := "r do"
		if ends {
			h.recorded("r do")
			want = "z do"
		}
		h.takeOver(RunConfig{Epoch: 2})
		h.step(0, Tick{})
		h.runs("b do", want)
		h.takes(2, 0)
		for _, w := range []string{"r do", "z do"}[len(records[Ended](h))-1:] {
			h.recorded(w)
		}
		if h.recorded("b do"); !h.r.Closed() {
			t.Errorf("the run does not end: %v", h.jobs)
		}
	}
}

// An input whose checkpoint is synchronous counts once it is saved, and what the task only follows counts for itself.
func TestWhatCountsAsAnInput(t *testing.T) {
	g := parse(t, "a nd,sync; b nd; c nd; r needs:1 < a b")
	g.Tasks[3].After = []int{2}
	h := hostGraph(t, g)
	h.end("a do", Outcome{})
	h.recorded("c do")
	h.runs("b do")
	h.save(0)
	h.runs("b do", "r do")
	h.takes(3, 0, 2)

	g = parse(t, "a nd; b nd; c nd; r needs:1 < a b")
	g.Tasks[3].After = []int{2}
	h = hostGraph(t, g)
	h.recorded("a do")
	h.recorded("b do")
	h.runs("c do")
	h.recorded("c do")
	h.runs("r do")
	h.takes(3, 0, 1, 2)
}

// An undo of one input does not wait for another that runs, and the task takes the one that is made again.
func TestAnInputIsUndoneWhileAnotherRuns(t *testing.T) {
	h := host(t, "q nd,off; d < q; a nd,u < d; b nd; r needs:1 < a b; w < q")
	h.end("q do", Outcome{})
	h.recorded("d do")
	h.recorded("a do")
	h.step(0, Gone{Task: 0})
	h.runs("b do", "r do", "w do")
	if set := records[Recovering](h); len(set) != 1 || !slices.Equal(set[0].Set, []int{0, 1, 2, 4, 5}) {
		t.Fatalf("%+v", set)
	}
	h.end("w do", Outcome{Failed: "canceled"})
	h.end("r do", Outcome{Failed: "canceled"})
	h.runs("a undo", "b do")
	h.recorded("b do")
	h.runs("a undo", "r do")
	h.takes(4, 3)
	h.end("a undo", Outcome{})
	h.runs("q do", "r do")

	h = host(t, "q nd; a nd,u < q; b nd; r needs:1,off < a b; z nd < r")
	h.recorded("q do")
	h.recorded("a do")
	h.end("r do", Outcome{})
	h.step(0, Gone{Task: 3})
	h.end("z do", Outcome{Failed: "canceled"})
	h.runs("b do", "r do")
	h.step(0, Abort{Cause: "enough"})
	h.end("r do", Outcome{Failed: "canceled"})
	h.end("b do", Outcome{Failed: "canceled"})
	h.runs("a undo")
	h.end("a undo", Outcome{})
	if !h.r.Closed() {
		t.Error("the run does not end")
	}
}

// An order has the inputs that have ended, with their places, and none that was lost since the attempt was wanted.
func TestOrdersOfSomeInputs(t *testing.T) {
	d := started(t, "a nd; b nd; c nd; r needs:2 < a b c; z < r")
	orders := map[int]Order{}
	take := func() {
		for len(d.orders) > 0 {
			_, o := d.order()
			orders[o.ID.Task] = o
		}
	}
	end := func(v int) {
		t.Helper()
		o, is := orders[v]
		if !is {
			t.Fatalf("task %d is not ordered: %v", v, orders)
		}
		out := small
		out.Bytes = fmt.Appendf(nil, "%8d", v)
		d.reports("n1", o, out, "")
		d.durable()
		take()
	}
	take()
	end(1)
	end(2) // z comes later
	if _, is := orders[0]; !is {
		t.Fatal("a does not run")
	}
	r := orders[3]
	if !slices.Equal(r.From, []int{1, 2}) || len(r.Inputs) != 2 || r.Inputs[0].Task != 1 || string(r.Inputs[1].Output.Bytes) != "       2" {
		t.Fatalf("%+v", r)
	}
	end(3)
	end(4)
	end(0)
	if s := d.answer(d.call(GetStatus{ID: "r"})).Status; s.State != Finished && s.State != Ending {
		t.Errorf("%+v", s)
	}
}

// An attempt for which too few inputs are left when its turn comes is not ordered.
func TestTooFewInputsAreLeft(t *testing.T) {
	d := newDesk(t, 1, map[string]RowValue{}, "n1")
	d.tells("n1", Tell{Slots: 3})
	d.durable()
	d.call(StartRun{ID: "r", Work: simple(t, "a nd,off; b nd,off; c nd; r needs:1 < a b; y nd")})
	d.durable()
	_, a := d.order()
	_, b := d.order()
	d.order() // c
	d.reports("n1", a, Output{Size: 100}, "")
	// y has the slot that is free.
	d.durable()
	if _, y := d.order(); y.ID.Task != 4 {
		t.Fatalf("%+v", y)
	}
	h := d.c.ids["r"]
	if !h.wants(3) {
		t.Fatal("r does not wait for a slot")
	}
	h.run.x.Lost(0)
	d.reports("n1", b, Output{}, "it fails")
	d.durable()
	if len(d.orders) > 0 || h.wants(3) {
		t.Errorf("it is ordered: %+v", d.orders)
	}
	d.after(time.Second)
	_, again := d.order()
	d.reports("n1", again, Output{Size: 100}, "")
	d.durable()
	if _, r := d.order(); r.ID.Task != 3 || !slices.Equal(r.From, []int{1}) {
		t.Errorf("%d takes %v", r.ID.Task, r.From)
	}
}

// A reduce whose output is lost is made again with all of its inputs that are lost, also those that it could do without: the
// recovery set does not know which of them it had.
func TestALostReduceIsMadeAgainWithItsLostInputs(t *testing.T) {
	h := host(t, "a off; b u; r needs:1,off < a b; z nd < r; y nd,off < a b")
	for _, attempt := range []string{"a do", "b do", "r do", "y do"} {
		h.end(attempt, Outcome{})
	}
	h.lose(1)
	h.lose(2)
	h.end("z do", Outcome{Lost: true, Failed: "r is gone"})
	h.later()
	if set := records[Recovering](h); len(set) != 1 || !slices.Equal(set[0].Set, []int{1, 2, 3}) {
		t.Errorf("%+v", set)
	}
}
