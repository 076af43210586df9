package e2e

import (
	"fmt"
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// Every actor asks for the same allreduce, before, while and after the sources are
// put, and each gets every byte.
func TestAllReduce(t *testing.T) {
	for _, size := range []int64{0, 64, 8 << 10, 300_008, 4_000_024} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			name := fresh("allreduce")
			ids, put := sources(name, processes, phalanx.Int64, size)
			o := order{Do: "allreduce", Object: phalanx.ObjectID(name), Sources: ids, Op: phalanx.Sum, DType: phalanx.Int64, Size: size}
			var calls, puts []*pendingAnswer
			for i, a := range agents {
				if i == len(agents)-1 { // one comes late
					must(t, puts...)
					must(t, calls...)
				}
				calls, puts = append(calls, tell(a, o)), append(puts, put(i))
				if i == len(agents)-2 {
					puts = append(puts, put(i+1))
				}
			}
			for _, got := range must(t, calls...) {
				if !same(got.In, ids) {
					t.Errorf("in the result are %v", got.In)
				}
			}
		})
	}
}

// Some of the sources never come; those that do are enough.
func TestAllReduceOfSome(t *testing.T) {
	const size = 1_000_000
	name := fresh("allreduce")
	ids, put := sources(name, processes, phalanx.Int64, size)
	o := order{Do: "allreduce", Object: phalanx.ObjectID(name), Sources: ids, Op: phalanx.Sum, Num: processes - 2, DType: phalanx.Int64, Size: size}
	var calls []*pendingAnswer
	for _, a := range agents {
		calls = append(calls, tell(a, o))
	}
	for i := range o.Num {
		must(t, put(i))
	}
	answers := must(t, calls...)
	for _, got := range answers {
		if !slices.Equal(got.In, answers[0].In) || len(got.In) != o.Num || len(got.Out) != 2 {
			t.Errorf("in are %v, not %v", got.In, got.Out)
		}
	}
}

func TestGather(t *testing.T) {
	for _, size := range []int64{0, 64, 300_008, 2_000_024} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			ids, put := sources(fresh("gather"), processes+2, phalanx.Int64, size)
			o := order{Do: "gather", Sources: ids, DType: phalanx.Int64, Size: size}
			some := o
			some.Num = 3
			first := tell(agents[1], some)
			for i := range some.Num {
				must(t, put(i))
			}
			if got := must(t, first)[0]; !same(got.In, ids[:some.Num]) || !same(got.Out, ids[some.Num:]) {
				t.Errorf("in are %v, not %v", got.In, got.Out)
			}
			var all []*pendingAnswer // every one gathers
			for _, a := range agents {
				all = append(all, tell(a, o))
			}
			for i := some.Num; i < len(ids); i++ {
				must(t, put(i))
			}
			for _, got := range must(t, all...) {
				if !same(got.In, ids) || len(got.Out) > 0 {
					t.Errorf("in are %v, not %v", got.In, got.Out)
				}
			}
		})
	}
}
