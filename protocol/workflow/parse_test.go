package workflow

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// parse reads a graph as the specification writes its worked cases: "a nd,off; b < a; x! < b c". A
// task without a mark is deterministic, has an async checkpoint and no effect.
func parse(t testing.TB, text string) *Graph {
	t.Helper()
	g := &Graph{}
	index := map[string]int{}
	for part := range strings.SplitSeq(text, ";") {
		left, right, _ := strings.Cut(part, "<")
		fields := strings.Fields(left)
		task := Task{Name: strings.TrimSuffix(fields[0], "!"), Deterministic: true, Effect: None}
		if strings.HasSuffix(fields[0], "!") {
			task.Effect = Idempotent
		}
		for _, mark := range fields[1:] {
			for m := range strings.SplitSeq(mark, ",") {
				if name, most, is := strings.Cut(m, ":"); is {
					n, err := strconv.Atoi(most)
					if err != nil {
						t.Fatal(err)
					}
					if name == "needs" {
						task.Needs, task.Deterministic = int32(n), false
						continue
					}
					task.Limit = Limit{name, n}
					continue
				}
				switch m {
				case "nd":
					task.Deterministic = false
				case "off":
					task.Checkpoint = Off
				case "sync":
					task.Checkpoint = Sync
				case "u":
					task.Effect = Undo
				case "expands":
					task.Expands = true
				case "actor":
					task.Actor, task.Deterministic = true, false
				case "snap":
					task.Actor, task.Snapshot, task.Deterministic = true, true, false
				case "event":
					task.Event, task.Deterministic = task.Name, false
				case "sleep":
					task.Sleep = time.Hour
				case "comp":
					task.Compensates = true
				case "arrival":
					task.Arrival = true
				case "caught":
					task.Caught = true
				default:
					t.Fatalf("what is %q?", m)
				}
			}
		}
		for _, p := range strings.Fields(right) {
			p, writes := strings.CutSuffix(p, "*") // it writes the actor
			v, ok := index[p]
			if !ok {
				t.Fatalf("%s reads %s, which does not come before it", task.Name, p)
			}
			task.Reads = append(task.Reads, v)
			if writes {
				task.Writes = append(task.Writes, v)
			}
		}
		index[task.Name] = len(g.Tasks)
		g.Tasks = append(g.Tasks, task)
	}
	return g
}
