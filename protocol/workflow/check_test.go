package workflow

import (
	"errors"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// The worked cases of the specification: what the named task waits for, or why the graph is refused.
func TestWorkedCases(t *testing.T) {
	for _, c := range []struct{ what, graph, task, waits, refused string }{
		{"trip", "begin! nd; lock1 nd,u < begin; lock2 nd,u < begin; reserve1 off < begin lock1; reserve2 off < begin lock2; finish! < begin reserve1 reserve2",
			"finish", "begin lock1 lock2", ""},
		{"a sibling of an unsaved draw", "a nd,off; b < a; x! < b; w < a", "x", "b w", ""},
		{"that comes after the commit", "a nd,off; b < a; x! < b; w < a x", "", "",
			"settle: x waits for w, which depends on a (no checkpoint) and comes after it (x → w): checkpoint a, or declare x NoEffect, or declare a Deterministic if that is so"},
		{"two commits", "a nd,off; a2 nd,off; b < a; x! < b; c2 < x a2; b2 < a2; y! < b2; c < y a", "", "",
			"settle: x waits for c, which depends on a (no checkpoint) and comes after y; y waits for c2, which depends on a2 (no checkpoint) and comes after x (x → c → y → c2): checkpoint a or a2, or declare x or y NoEffect, or declare a or a2 Deterministic if that is so"},
		{"the closure", "u nd,off; u2 nd,off; b < u; x! < b; w < u u2; z < u2", "x", "b w z", ""},
		{"an undo that is not saved", "a u,off; x! < a", "", "",
			"cut: x has an effect, and depends on a, which has no checkpoint and can be undone (a → x): checkpoint a, or declare x or a NoEffect, or give a no undo"},
		{"a draw above an undo", "a nd,off; d off < a; v u < d", "", "",
			"cut: v has an effect, and depends on a, which has no checkpoint and is not deterministic (a → d → v): checkpoint a or d, or declare v NoEffect, or declare a Deterministic if that is so"},
		{"a draw above a compensation", "a nd,off; v! comp < a", "", "",
			"cut: v has an effect, and depends on a, which has no checkpoint and is not deterministic (a → v): checkpoint a, or declare v NoEffect, or declare a Deterministic if that is so"},
		{"inputs of a compensation", "a; d off < a; v! comp < d", "v", "a", ""},
		{"a compensation of nothing", "a; v nd,comp < a", "", "",
			"compensate: v has a compensation and no effect: there is nothing to make up for: do not declare v NoEffect, or leave its Compensate away"},
		{"inputs of an undo", "a nd; d off < a; v u < d", "v", "a", ""},
		{"write-ahead logging", "a! nd; b! nd < a; c! nd < a b", "c", "a b", ""},
		{"a consumer of a caught error", "a caught; b < a", "b", "a", ""},
		{"a consumer that waits", "a nd,sync; b < a", "b", "a", ""},
		{"a reduce of floats", "a nd,off; b nd,off; sum arrival,nd < a b; w! < sum", "w", "sum", ""},
		{"one whose result is not saved", "a nd; sum arrival,nd,off < a; w! < sum", "", "",
			"cut: w has an effect, and depends on sum, which has no checkpoint and is not deterministic (sum → w): checkpoint sum, or declare w NoEffect"},
		{"a reduce of integers", "a nd; sum off < a; w! < sum", "w", "a", ""},
		{"a consumer that does not", "a nd; b < a", "b", "", ""},
	} {
		g := parse(t, c.graph)
		e, err := Check(g)
		if c.refused != "" {
			if err == nil || err.Error() != c.refused || !errors.Is(err, phalanx.ErrInvalid) {
				t.Errorf("%s:\n got %v\nwant %s", c.what, err, c.refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		for v := range g.Tasks {
			if g.Tasks[v].Name != c.task {
				continue
			}
			if got := strings.Join(e.names(e.Waits(v)), " "); got != c.waits {
				t.Errorf("%s: %s waits for %q, want %q", c.what, c.task, got, c.waits)
			}
		}
	}
}

func TestGraphsThatAreNone(t *testing.T) {
	for _, c := range []struct {
		what string
		g    Graph
		says string
	}{
		{"no task", Graph{}, "has no task"},
		{"too many", Graph{Tasks: make([]Task, MaxTasks+1)}, "1000001 tasks, more than 1000000"},
		{"reads itself", Graph{Tasks: []Task{{Reads: []int{0}}}}, "task 0 reads or follows task 0"},
		{"reads what is not there", Graph{Tasks: []Task{{}, {After: []int{-1}}}}, "task 1 reads or follows task -1"},
		{"a caught error without checkpoint", Graph{Tasks: []Task{{Name: "e", Caught: true, Checkpoint: Off}, {Reads: []int{0}}}}, "the error of e is caught and not saved"},
		{"a compensation without output", Graph{Tasks: []Task{{Name: "pay", Effect: Undo, Compensates: true, Checkpoint: Off}, {Reads: []int{0}}}}, "pay has an undo, and a compensation that needs its output"},
		{"more inputs than there are", Graph{Tasks: []Task{{}, {Name: "sum", Reads: []int{0}, Needs: 2, Effect: None}}}, "sum needs 2 of its 1 inputs: let"},
		{"a number below zero", Graph{Tasks: []Task{{}, {Name: "sum", Reads: []int{0}, Needs: -1, Effect: None}}}, "sum needs -1 of its 1 inputs: let"},
		{"an effect of some inputs", Graph{Tasks: []Task{{}, {}, {Name: "pay", Reads: []int{0, 1}, Needs: 1}}}, "pay needs 1 of its 2 inputs, and is no reduce"},
		{"a graph of some inputs", Graph{Tasks: []Task{{}, {}, {Name: "grow", Reads: []int{0, 1}, Needs: 1, Effect: None, Expands: true}}}, "grow needs 1 of its 2 inputs, and is no reduce"},
		{"an event of some inputs", Graph{Tasks: []Task{{}, {}, {Name: "ok", Reads: []int{0, 1}, Needs: 1, Effect: None, Event: "ok"}}}, "ok needs 1 of its 2 inputs, and is no reduce"},
		{"an input twice", Graph{Tasks: []Task{{}, {Name: "sum", Reads: []int{0, 0}, Needs: 1, Effect: None}}}, "sum needs some of its inputs, and reads one of them twice"},
		{"a deterministic choice", Graph{Tasks: []Task{{}, {}, {Name: "sum", Reads: []int{0, 1}, Needs: 1, Effect: None, Deterministic: true}}}, "sum is declared Deterministic, and its output shows"},
		{"a deterministic race", Graph{Tasks: []Task{{Name: "race", Arrival: true, Deterministic: true}}}, "race is declared Deterministic, and its output shows"},
		{"a deterministic actor", Graph{Tasks: []Task{{Name: "spawn", Actor: true, Snapshot: true, Effect: None, Deterministic: true}}}, "deterministic: spawn is declared Deterministic, and its output holds an actor, which lives at another place each time: do not"},
	} {
		_, err := Check(&c.g)
		var refused *CheckError
		if !errors.As(err, &refused) || !strings.Contains(refused.Error(), c.says) || refused.Fix == "" {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
