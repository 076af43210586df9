package workflow

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/phalanx-go/phalanx/internal/poll"
)

// No more attempts of tasks with a limit run at once than it says: of several runs, on several nodes. What waits
// has no slot.
func TestLimit(t *testing.T) {
	var running, most atomic.Int32
	g := newGate()
	limited := func(node string) *Registry {
		return Tasks(Func1("limited", 1, func(c Context, k int) (int, error) {
			n := running.Add(1)
			defer running.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			return k, g.pass(c, node)
		}).With(Limit("gpu", 2), Idempotent),
			Func1("sum", 1, func(_ Context, all []int) (n int, _ error) {
				for _, k := range all {
					n += k
				}
				return n, nil
			}).With(NoEffect))
	}
	b := &bedOf{t: t}
	for _, name := range []string{"a", "b", "c"} {
		b.join(name, Settings{Dir: t.TempDir(), Tasks: limited(name), Slots: 4})
	}
	b.allSee()
	task, _ := limited("").find("limited", 1)
	sum, _ := limited("").find("sum", 1)
	var runs []Run[int]
	for i := range 3 {
		var all []Arg[int]
		for k := range 4 {
			all = append(all, F1[int, int]{task}.Bind(Value(k)))
		}
		r, err := Start(within(t), b.nodes[i], fmt.Sprint("run/", i), F1[[]int, int]{sum}.Bind(All(all...)))
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r)
	}
	first, second := g.await(t), g.await(t)
	poll.Until(t, "all others wait", func() bool {
		ready := 0
		for i := range runs {
			s, err := StatusOf(within(t), b.nodes[0], fmt.Sprint("run/", i))
			if err != nil {
				return false
			}
			ready += s.Ready
		}
		return ready == 10
	})
	if n := running.Load(); n != 2 {
		t.Errorf("%d attempts run, on %s and %s", n, first, second)
	}
	close(g.open)
	for _, r := range runs {
		if got := result(t, r, nil); got != 6 {
			t.Errorf("the result is %d", got)
		}
	}
	if n := most.Load(); n != 2 {
		t.Errorf("%d attempts ran at once", n)
	}
}
