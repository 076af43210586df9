package workflow

import (
	"fmt"
	"strings"
	"testing"
)

// What a graph may hold that a task returns.
func TestCheckExpansion(t *testing.T) {
	for _, c := range []struct{ parent, graph, refused string }{
		{"p nd expands", "a nd; b! < a", ""},
		{"p nd,off expands", "a nd,off; b off < a", ""},
		{"p expands", "a; b < a", ""},
		{"p expands", "a off; b! < a", ""},
		{"p nd", "a", "expand: p returns a graph, and is not declared to: declare that it expands"},
		{"p nd expands", "a; b", "expand: the graph that p returns has several results, as nobody reads a: return one task that reads, or comes after, all others"},
		{"p expands", "a nd", "expand: p is declared Deterministic, and returns a, which is not: declare a Deterministic if that is so, or do not declare p Deterministic"},
		{"p expands", "a event; b < a", "expand: p is declared Deterministic, and returns a, whose output is a signal: do not declare p Deterministic"},
		{"p expands", "a actor; b < a", "expand: p is declared Deterministic, and returns a, whose output holds an actor, which lives at another place each time: do not declare p Deterministic"},
		{"p nd expands", "a actor; b < a", ""},
		{"p nd expands", "a! snap; b < a", "actors: a has an idempotent effect, and its output holds an actor: a repeat under its key makes another actor: declare a NoEffect, give it an Undo, or have a task behind it make the actor"},
		{"p nd,off expands", "a actor; b off < a", ""},
		{"p nd,off expands", "a! actor; b off < a", "expand: p has no checkpoint, and returns a, which has an effect: checkpoint p, or declare a NoEffect"},
		{"p nd,off expands", "a nd", "expand: p has no checkpoint, and returns a, which has one: checkpoint p, or give a none"},
		{"p nd,off expands", "a! off", "expand: p has no checkpoint, and returns a, which has an effect: checkpoint p, or declare a NoEffect"},
		{"p nd,off expands", "a off,comp", "compensate: a has a compensation and no effect: there is nothing to make up for: do not declare a NoEffect, or leave its Compensate away"},
		{"p nd,off expands", "a event", "expand: p has no checkpoint, and returns a, which waits: checkpoint p"},
		{"p nd expands", "a nd,off; b! < a", "cut: b has an effect, and depends on a, which has no checkpoint and is not deterministic (a → b): checkpoint a, or declare b NoEffect, or declare a Deterministic if that is so"},
	} {
		parent := parse(t, c.parent).Tasks[0]
		_, err := CheckExpansion(&parent, parent.Checkpoint != Off, parse(t, c.graph))
		if c.refused == "" && err != nil || c.refused != "" && (err == nil || err.Error() != c.refused) {
			t.Errorf("%s returns %s:\n got %v\nwant %s", c.parent, c.graph, err, c.refused)
		}
	}
}

// A task that expands is checked as irreversible inwards and as a source outwards.
func TestExpandingTasks(t *testing.T) {
	for _, c := range []struct{ graph, task, waits, refused string }{
		{"a nd,off; b < a; p expands < b; w < a", "p", "b w", ""},
		{"p expands; x! < p", "x", "p", ""},
		{"p expands,off; b < p; x! < b", "x", "", ""},
		{"a nd,off; b < a; p expands < b; w < a p", "", "", "settle: p waits for w, which depends on a (no checkpoint) and comes after it (p → w): checkpoint a, or declare a Deterministic if that is so, or give p no checkpoint if their graphs need none"},
		{"p expands,u", "", "", "expand: p returns a graph, and has an undo: leave that to a task of the graph, or to one beside p"},
		{"p expands,caught; b < p", "", "", "expand: p returns a graph, and has its error caught: leave that to a task of the graph, or to one beside p"},
	} {
		g := parse(t, c.graph)
		e, err := Check(g)
		if c.refused != "" || err != nil {
			if err == nil || err.Error() != c.refused {
				t.Errorf("%s:\n got %v\nwant %s", c.graph, err, c.refused)
			}
			continue
		}
		for v := range g.Tasks {
			if g.Tasks[v].Name == c.task {
				if got := strings.Join(e.names(e.Waits(v)), " "); got != c.waits {
					t.Errorf("%s: %s waits for %q, want %q", c.graph, c.task, got, c.waits)
				}
			}
		}
	}
}

// The graph begins once its record is durable, its result is the output of the task, and its tasks have paths.
func TestExpansion(t *testing.T) {
	e, err := Check(parse(t, "p nd expands; c < p"))
	if err != nil {
		t.Fatal(err)
	}
	r := NewRun(RunConfig{Epoch: 1}, e, nil)
	did := r.Step(0, Tick{})
	d := find[Dispatch](t, did)
	r.Step(0, Durable{find[Append](t, did).Number})
	did = r.Step(0, Outcome{Task: 0, Attempt: d.Attempt, Graph: parse(t, "a nd; b! < a"), Work: "their functions"})
	a := find[Append](t, did)
	if rec, ok := a.Records[0].(Expanded); len(did) != 1 || !ok || rec.First != 2 || rec.Work != "their functions" {
		t.Fatalf("%+v", did)
	}
	if d := find[Dispatch](t, r.Step(0, Durable{a.Number})); d.Task != 2 || r.Name(3) != "p/b" || r.Maker(0) != 3 {
		t.Errorf("%+v runs, %s makes the output of %d", d, r.Name(3), r.Maker(0))
	}
}

// The next controller goes on with a graph that is recorded; the task that has returned it does not run again.
func TestExpansionIsTakenOver(t *testing.T) {
	h := host(t, "p nd expands; c < p")
	first := h.jobs["p do"]
	h.end("p do", Outcome{Graph: parse(t, "a nd; b! < a")})
	h.runs("a do")
	h.takeOver(RunConfig{Epoch: 2})
	h.r.Adopt(0, first.Attempt, Do) // an executor that has not heard that the outcome is durable
	h.step(0, Tick{})
	h.runs("a do")
	h.recorded("a do")
	h.recorded("b do")
	h.runs("c do")
	h.recorded("c do")
	if !h.r.Closed() {
		t.Error("the run is not closed")
	}
	if n := len(records[Expanded](h)); n != 1 {
		t.Errorf("it expanded %d times", n)
	}
}

// A graph that is refused fails the run: another attempt would return as bad a one.
func TestARefusedExpansionIsPermanent(t *testing.T) {
	h := host(t, "p nd,off expands; c < p")
	h.end("p do", Outcome{Graph: parse(t, "a!")})
	if closed := records[Closed](h); len(closed) != 1 || !strings.Contains(closed[0].Failed, "p: expand: p has no checkpoint, and returns a") {
		t.Errorf("%v", closed)
	}
}

// What is lost of a graph is made again task by task, and what has read its result comes after.
func TestRecoveryInAnExpansion(t *testing.T) {
	h := host(t, "p nd expands; c < p; d < c")
	h.end("p do", Outcome{Graph: parse(t, "a nd; b nd < a")})
	h.recorded("a do")
	h.end("b do", Outcome{}) // b is live and not saved
	h.end("c do", Outcome{})
	h.runs("d do")
	h.step(0, Gone{Task: h.r.Maker(0)}) // nobody needs it
	h.step(0, Gone{Task: 1})
	if rec := records[Recovering](h); len(rec) != 1 || fmt.Sprint(rec[0].Set) != "[4 1 2]" {
		t.Errorf("%v", rec)
	}
	h.end("d do", Outcome{Failed: "canceled"})
	h.runs("b do")
}

// A deterministic task without checkpoint returns the same graph under the same numbers, however often it is dropped.
func TestNumbersOfExpansionsAreUsedAgain(t *testing.T) {
	h := host(t, "n nd,off; p nd,off expands < n; c < p; d < n")
	for range 5 {
		h.end("n do", Outcome{})
		h.end("p do", Outcome{Graph: parse(t, "a off; b off < a")})
		delete(h.jobs, "d do")
		h.runs("a do")
		h.step(0, Gone{Task: 0, Gen: h.r.tasks[0].gen})
		for _, v := range []int{4, 3} { // what was canceled ends
			if t := &h.r.tasks[v]; !t.running.IsZero() {
				h.step(0, Outcome{Task: v, Attempt: t.running, Failed: "canceled"})
			}
		}
		delete(h.jobs, "a do")
	}
	if n := len(h.r.x.Tasks); n != 6 || len(h.r.x.scopes) > 2 {
		t.Errorf("the run has numbers for %d tasks, and %d scopes", n, len(h.r.x.scopes))
	}
}

// A graph that is larger than the one that was dropped has numbers that no other task has.
func TestALargerGraphHasOtherNumbers(t *testing.T) {
	h := host(t, "n nd,off; p nd,off expands < n; q nd,off expands < p; d < n q")
	h.end("n do", Outcome{})
	h.end("p do", Outcome{Graph: parse(t, "a nd,off")})
	h.end("a do", Outcome{})
	h.end("q do", Outcome{Graph: parse(t, "b nd,off")})
	h.step(0, Gone{Task: 0})
	h.step(0, Gone{Task: h.r.Maker(1)})
	if v := h.r.Maker(2); !h.r.tasks[v].running.IsZero() {
		h.step(0, Outcome{Task: v, Attempt: h.r.tasks[v].running, Failed: "canceled"})
	}
	delete(h.jobs, "b do")
	h.end("n do", Outcome{})
	h.end("p do", Outcome{Graph: parse(t, "a nd,off; b nd,off < a")})
	if first := h.r.Maker(1) - 1; first < 6 {
		t.Errorf("its tasks begin with the number %d", first)
	}
}

// A run has a million tasks at most, however deep its graphs are.
func TestBoundOfExpansions(t *testing.T) {
	h := host(t, "p nd,off expands; q < p")
	big := &Graph{Tasks: make([]Task, 400_000)}
	for v := range big.Tasks {
		big.Tasks[v] = Task{Name: "a", Deterministic: true, Effect: None, Checkpoint: Off, Expands: true}
		if v > 0 {
			big.Tasks[v].Reads = []int{v - 1}
		}
	}
	h.end("p do", Outcome{Graph: big})
	h.end("a do", Outcome{Graph: &Graph{Tasks: make([]Task, 600_000)}})
	if closed := records[Closed](h); len(closed) != 1 || !strings.Contains(closed[0].Failed, "the run would have 1000002 tasks, more than 1000000") {
		t.Errorf("%v", closed)
	}
}

// Of a run that goes back, an expansion counts by its inner effects only.
func TestGoingBackThroughAnExpansion(t *testing.T) {
	for _, c := range []struct {
		graph string
		undo  bool
	}{
		{"a nd; b nd < a", true},
		{"a nd; b! < a", false},
	} {
		h := host(t, "u u; p nd expands < u; z < p")
		h.recorded("u do")
		h.end("p do", Outcome{Graph: parse(t, c.graph)})
		h.recorded("a do")
		h.recorded("b do")
		h.end("z do", Outcome{Failed: "no", Final: true})
		if _, ok := h.jobs["u undo"]; ok != c.undo {
			t.Errorf("%s: u is undone: %v", c.graph, ok)
		}
	}
}

// The effects of a graph are taken back from the last to the first, and before those above it.
func TestTheEffectsOfAnExpansionAreTakenBackInOrder(t *testing.T) {
	h := host(t, "u u; p nd expands < u; v u < p; z < v")
	h.recorded("u do")
	h.end("p do", Outcome{Graph: parse(t, "a u; b u < a")})
	h.recorded("a do")
	h.recorded("b do")
	h.recorded("v do")
	h.end("z do", Outcome{Failed: "no", Final: true})
	for _, what := range []string{"v undo", "b undo", "a undo", "u undo"} {
		h.runs(what)
		h.end(what, Outcome{})
	}
	if !h.r.Closed() {
		t.Error("the run is not closed")
	}
}

// A checkpoint of an expansion is all of its checkpoints, and nothing in it is being made again.
func TestAnExpansionIsSaved(t *testing.T) {
	h := host(t, "p nd expands; x! < p")
	h.end("p do", Outcome{Graph: parse(t, "a nd; u u,off; b < a u")})
	h.end("a do", Outcome{})
	h.recorded("u do")
	h.step(0, Gone{Task: 3}) // u, which b reads
	h.recorded("b do")
	h.step(0, Checkpointed{Task: 2, Made: h.r.tasks[2].made})
	h.runs("u undo")
	h.end("u undo", Outcome{})
	h.recorded("u do")
	h.runs("x do")

	h = host(t, "p nd expands; x! < p")
	h.end("p do", Outcome{Graph: parse(t, "a nd; b < a")})
	h.end("a do", Outcome{})
	h.recorded("b do")
	h.runs() // a is not saved
	h.step(0, Checkpointed{Task: 2, Made: h.r.tasks[2].made})
	h.runs("x do")
}
