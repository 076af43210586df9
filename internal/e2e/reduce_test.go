package e2e

import (
	"fmt"
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// sources returns m ids that begin with name, and the orders that put them:
// two agents have more than one each if there are more sources than agents.
func sources(name string, m int, d phalanx.DType, size int64) (ids []phalanx.ObjectID, put func(int) *pendingAnswer) {
	for i := range m {
		ids = append(ids, phalanx.ObjectID(fmt.Sprintf("%s/source/%d", name, i)))
	}
	return ids, func(i int) *pendingAnswer {
		return tell(agents[i%len(agents)], order{Do: "put", Object: ids[i], Size: size, DType: d})
	}
}

// everywhere has every agent get the target and check every byte of it.
func everywhere(t *testing.T, o order, in []phalanx.ObjectID) {
	t.Helper()
	o.Do, o.Sources = "get", in
	var all []*pendingAnswer
	for _, a := range agents {
		all = append(all, tell(a, o))
	}
	must(t, all...)
}

func same(a, b []phalanx.ObjectID) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func TestReduce(t *testing.T) {
	const m = processes + 2
	large := int64(3_000_008)
	if testing.Short() {
		large = 1_000_008
	}
	for i, c := range []struct {
		size   int64
		dtype  phalanx.DType
		op     phalanx.Op
		num    int // 0: all
		degree int
	}{
		{0, phalanx.Float32, phalanx.Sum, 0, 0},
		{1 << 10, phalanx.Float32, phalanx.Sum, 0, 0},
		{1 << 10, phalanx.Int64, phalanx.Sum, 5, 0},
		{64<<10 - 1, phalanx.Uint8, phalanx.Xor, 0, 0},
		{64 << 10, phalanx.Int64, phalanx.Sum, 0, 0},
		{1 << 20, phalanx.Float32, phalanx.Sum, 0, 0},
		{1<<20 + 4, phalanx.Float32, phalanx.Max, 5, 0},
		{1_000_003, phalanx.Uint8, phalanx.Xor, 0, 1},
		{large, phalanx.Int64, phalanx.Sum, 0, 2},
		{large, phalanx.Int64, phalanx.Sum, 6, m},
		{large, phalanx.Int64, phalanx.Sum, 1, 0},
		{20 << 20, phalanx.Float32, phalanx.Sum, 0, 0},
		{20<<20 + 12, phalanx.Float32, phalanx.Sum, 5, 0},
	} {
		if testing.Short() && c.size > largest {
			continue
		}
		t.Run(fmt.Sprintf("%s of %d bytes of %v, %d of %d, degree %d", c.op, c.size, c.dtype, c.num, m, c.degree), func(t *testing.T) {
			name := fresh("reduce")
			ids, put := sources(name, m, c.dtype, c.size)
			num := c.num
			if num == 0 {
				num = m
			}
			o := order{Do: "reduce", Object: phalanx.ObjectID(name), Sources: ids, Op: c.op, Num: c.num, Degree: c.degree, DType: c.dtype, Size: c.size}
			// Some are there before, some come while it runs; those that are not
			// waited for do not come before it is over.
			must(t, put(m-1))
			reduce := tell(agents[i%len(agents)], o)
			var puts []*pendingAnswer
			for k := range num - 1 {
				puts = append(puts, put(m-2-k))
			}
			must(t, puts...)
			got := must(t, reduce)[0]
			if !same(got.In, ids[m-num:]) || !same(got.Out, ids[:m-num]) {
				t.Fatalf("in the result are %v, not %v; want %v", got.In, got.Out, ids[m-num:])
			}
			everywhere(t, o, got.In)
			for k := range m - num { // too late to change anything
				must(t, put(k))
			}
			if again := must(t, tell(agents[(i+1)%len(agents)], o))[0]; !same(again.In, got.In) {
				t.Errorf("asked again: %v", again.In)
			}
			for _, id := range append(ids, o.Object) {
				must(t, tell(agents[0], order{Do: "delete", Object: id}))
			}
		})
	}
}

// All sources are put at the same time as the reduce: the first ones win,
// whoever they are.
func TestReduceOfTheFirst(t *testing.T) {
	const m, num, size = 9, 4, 2_000_000
	for i := range 3 {
		name := fresh("race")
		ids, put := sources(name, m, phalanx.Int64, size)
		o := order{Do: "reduce", Object: phalanx.ObjectID(name), Sources: ids, Op: phalanx.Sum, Num: num, DType: phalanx.Int64, Size: size}
		all := []*pendingAnswer{tell(agents[i], o)}
		for k := range m {
			all = append(all, put(k))
		}
		got := must(t, all...)[0]
		if len(got.In) != num || !same(append(slices.Clone(got.In), got.Out...), ids) {
			t.Fatalf("in the result are %v, not %v", got.In, got.Out)
		}
		everywhere(t, o, got.In)
	}
}

// The target of one reduce is a source of another, which is asked for first.
func TestComposedReduce(t *testing.T) {
	for _, size := range []int64{8 << 10, 4_000_024} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			name := fresh("composed")
			lower, putLower := sources(name+"/lower", 4, phalanx.Int64, size)
			upper, putUpper := sources(name+"/upper", 3, phalanx.Int64, size)
			inner := order{Do: "reduce", Object: phalanx.ObjectID(name + "/inner"), Sources: lower, Op: phalanx.Sum, DType: phalanx.Int64, Size: size}
			outer := order{Do: "reduce", Object: phalanx.ObjectID(name + "/outer"), Sources: append([]phalanx.ObjectID{inner.Object}, upper...), Op: phalanx.Sum, DType: phalanx.Int64, Size: size}
			all := []*pendingAnswer{tell(agents[1], outer), putUpper(0), putUpper(1), tell(agents[4], inner), putLower(0), putLower(3), putUpper(2), putLower(2), putLower(1)}
			got := must(t, all...)
			if !same(got[0].In, outer.Sources) || !same(got[3].In, lower) {
				t.Errorf("the outer one has %v, the inner one %v", got[0].In, got[3].In)
			}
			everywhere(t, inner, lower)
			everywhere(t, outer, append(slices.Clone(lower), upper...))
		})
	}
}

// Two reduces share a source, and are asked for at the same time.
func TestReducesThatShareASource(t *testing.T) {
	for _, size := range []int64{64, 8 << 10, 4_000_024} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			name := fresh("shared")
			ids, put := sources(name, 5, phalanx.Int64, size)
			one := order{Do: "reduce", Object: phalanx.ObjectID(name + "/one"), Sources: ids[:3], Op: phalanx.Sum, DType: phalanx.Int64, Size: size}
			other := one
			other.Object, other.Sources = phalanx.ObjectID(name+"/other"), ids[2:]
			all := []*pendingAnswer{tell(agents[1], one), tell(agents[2], other)}
			for _, i := range []int{0, 3, 2, 4, 1} { // the third is shared
				all = append(all, put(i))
			}
			for i, got := range must(t, all...)[:2] {
				o := []order{one, other}[i]
				if !same(got.In, o.Sources) {
					t.Errorf("%s has %v", o.Object, got.In)
				}
				everywhere(t, o, got.In)
			}
			must(t, put(2)) // a late Put of the same bytes changes nothing
			everywhere(t, other, other.Sources)
		})
	}
}
