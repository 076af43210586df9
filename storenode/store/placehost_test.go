package store

import (
	"errors"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx/internal/poll"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// heard starts an actor that keeps its messages. They are there when a send to it returns.
func heard(e *Env) (pid *actor.PID, all *[]any) {
	all = &[]any{}
	return e.System.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case actor.SystemMessage, *actor.Started:
		default:
			*all = append(*all, m)
		}
	}, actor.WithDispatcher(actor.NewSynchronizedDispatcher(300)))), all
}

// A place that has ended goes once more when its actor stops. Another one may have its key by then.
func TestALateEndOfAPlace(t *testing.T) {
	e := alone(t)
	h, key := NewPlaces(e, nil), placeKey{Target: "sum", Reduce: first, Place: 1}
	before, now := e.System.NewLocalPID("before"), e.System.NewLocalPID("now")
	h.actors[key] = now
	if h.forget(key, before); h.find(key) != now {
		t.Error("orders do not reach the present place any more")
	}
	if h.forget(key, now); h.find(key) != nil {
		t.Error("it is still there")
	}
}

// An output that was dropped gets no room. The place goes on with the next one.
func TestNoRoomForAnEarlierOutput(t *testing.T) {
	e := alone(t)
	self, all := heard(e)
	output := func() *output { return &output{room: &handover[sink]{release: sink.release}} }
	before, now := output(), output()
	p := &place{env: e, self: self, out: now, source: &placeSource{gen: first}}
	if p.room(outputRoom{before, errors.New("it was dropped")}); len(*all) > 0 {
		t.Errorf("the place hears %+v", *all)
	}
	if p.room(outputRoom{now, errors.New("there is none")}); len(*all) != 1 {
		t.Errorf("the place hears %+v", *all)
	}
}

// The node before a ring's place has no seat for its stream: the place asks again.
func TestARingAsksABusyNodeAgain(t *testing.T) {
	b := newBench(t, 3*benchSize+benchRoom)
	env := b.places.env
	env.Directory, env.StorePID = told{all: new([]any)}, b.self
	c := env.Table.lookup("source")
	if err := c.buffer.Finish(benchSize); err != nil {
		t.Fatal(err)
	}
	b.command(reduce.State{Place: 0, Ring: 2, Root: true, TargetGen: first,
		Children: []reduce.Child{{Order: 0, Place: 1, Node: "test", Gen: label, Source: "other", SourceGen: first}}})
	turned := func() int {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.turned
	}
	lost := func() bool {
		select {
		case ev := <-b.events:
			_, lost := ev.(reduce.PlaceLost)
			return lost
		default:
			return false
		}
	}
	poll.Until(t, "the node was asked three times, or the place is lost", func() bool { return turned() >= 3 || lost() })
	if n := turned(); n < 3 {
		t.Errorf("the node was asked %d times", n)
	}
}

// A ring's place that goes on alone ends after another place has begun under its key: that one's output stays.
func TestALateEndOfAnOutput(t *testing.T) {
	h, key := NewPlaces(alone(t), nil), placeKey{Target: "sum", Reduce: first, Place: 1}
	before, now := &output{}, &output{}
	h.outputs[key] = servedOutput{gen: label, output: now}
	if h.hideOutput(key, before); h.outputs[key].output != now {
		t.Error("the parent does not find the present output")
	}
	if h.hideOutput(key, now); h.outputs[key].output != nil {
		t.Error("it is still there")
	}
}

// An order that comes as the node ends starts no place: nothing would end it.
func TestAnOrderAsTheNodeEnds(t *testing.T) {
	e := alone(t)
	h := NewPlaces(e, nil)
	h.Close()
	if h.Order(e.System.NewLocalPID("coordinator"), reduce.Command{State: reduce.State{Target: "sum", Reduce: first, Place: 1}}); h.Running() > 0 {
		t.Error("a place runs")
	}
}
