package barrier_test

import (
	"errors"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/barrier"
)

// asker is an application actor.
type asker struct {
	told chan any
	pid  *actor.PID
}

func (a *asker) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *barrier.Asked:
		c.Respond(&barrier.Verdict{Name: m.Name, Generation: m.Generation, Ask: m.Ask, Fire: m.Host == "b"})
	case *barrier.Entered, *barrier.Released, *barrier.Passed, *barrier.Watching, *barrier.Told:
		a.told <- m
	case *barrier.Enter, *barrier.Release, *barrier.Hosts, *barrier.Watch:
		c.Request(a.pid, m)
	}
}

// Actors enter, release, ask and are asked by messages.
func TestMessages(t *testing.T) {
	nodes := start(t, 2)
	pid, ok := nodes[1].Service(barrier.Name)
	if !ok {
		t.Fatal("no service")
	}
	a := &asker{told: make(chan any, 10), pid: pid}
	self, err := nodes[1].Spawn(actor.PropsFromProducer(func() actor.Actor { return a }), "asker")
	if err != nil {
		t.Fatal(err)
	}
	do := func(m any) any { nodes[1].System().Root.Send(self, m); return <-a.told }
	cfg := barrier.Config{Max: 5, Callback: true, CallbackTimeout: time.Minute}
	if r := do(&barrier.Watch{Name: "messages", Config: cfg}).(*barrier.Watching); r.Err != nil {
		t.Fatal(r.Err)
	}
	nodes[1].System().Root.Send(self, &barrier.Enter{Name: "messages", Config: cfg, Host: "a"})
	out := enter(t, within(t), nodes, "messages", cfg, "b")
	if o := <-out; o.err != nil {
		t.Error(o.err)
	}
	for range 2 {
		switch m := (<-a.told).(type) {
		case *barrier.Entered:
			if m.Err != nil || m.Late {
				t.Errorf("%+v", m)
			}
		case *barrier.Told:
			if m.What != barrier.Fired || m.N != 2 || m.Name != "messages" {
				t.Errorf("%+v", m)
			}
		default:
			t.Errorf("%T%+v", m, m)
		}
	}
	if p := do(&barrier.Hosts{Name: "messages"}).(*barrier.Passed); p.Err != nil || len(p.Hosts) != 2 {
		t.Errorf("%+v", p)
	}
	if p := do(&barrier.Hosts{Name: "never"}).(*barrier.Passed); !errors.Is(p.Err, phalanx.ErrNotFound) {
		t.Errorf("%+v", p)
	}
	slot := barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}
	if e := do(&barrier.Enter{Name: "slot", Config: slot, Label: "task"}).(*barrier.Entered); e.Err != nil {
		t.Error(e.Err)
	}
	if e := do(&barrier.Enter{Name: "slot", Config: slot, Host: "other", Deadline: 50 * ms}).(*barrier.Entered); !errors.Is(e.Err, phalanx.ErrDeadline) {
		t.Error(e.Err)
	}
	if r := do(&barrier.Release{Name: "slot", Config: slot, Label: "task"}).(*barrier.Released); r.Err != nil {
		t.Error(r.Err)
	}
	if e := do(&barrier.Enter{Name: "", Config: slot}).(*barrier.Entered); !errors.Is(e.Err, phalanx.ErrInvalid) {
		t.Error(e.Err)
	}
	if e := do(&barrier.Enter{Name: "x", Config: barrier.Config{Max: 1, Percent: 101}}).(*barrier.Entered); !errors.Is(e.Err, phalanx.ErrInvalid) {
		t.Error(e.Err)
	}
}
