package workflow

import (
	"errors"
	"io"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/messages"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// asksToStart returns the request for a workflow of a form.
func asksToStart(number uint64, form []byte) flow.Asked {
	return flow.Asked{From: "b", Request: flow.Request{Number: number, Call: core.StartRun{ID: "x"}, Graph: form}}
}

// takes is a core that notes which starts it is given.
type takes struct {
	fragile
	begin chan struct{} // closed when it may begin
	given chan flow.Asked
}

func (k *takes) Begin() []flow.TenureEffect {
	<-k.begin
	return nil
}

func (k *takes) Step(_ time.Duration, ev flow.TenureEvent) []flow.TenureEffect {
	if m, is := ev.(flow.Asked); is {
		k.given <- m
	}
	return nil
}

// Of many large workflows that come at once few are put together at a time, each once, and in order.
func TestManyLargeStarts(t *testing.T) {
	g := &messages.Graph{Calls: []messages.GraphCall{{Kind: messages.CallFunction, Name: "f", Version: 1}}}
	for v := range 1000 {
		var in []messages.GraphInput
		if v > 0 {
			in = []messages.GraphInput{{Kind: messages.InputTask, N: uint32(v - 1)}}
		}
		g.Tasks = append(g.Tasks, messages.GraphTask{Inputs: in})
	}
	form, err := messages.MarshalGraph(g)
	if err != nil || len(form) < largeGraph {
		t.Fatal(len(form), err)
	}
	log := logrus.New()
	log.SetOutput(io.Discard)
	system := actors.NewSystem("x", log)
	const n = 300
	k, ended := &takes{begin: make(chan struct{}), given: make(chan flow.Asked, 2*n)}, make(chan struct{})
	free := spaceOf(func() (s durable.Space, err error) { return s, errors.New("nobody knows") })
	pid := system.Root.Spawn(actor.PropsFromProducer(func() actor.Actor {
		return &controller{core: k, clock: func() time.Duration { return 0 }, log: log, ended: ended, space: free}
	}))
	before, most := runtime.NumGoroutine(), 0
	for i := range n {
		for range 2 { // each request comes again
			system.Root.Send(pid, asksToStart(uint64(i), form))
		}
	}
	close(k.begin)
	var got []uint64
	for len(got) < n {
		m := <-k.given
		most = max(most, runtime.NumGoroutine())
		if w := m.Request.Call.(core.StartRun).Work; w == nil || len(w.Graph.Tasks) != 1000 {
			t.Fatal("a start without its workflow")
		}
		got = append(got, m.Request.Number)
	}
	if most > before+runtime.GOMAXPROCS(0)+20 {
		t.Errorf("%d goroutines more than before", most-before)
	}
	if runtime.GOMAXPROCS(0) < 4 && !slices.IsSorted(got) { // else several are put together at once
		t.Errorf("they have begun in the order %v", got)
	}
	system.Root.Stop(pid)
	<-ended
	if len(k.given) > 0 {
		t.Error("a start that was asked for again has begun twice")
	}
}

// The forms that wait are bounded. A request that is withdrawn waits no more.
func TestStartsAreBounded(t *testing.T) {
	var s starts
	large := make([]byte, mostStarting/2+1)
	for n, want := range []error{nil, core.ErrBusy} {
		if err := s.take(asksToStart(uint64(n), large)); !errors.Is(err, want) || err != nil && !errors.Is(err, phalanx.ErrUnavailable) {
			t.Errorf("start %d: %v", n, err)
		}
	}
	if err := s.take(asksToStart(0, large)); err != nil || len(s.waits) != 1 {
		t.Errorf("a repeat: %v, and %d wait", err, len(s.waits))
	}
	s.withdrawn(flow.Unasked{From: "c", Number: 0})
	s.withdrawn(flow.Unasked{From: "b", Number: 0})
	if err := s.take(asksToStart(1, append(large, large...))); err != nil || len(s.waits) != 1 || len(s.under) != 1 {
		t.Errorf("the only one, however large it is: %v, and %d wait", err, len(s.waits))
	}
	s.running++
	s.done(putTogether{asked: s.waits[0], bytes: 2 * len(large)})
	if s.bytes != 0 || s.running != 0 || len(s.under) != 0 {
		t.Errorf("%d bytes of %d are left", s.bytes, len(s.under))
	}
}
