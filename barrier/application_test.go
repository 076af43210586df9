package barrier_test

import (
	"errors"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/barrier/message"
)

// asker is an application actor.
type asker struct {
	told chan any
	pid  *actor.PID
}

func (a *asker) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *message.Asked:
		c.Respond(&message.Verdict{Name: m.Name, Generation: m.Generation, Ask: m.Ask, Fire: m.Question.Entry.Host == "b"})
	case *message.Entered, *message.Released, *message.Passed, *message.Watching, *message.Notified:
		a.told <- m
	case *message.Enter, *message.Release, *message.Hosts, *message.Watch:
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
	if r := do(&message.Watch{Name: "messages", Config: cfg}).(*message.Watching); r.Err != nil {
		t.Fatal(r.Err)
	}
	nodes[1].System().Root.Send(self, &message.Enter{Name: "messages", Config: cfg, Entry: barrier.Entry{Host: "a"}})
	out := enter(t, within(t), nodes, "messages", cfg, "b")
	if o := <-out; o.err != nil {
		t.Error(o.err)
	}
	for range 2 {
		switch m := (<-a.told).(type) {
		case *message.Entered:
			if m.Err != nil || m.Late {
				t.Errorf("%+v", m)
			}
		case *message.Notified:
			if m.What != barrier.Fired || m.N != 2 || m.Name != "messages" {
				t.Errorf("%+v", m)
			}
		default:
			t.Errorf("%T%+v", m, m)
		}
	}
	if p := do(&message.Hosts{Name: "messages"}).(*message.Passed); p.Err != nil || len(p.Hosts) != 2 {
		t.Errorf("%+v", p)
	}
	if p := do(&message.Hosts{Name: "never"}).(*message.Passed); !errors.Is(p.Err, phalanx.ErrNotFound) {
		t.Errorf("%+v", p)
	}
	slot := barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}
	if e := do(&message.Enter{Name: "slot", Config: slot, Entry: barrier.Entry{Label: "task"}}).(*message.Entered); e.Err != nil {
		t.Error(e.Err)
	}
	if e := do(&message.Enter{Name: "slot", Config: slot, Entry: barrier.Entry{Host: "other"}, Deadline: 50 * ms}).(*message.Entered); !errors.Is(e.Err, phalanx.ErrDeadline) {
		t.Error(e.Err)
	}
	if r := do(&message.Release{Name: "slot", Config: slot, Entry: barrier.Entry{Label: "task"}}).(*message.Released); r.Err != nil {
		t.Error(r.Err)
	}
	if e := do(&message.Enter{Name: "", Config: slot}).(*message.Entered); !errors.Is(e.Err, phalanx.ErrInvalid) {
		t.Error(e.Err)
	}
	if e := do(&message.Enter{Name: "x", Config: barrier.Config{Max: 1, Percent: 101}}).(*message.Entered); !errors.Is(e.Err, phalanx.ErrInvalid) {
		t.Error(e.Err)
	}
}

// The service answers a message that it does not take.
func TestUnknownMessage(t *testing.T) {
	nodes := start(t, 1)
	pid, _ := nodes[0].Service(barrier.Name)
	if _, err := nodes[0].Request(within(t), pid, message.Enter{Name: "x"}); !errors.Is(err, phalanx.ErrInvalid) {
		t.Error(err)
	}
}
