package workflow

import (
	"math/rand/v2"
	"testing"
)

// needSome has tasks of a graph that read others need some of their inputs only.
func needSome(r *rand.Rand, g *Graph) {
	for v := range g.Tasks {
		t := &g.Tasks[v]
		if len(t.Reads) < 2 || t.waits() || r.IntN(2) == 0 {
			continue
		}
		needs(r, t)
	}
}

// needs has a task need some of its inputs only.
func needs(r *rand.Rand, t *Task) {
	if len(t.Reads) > 2 && r.IntN(4) == 0 { // it follows the last one
		last := len(t.Reads) - 1
		t.After, t.Reads = append(t.After, t.Reads[last]), t.Reads[:last]
	}
	t.Needs = int32(1 + r.IntN(len(t.Reads)-1))
	t.Effect, t.Deterministic, t.Compensates, t.Expands = None, false, false, false
}

// exploreAll is explore of a graph that Check accepts, with all its waits. Where a task begins before an input of it has ended, what
// waits for that is not implied.
func exploreAll(g *Graph, e *Events) *explorer {
	x := newExplorer(g, e.Waits).spending(e)
	x.run()
	return x
}

// No graph of three tasks whose last one needs one of two inputs has a bad execution.
func TestEveryGraphOfThreeTasksThatNeedsSome(t *testing.T) {
	accepted := 0
	allOfThree(func(g *Graph) {
		last := &g.Tasks[2]
		if len(last.Reads) < 2 || last.Effect != None || last.Deterministic {
			return
		}
		last.Needs = 1
		e, err := Check(g)
		if err != nil {
			return
		}
		accepted++
		if x := exploreAll(g, e); x.bad() {
			t.Fatal(x)
		}
	})
	if accepted != 512 {
		t.Errorf("%d graphs are accepted", accepted)
	}
}

// Nor has a random graph of four to six tasks in which tasks need some of their inputs.
func TestRandomGraphsThatNeedSome(t *testing.T) {
	for n := 4; n <= 6; n++ {
		r := rand.New(rand.NewPCG(8, uint64(n)))
		for accepted := 0; accepted < *explored; {
			g := randomGraph(r, n)
			needSome(r, g)
			if e, err := Check(g); err == nil && some(g) {
				accepted++
				if x := exploreAll(g, e); x.bad() {
					t.Fatal(x)
				}
			}
		}
	}
}

func some(g *Graph) bool {
	for v := range g.Tasks {
		if g.Tasks[v].Needs > 0 {
			return true
		}
	}
	return false
}
