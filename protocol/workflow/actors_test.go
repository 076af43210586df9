package workflow

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Who may write a version, what a snapshot is for, and what waits for whom.
func TestActors(t *testing.T) {
	for _, c := range []struct{ graph, task, waits, refused string }{
		{"a actor; w snap < a*", "w", "", ""},
		{"a snap; w snap < a*", "w", "a", ""},
		{"a actor; v < a*; w < a*", "", "", "actors: v and w write the same version, that of a (a → v → w): have one of them only read it, or have w write what v makes"},
		{"a actor; w actor < a*", "", "", "actors: the result w holds an actor, whose version is not saved: Snapshot w, or have a task read it"},
		{"a actor; w snap < a*; r < a", "", "", "actors: r reads the version of a, which w moves away and of which there is no snapshot: r could not read it again (a → r → w): Snapshot a, or have r read what w makes"},
		{"a snap; w snap < a*; r < a w", "", "", "actors: w waits for r, which reads a version that it writes, and comes after it (w → r): have r read what w makes"},
		{"a actor; b < a*; c < b*", "", "", "actors: c writes an actor of task 1, which it does not read or which makes none: have it read a task that makes one"},
		{"e actor,sleep; a < e", "", "", "actors: e waits, and its output holds an actor: have a task behind it make the actor"},
		{"a actor; e expands < a*", "", "", "actors: e returns a graph, and makes or writes an actor: have tasks of the graph make what they write"},
		{"train actor; export! < train", "", "", "cut: export has an effect, and depends on train, which has no checkpoint and is not deterministic (train → export): Snapshot train, or declare export NoEffect"},
		{"a! actor; r < a", "", "", "actors: a has an idempotent effect, and its output holds an actor: a repeat under its key makes another actor: declare a NoEffect, give it an Undo, or have a task behind it make the actor"},
		{"a! snap", "", "", "actors: a has an idempotent effect, and its output holds an actor: a repeat under its key makes another actor: declare a NoEffect, give it an Undo, or have a task behind it make the actor"},
		{"a actor; w! snap < a*", "", "", "actors: w has an idempotent effect, and its output holds an actor: a repeat under its key makes another actor: declare w NoEffect, give it an Undo, or have a task behind it make the actor"},
		{"a! snap,comp", "", "", "actors: a has an idempotent effect, and its output holds an actor: a repeat under its key makes another actor: give a an Undo, or have a task behind it make the actor"},
		{"a snap,comp", "", "", "compensate: a has a compensation and no effect: there is nothing to make up for: do not declare a NoEffect, or leave its Compensate away"},
		{"a u,actor,comp; r < a", "", "", "compensate: a has an undo, and a compensation that needs its output, which is not saved: Snapshot a, or give it either an undo or a compensation"},
		{"a actor,caught; r < a", "", "", "catch: the error of a is caught and not saved, so that another attempt could end well: Snapshot a"},
		{"a! nd; w snap < a", "w", "", ""},
		{"a snap; w! < a*", "w", "a", ""},
		{"a u,snap; w u,snap,comp < a*", "w", "a", ""},
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

// Two versions whose writers read each other's: each would have to come before the other.
func TestReadersAndWritersInACycle(t *testing.T) {
	_, err := Check(parse(t, "a snap; b snap; v < a* b; w < b* a"))
	if err == nil || !strings.HasPrefix(err.Error(), "actors: ") || !strings.Contains(err.Error(), "v waits for w") || !strings.Contains(err.Error(), "w waits for v") {
		t.Errorf("%v", err)
	}
}

// A writer begins once the readers of its version have ended.
func TestReadersComeBeforeTheWriter(t *testing.T) {
	h := host(t, "a snap; w snap < a*; r < a")
	h.end("a do", Outcome{})
	h.step(0, Checkpointed{Task: 0, Made: h.r.tasks[0].made})
	h.runs("r do")
	h.end("r do", Outcome{})
	h.runs("w do")
}

// "T2 fails while it writes version 1": with version 1 saved it is restored, and T2 runs again; else T1 runs, too,
// and so on up to the last version that is saved.
func TestAWriterFails(t *testing.T) {
	for _, c := range []struct {
		graph string
		again string // what runs after T3 has failed
	}{
		{"T1 snap; T2 snap < T1*; T3 snap < T2*", "T3 do"},
		{"T1 snap; T2 actor < T1*; T3 snap < T2*", "T2 do"},
		{"T1 actor; T2 actor < T1*; T3 snap < T2*", "T1 do"},
	} {
		h := host(t, c.graph)
		for v := range 2 {
			h.end(fmt.Sprintf("T%d do", v+1), Outcome{})
			if h.r.x.saves(v) {
				h.step(0, Checkpointed{Task: v, Made: h.r.tasks[v].made})
			}
		}
		h.end("T3 do", Outcome{Failed: "it crashes"})
		h.step(h.r.now+mostPause, Tick{})
		h.runs(c.again)
	}
}

// A writer that fails is given up after its retries, although each time it is dropped with its version.
func TestAWriterIsGivenUp(t *testing.T) {
	h := host(t, "a actor; w snap < a*")
	for range 4 {
		h.end("a do", Outcome{})
		h.end("w do", Outcome{Failed: "it crashes"})
		h.step(h.r.now+mostPause, Tick{})
	}
	if closed := records[Closed](h); len(closed) != 1 || closed[0].Failed != "w: it crashes" {
		t.Errorf("%v, and %v run", closed, h.jobs)
	}
}

// While a writer goes on nobody looks for the version that it has; the next controller neither.
func TestAWriterHasItsVersion(t *testing.T) {
	h := host(t, "a actor; b nd; w snap < a*; c < b")
	h.end("a do", Outcome{})
	h.end("b do", Outcome{})
	h.step(0, Gone{Task: 1}) // so that it looks
	h.end("c do", Outcome{Failed: "canceled"})
	h.runs("w do", "b do")
	w := h.jobs["w do"]
	h.takeOver(RunConfig{Epoch: 2})
	h.r.Adopt(2, w.Attempt, Do)
	h.step(0, Tick{})
	if n := len(records[Recovering](h)); n != 1 {
		t.Errorf("there were %d recoveries", n)
	}
	h.takeOver(RunConfig{Epoch: 3}) // nobody has w, nor the actor
	h.step(0, Tick{})
	if all := records[Recovering](h); len(all) != 2 || !slices.Contains(all[1].Set, 0) {
		t.Errorf("%v", all)
	}
}

// Random graphs with actors have no bad execution (workflow specification 1).
func TestRandomGraphsWithActors(t *testing.T) {
	for n := 3; n <= 5; n++ {
		r := rand.New(rand.NewPCG(3, uint64(n)))
		accepted := 0
		for accepted < *explored {
			g := randomGraph(r, n)
			actors(r, g)
			e, err := Check(g)
			if err != nil || !slices.ContainsFunc(g.Tasks, func(t Task) bool { return len(t.Writes) > 0 }) {
				continue
			}
			accepted++
			if x := explore(g, e.Waits); x.bad() {
				t.Fatal(x)
			}
		}
	}
}
