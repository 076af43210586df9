package workflow

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/poll"
	"github.com/phalanx-go/phalanx/storenode/dataplane/combine"
)

// filled returns an array of n times v.
func filled[E cluster.Element](n int, v E) []E {
	all := make([]E, n)
	for i := range all {
		all[i] = v
	}
	return all
}

// allSee waits until each node sees them all.
func (b *bedOf) allSee() {
	b.t.Helper()
	for _, n := range b.nodes {
		poll.Until(b.t, "a view of all", func() bool { return len(n.View().Members) == len(b.nodes) })
	}
}

// A reduce combines outputs of tasks: large ones where they are, small ones, constants, lists, and one output twice.
func TestReduce(t *testing.T) {
	ones := Func2("ones", 1, func(_ Context, n int, v float32) ([]float32, error) { return filled(n, v), nil }).With(NoEffect)
	ints := Func2("ints", 1, func(_ Context, n int, v int64) ([]int64, error) { return filled(n, v), nil }).With(NoEffect)
	raw := Func1("raw", 1, func(_ Context, s string) ([]byte, error) { return []byte(s), nil }).With(NoEffect, Deterministic)
	number := Func1("number", 1, func(_ Context, n int64) (int64, error) { return n, nil }).With(NoEffect)
	tasks := Tasks(ones, ints, raw, number)
	b := &bedOf{t: t}
	for _, name := range []string{"a", "b", "c"} {
		b.join(name, Settings{Dir: t.TempDir(), Tasks: tasks})
	}
	b.allSee()
	n := b.nodes[1]
	float := func(n int, v float32) Step[[]float32] { return ones.Bind(Value(n), Value(v)) }
	for _, size := range []int{0, 3, 100_000} { // outputs of 3 go with records, of 100,000 as objects
		for name, o := range map[string]Option{"saved": SyncCheckpoint, "not saved": NoCheckpoint} {
			var in []Arg[[]float32]
			for i := range 7 {
				in = append(in, float(size, float32(i)).With(o))
			}
			s := Reduce(phalanx.Sum, 0, append(in, in[3])...).With(o)
			r, err := Start(within(t), n, fmt.Sprint(size, " ", name), s)
			if got := result(t, r, err); !slices.Equal(got, filled[float32](size, 24)) {
				t.Errorf("%s: %d elements: %v", name, len(got), got[:min(3, len(got))])
			}
			twice, err := Start(within(t), n, fmt.Sprint("twice ", size, " ", name), Reduce(phalanx.Sum, 0, Arg[[]float32](s), Reduce(phalanx.Min, 0, Arg[[]float32](s), in[0])))
			if got := result(t, twice, err); !slices.Equal(got, filled[float32](size, 24)) {
				t.Errorf("%s: of reduces: %d elements: %v", name, len(got), got[:min(3, len(got))])
			}
		}
	}
	whole := func(v int64) Arg[[]int64] { return ints.Bind(Value(2), Value(v)) }
	r, err := Start(within(t), n, "mixed", Reduce(phalanx.Max, 0, whole(1), Value([]int64{0, 5}), All[int64](number.Bind(Value(int64(7))), Value(int64(2)))))
	if got := result(t, r, err); !slices.Equal(got, []int64{7, 5}) {
		t.Error(got)
	}
	u, err := Start(within(t), n, "bytes", Reduce(phalanx.Or, 0, Arg[[]byte](raw.Bind(Value("\x01\x02"))), raw.Bind(Value("\x10\x02"))))
	if got := result(t, u, err); string(got) != "\x11\x02" {
		t.Errorf("%x", got)
	}
	first, err := Start(within(t), n, "first", Reduce(phalanx.Sum, 2, whole(1), whole(1), whole(1)))
	if got := result(t, first, err); !slices.Equal(got, []int64{2, 2}) {
		t.Error(got)
	}
}

// A node dies in the middle of a reduce: the one that runs the attempt, or one with inputs, saved or not. The reduce ends
// all the same, with each input once: with all of them, or with as many as it is to take.
func TestNodeDiesInAReduce(t *testing.T) {
	for _, num := range []int{0, 6} {
		for _, victim := range []int{1, 2} {
			t.Run(fmt.Sprint(num, " inputs, node ", victim), func(t *testing.T) { nodeDiesInAReduce(t, num, victim) })
		}
	}
}

func nodeDiesInAReduce(t *testing.T, num, victim int) {
	reached, open := make(chan struct{}), make(chan struct{})
	var once sync.Once
	b := &bedOf{t: t, ops: map[phalanx.Op]cluster.CombineFunc{"slowly": func(d phalanx.DType, dst, src []byte) error {
		once.Do(func() { close(reached) })
		<-open
		return combine.Combine(phalanx.Sum, d, dst, src)
	}}}
	const size = 50_000
	made := Func1("made", 1, func(_ Context, v int32) ([]int32, error) { return filled(size, v), nil }).With(NoEffect)
	b.join("disk", Settings{Dir: t.TempDir()})
	for _, name := range []string{"a", "b"} {
		b.join(name, Settings{Tasks: Tasks(made), Slots: 2})
	}
	b.allSee()
	var in []Arg[[]int32]
	for i := range 8 {
		s := made.Bind(Value(int32(1) << i))
		if i%2 == 0 {
			s = s.With(NoCheckpoint)
		}
		in = append(in, s)
	}
	r, err := Start(within(t), b.nodes[0], "sum", Reduce("slowly", num, in...))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-reached:
	case <-time.After(20 * time.Second):
		t.Fatal("nothing is combined")
	}
	die(b.nodes[victim])
	close(open)
	got := result(t, r, nil)
	if len(got) != size || !slices.Equal(got, filled(size, got[0])) || got[0] > 255 || bits.OnesCount8(uint8(got[0])) != cmp.Or(num, len(in)) {
		t.Errorf("%d elements: %b", len(got), got[:min(3, len(got))])
	}
}
