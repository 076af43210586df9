package workflow

import (
	"strings"
	"testing"
)

// How tasks stand, record by record.
func TestProgress(t *testing.T) {
	at := Attempt{1, 1}
	graph := func(n int) *Graph { return &Graph{Tasks: make([]Task, n)} }
	p := NewProgress(3)
	for i, c := range []struct {
		rec  Record
		want string
	}{
		{Begun{Task: 0, Attempt: at}, "begun, to come, to come"},
		{Begun{Task: 0, Attempt: at}, "begun, to come, to come"},
		{Ended{Task: 0, Attempt: at}, "ended, to come, to come"},
		{Saved{Task: 0}, "saved, to come, to come"},
		{Unsaved{Task: 0}, "ended, to come, to come"},
		{Begun{Task: 1}, "ended, begun, to come"},
		{Expanded{Task: 1, First: 3, Graph: graph(2)}, "ended, expanded, to come, to come, to come"},
		{Begun{Task: 3}, "ended, expanded, to come, begun, to come"},
		{Expanded{Task: 3, First: 5, Graph: graph(1)}, "ended, expanded, to come, expanded, to come, to come"},
		{Recovering{Set: []int{0, 1}}, "again, again, to come, dropped, dropped, dropped"},
		{Undone{Task: 4}, "again, again, to come, dropped, dropped, dropped"},
		{Undone{Task: 0}, "again, again, to come, dropped, dropped, dropped"},
		{Begun{Task: 1}, "again, begun, to come, dropped, dropped, dropped"},
		{Expanded{Task: 1, First: 4, Graph: graph(1)}, "again, expanded, to come, dropped, to come, dropped"},
		{Slept{Task: 4}, "again, expanded, to come, dropped, begun, dropped"},
		{Ended{Task: 0, Output: Output{Recorded: true, Error: "no"}}, "saved, expanded, to come, dropped, begun, dropped"},
		{Undone{Task: 0}, "saved, expanded, to come, dropped, begun, dropped"}, // before its error was caught
		{Failing{"why"}, "saved, expanded, to come, dropped, begun, dropped"},
		{Undone{Task: 0}, "undone, expanded, to come, dropped, begun, dropped"},
		{Undone{Task: 1, Left: true}, "undone, effect stays, to come, dropped, begun, dropped"},
		{Compensated{Task: 4}, "undone, effect stays, to come, dropped, compensated, dropped"},
		{Closed{"why"}, "undone, effect stays, to come, dropped, compensated, dropped"},
	} {
		p.Take(c.rec)
		var got []string
		for _, task := range p.Tasks {
			got = append(got, task.Stage.String())
		}
		if g := strings.Join(got, ", "); g != c.want {
			t.Fatalf("after record %d, %T: %s, want %s", i, c.rec, g, c.want)
		}
	}
	if p.Tasks[0].Attempts != 2 || !p.Over || p.Cause != "why" {
		t.Errorf("%+v", p)
	}
	if first, end, is := p.Inner(1); !is || first != 4 || end != 5 {
		t.Errorf("the graph of task 1 is [%d, %d)", first, end)
	}
}
