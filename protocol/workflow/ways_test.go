package workflow

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// waysOf reads the fix of an error: the changes that it names, each as "checkpoint a".
func waysOf(fix string) map[string]bool {
	all := map[string]bool{}
	for part := range strings.SplitSeq(fix, ", or ") {
		what := "checkpoint"
		for _, w := range []struct{ before, after, what string }{
			{"checkpoint ", "", "checkpoint"}, {"Snapshot ", "", "checkpoint"}, {"declare ", " NoEffect", "effect"}, {"declare ", " Deterministic if that is so", "deterministic"}, {"give ", " no undo", "undo"},
		} {
			if strings.HasPrefix(part, w.before) && strings.HasSuffix(part, w.after) {
				part, what = strings.TrimSuffix(strings.TrimPrefix(part, w.before), w.after), w.what
				break
			}
		}
		for name := range strings.SplitSeq(part, " or ") {
			all[what+" "+name] = true
		}
	}
	return all
}

// The fix of a refused graph names every way out: each single change that mends the graph, and none that leaves what
// is broken as it is.
func TestEveryWayOut(t *testing.T) {
	refused, mended := 0, 0
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 17))
		g := randomGraph(r, 2+r.IntN(6))
		if r.IntN(3) == 0 {
			actors(r, g)
		}
		for v := range g.Tasks {
			g.Tasks[v].Name = string(rune('a' + v))
		}
		_, err := Check(g)
		var broken *CheckError
		if !errors.As(err, &broken) || broken.Rule == Actors { // which has other ways out
			continue
		}
		refused++
		named := waysOf(broken.Fix)
		for v := range g.Tasks {
			for what, change := range map[string]func(*Task){
				"checkpoint":    func(t *Task) { t.Checkpoint, t.Snapshot = Async, t.Actor },
				"effect":        func(t *Task) { t.Effect = None },
				"deterministic": func(t *Task) { t.Deterministic = true },
				"undo": func(t *Task) {
					if t.Effect == Undo {
						t.Effect = Idempotent
					}
				},
			} {
				before := g.Tasks[v]
				change(&g.Tasks[v])
				same := g.Tasks[v].Checkpoint == before.Checkpoint && g.Tasks[v].Snapshot == before.Snapshot && g.Tasks[v].Effect == before.Effect && g.Tasks[v].Deterministic == before.Deterministic
				_, err := Check(g)
				g.Tasks[v] = before
				name := what + " " + before.Name
				var after *CheckError
				switch is := errors.As(err, &after); {
				case !is && !named[name]:
					t.Fatalf("seed %d: %q mends %+v, and is not named: %v", seed, name, g.Tasks, broken)
				case !is:
					mended++
				case named[name] && (same || after.Rule == Deterministic || after.Error() == broken.Error()):
					t.Fatalf("seed %d: %q is named and mends nothing of %+v: %v", seed, name, g.Tasks, broken)
				}
			}
		}
	}
	if refused < 1000 || mended < 1000 {
		t.Errorf("%d graphs were refused, %d changes mend them", refused, mended)
	}
}
