package storenode

import (
	"strings"
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// Given is what actors were given and have not released yet. When an actor ends
// it is released for them. It outlives the store's actors. The zero value is
// empty.
type Given struct {
	mu sync.Mutex
	by map[string]map[any]func() // by actor: how each thing is released
}

// keyOf names an actor. Its String would go by reflection.
func keyOf(who *actor.PID) string { return who.Address + "/" + who.Id }

// add notes that who holds thing.
func (o *Given) add(who *actor.PID, thing any, release func()) {
	key := keyOf(who)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.by == nil {
		o.by = map[string]map[any]func(){}
	}
	if o.by[key] == nil {
		o.by[key] = map[any]func(){}
	}
	o.by[key][thing] = release
}

// forget notes that who has released thing.
func (o *Given) forget(who *actor.PID, thing any) {
	key := keyOf(who)
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.by[key], thing)
	if len(o.by[key]) == 0 {
		delete(o.by, key)
	}
}

// end releases what who still holds.
func (o *Given) end(who *actor.PID) {
	o.mu.Lock()
	things := o.by[keyOf(who)]
	delete(o.by, keyOf(who))
	o.mu.Unlock()
	for _, release := range things {
		release()
	}
}

// holders returns the actors that hold something.
func (o *Given) holders(sys *actor.ActorSystem) []*actor.PID {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []*actor.PID
	for key := range o.by {
		if _, id, ok := strings.Cut(key, "/"); ok {
			out = append(out, sys.NewLocalPID(id))
		}
	}
	return out
}

// views returns the views of an answer.
func views(answer any) []*View {
	switch a := answer.(type) {
	case *Got:
		return []*View{a.View}
	case *Gathered:
		return a.Views
	case *AllReduced:
		return []*View{a.View}
	}
	return nil
}

// give notes that an answer belongs to the actor that asked.
func (e *Env) give(to *actor.PID, answer any) {
	for _, v := range views(answer) {
		if v != nil {
			v.released = func() { e.Given.forget(to, v) }
			e.Given.add(to, v, v.Release)
		}
	}
	if a, ok := answer.(*Opened); ok && a.Reader != nil {
		r := a.Reader
		r.released = func() { e.Given.forget(to, r) }
		e.Given.add(to, r, func() { _ = r.Close() })
	}
}

// lost releases what is in an answer that nobody was there to take: its actor
// has ended, or its future has passed.
func lost(event any) {
	d, ok := event.(*actor.DeadLetterEvent)
	if !ok {
		return
	}
	for _, v := range views(d.Message) {
		if v != nil {
			v.Release()
		}
	}
	if a, ok := d.Message.(*Opened); ok && a.Reader != nil {
		_ = a.Reader.Close()
	}
}

// follow has the store hear of the end of an actor that it gives things to.
// Only an actor can be watched: a future takes whatever comes for its answer.
func follow(c actor.Context, who *actor.PID) {
	if who == nil {
		return
	}
	if p, ok := c.ActorSystem().ProcessRegistry.GetLocal(who.Id); ok {
		if _, ok := p.(*actor.ActorProcess); ok {
			c.Watch(who)
		}
	}
}
