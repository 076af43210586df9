package reduce

import (
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// A Reduce of very many small sources: what each of them costs does not grow with
// their number, or this test would take minutes.
func TestManySmallSources(t *testing.T) {
	const n = 100_000
	for _, surveyed := range []int{n, 10} { // the others become ready one by one
		sources := make([]phalanx.ObjectID, n)
		for i := range sources {
			sources[i] = phalanx.ObjectID(fmt.Sprintf("source/%0240d", i))
		}
		c := New(Config{Target: "sum", Sources: sources, Num: n, Op: phalanx.Sum, Node: "a#1", Attempt: 1, Latency: time.Millisecond, Bandwidth: 1e9,
			InlineLimit: InlineLimit})
		ready := func(i int) Ready {
			return Ready{Source: sources[i], Gen: phalanx.Generation{Epoch: 1, Seq: uint64(i)}, Meta: phalanx.Meta{Size: 8, DType: phalanx.Int64, Shape: []int64{1}}, Kind: Inline, Final: true}
		}
		gen := phalanx.Generation{Epoch: 1, Seq: n}
		c.Step(Start{})
		c.Step(Begun{Gen: gen})
		var first []Ready
		for i := range surveyed {
			first = append(first, ready(i))
		}
		effects := c.Step(Surveyed{Ready: first})
		for i := surveyed; i < n; i++ {
			effects = c.Step(ready(i))
		}
		if len(effects) != 1 || len(effects[0].(CombineInline).Inputs) != n {
			t.Fatalf("%d effects, when all are ready", len(effects))
		}
		effects = c.Step(InlineDone{Seq: effects[0].(CombineInline).Seq, Size: 8})
		f := effects[0].(Finalise)
		if len(f.In) != n || len(Note(sources, f.In)) > 16<<10 {
			t.Fatalf("%d are in the result", len(f.In))
		}
		done := false
		for _, e := range c.Step(Finalised{Gen: gen}) {
			r, ok := e.(Result)
			done = done || ok && len(r.In) == n
		}
		if !done {
			t.Error("there is no result")
		}
	}
}
