package actors

import (
	"context"
	"fmt"
	"sync"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/eventstream"
)

// Bridge brings the events of an actor system to readers outside of it, each at
// its own pace: a publisher never waits for a reader. The library's
// supervisor events arrive as ActorRestarted and ActorStopped.
type Bridge struct {
	stream *eventstream.EventStream
	from   *eventstream.Subscription

	mu      sync.Mutex
	readers map[*reader]struct{} // nil: closed
	running sync.WaitGroup
}

// NewBridge returns a Bridge that has to be closed.
func NewBridge(sys *actor.ActorSystem) *Bridge {
	b := &Bridge{stream: sys.EventStream, readers: map[*reader]struct{}{}}
	b.from = sys.EventStream.Subscribe(b.forward)
	return b
}

// Publish publishes e to the bridge's actor system.
func (b *Bridge) Publish(e Event) { b.stream.Publish(e) }

// Subscribe returns a channel of all events from now on. If its reader falls
// behind by more than room events, the oldest of these are dropped, and
// EventsLost stands in their place. The channel is closed when ctx or the
// bridge ends.
func (b *Bridge) Subscribe(ctx context.Context, room int) <-chan Event {
	r := &reader{room: max(room, 1), more: make(chan struct{}, 1), closed: make(chan struct{})}
	out := make(chan Event)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.readers == nil {
		close(out)
		return out
	}
	b.readers[r] = struct{}{}
	b.running.Add(1)
	go func() {
		defer b.running.Done()
		defer close(out)
		r.run(ctx, out)
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.readers, r)
	}()
	return out
}

// Close ends all subscriptions and waits for that. Closing twice is safe.
func (b *Bridge) Close() {
	b.stream.Unsubscribe(b.from)
	b.mu.Lock()
	for r := range b.readers {
		close(r.closed)
	}
	b.readers = nil
	b.mu.Unlock()
	b.running.Wait()
}

// forward runs on the goroutine of the publisher.
func (b *Bridge) forward(message any) {
	var e Event
	switch m := message.(type) {
	case Event:
		e = m
	case *actor.SupervisorEvent:
		e = supervised(m)
	}
	if e == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for r := range b.readers {
		r.put(e)
	}
}

func supervised(m *actor.SupervisorEvent) Event {
	who, cause := m.Child.GetId(), fmt.Sprint(m.Reason)
	switch m.Directive {
	case actor.RestartDirective, actor.ResumeDirective:
		r, _ := m.Reason.(restartedAfter)
		return ActorRestarted{Actor: who, Cause: cause, Took: r.delay}
	case actor.StopDirective:
		return ActorStopped{Actor: who, Cause: cause}
	}
	return nil // escalated: its parent's failure follows
}

// reader holds the events that one subscriber has not read yet.
type reader struct {
	room   int
	more   chan struct{} // holds a token if something was put
	closed chan struct{}

	mu    sync.Mutex
	queue []Event
	lost  int // in front of queue
}

func (r *reader) put(e Event) {
	r.mu.Lock()
	if len(r.queue) == r.room {
		r.queue = r.queue[1:]
		r.lost++
	}
	r.queue = append(r.queue, e)
	r.mu.Unlock()
	select {
	case r.more <- struct{}{}:
	default:
	}
}

func (r *reader) take() (Event, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.lost > 0:
		n := r.lost
		r.lost = 0
		return EventsLost{N: n}, true
	case len(r.queue) > 0:
		e := r.queue[0]
		r.queue = r.queue[1:]
		return e, true
	}
	return nil, false
}

func (r *reader) run(ctx context.Context, out chan<- Event) {
	for {
		e, ok := r.take()
		if !ok {
			select {
			case <-r.more:
				continue
			case <-r.closed:
				return
			case <-ctx.Done():
				return
			}
		}
		select {
		case out <- e:
		case <-r.closed:
			return
		case <-ctx.Done():
			return
		}
	}
}
