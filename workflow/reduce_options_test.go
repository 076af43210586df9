package workflow

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/poll"
	"github.com/phalanx-go/phalanx/storenode/dataplane/combine"
)

// heldReduces returns a node whose op "held" goes on once open is closed, and a step that makes an array for it.
func heldReduces(t *testing.T) (n *cluster.Node, made F1[int32, []int32], reached *atomic.Int32, open chan struct{}) {
	reached, open = &atomic.Int32{}, make(chan struct{})
	b := &bedOf{t: t, ops: map[phalanx.Op]cluster.CombineFunc{"held": func(d phalanx.DType, dst, src []byte) error {
		reached.Add(1)
		<-open
		return combine.Combine(phalanx.Sum, d, dst, src)
	}}}
	made = Func1("made", 1, func(_ Context, v int32) ([]int32, error) { return filled(10, v), nil }).With(NoEffect)
	return b.join("node", Settings{Dir: t.TempDir(), Tasks: Tasks(made), Slots: 8}), made, reached, open
}

// A reduce has the time of its Timeout for each of its attempts, of which there are as many as Retry says.
func TestTimeoutOfAReduce(t *testing.T) {
	node, made, _, open := heldReduces(t)
	defer close(open)
	events := node.Events(t.Context())
	s := Reduce("held", 0, made.Bind(Value[int32](1)), made.Bind(Value[int32](2))).With(Timeout(100*time.Millisecond), Retry(1))
	d, err := Describe(s)
	if err != nil || !slices.Contains(slices.Concat(d.Tasks[0].Options, d.Tasks[1].Options, d.Tasks[2].Options), "timeout 100ms") {
		t.Errorf("%+v, %v", d, err)
	}
	r, err := Start(within(t), node, "late", s)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Result(within(t))
	contains(t, err, "Timeout of 100ms")
	for n := 0; ; { // a failed attempt that is repeated is an event, and the last one is the end of the run
		switch e := (<-events).(type) {
		case actors.AttemptFailed:
			if n++; e.Task != "reduce" || n > 1 {
				t.Errorf("%v, the event %d", e, n)
			}
		case actors.RunClosed:
			if n != 1 {
				t.Errorf("%d attempts were repeated", n)
			}
			return
		}
	}
}

// A Limit holds for reduces too: the others wait, and take no slot.
func TestLimitOfReduces(t *testing.T) {
	node, made, reached, open := heldReduces(t)
	var runs []Run[[]int32]
	for i := range int32(3) {
		r, err := Start(within(t), node, fmt.Sprint("run/", i), Reduce("held", 0, made.Bind(Value(i)), made.Bind(Value(i))).With(Limit("one", 1)))
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r)
	}
	poll.Until(t, "one is combined, and two wait", func() bool {
		ready := 0
		for i := range runs {
			s, err := StatusOf(within(t), node, fmt.Sprint("run/", i))
			if err != nil {
				return false
			}
			ready += s.Ready
		}
		return ready == 2 && reached.Load() > 0
	})
	if n := reached.Load(); n != 1 {
		t.Errorf("%d reduces go on", n)
	}
	close(open)
	for i, r := range runs {
		if got := result(t, r, nil); !slices.Equal(got, filled(10, 2*int32(i))) {
			t.Errorf("%v", got)
		}
	}
}
