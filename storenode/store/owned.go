package store

import (
	"strings"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx/storenode"
)

// Given has the views and readers that actors got and have not released yet. The store
// releases those of an actor that ends. Given outlives the store's actors. The zero value is
// empty.
type Given struct {
	mu sync.Mutex
	by map[string]map[any]func() // by actor: the release of each view and reader
}

// keyOf names an actor. PID.String would use reflection.
func keyOf(holder *actor.PID) string { return holder.Address + "/" + holder.Id }

// add notes that holder holds thing.
func (o *Given) add(holder *actor.PID, thing any, release func()) {
	key := keyOf(holder)
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

// forget notes that holder has released thing.
func (o *Given) forget(holder *actor.PID, thing any) {
	key := keyOf(holder)
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.by[key], thing)
	if len(o.by[key]) == 0 {
		delete(o.by, key)
	}
}

// end releases everything that holder still holds.
func (o *Given) end(holder *actor.PID) {
	o.mu.Lock()
	things := o.by[keyOf(holder)]
	delete(o.by, keyOf(holder))
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

// views replaces each view of an answer by f of it.
func views(answer any, f func(*storenode.View) *storenode.View) {
	each := func(v **storenode.View) {
		if *v != nil {
			*v = f(*v)
		}
	}
	switch a := answer.(type) {
	case *storenode.Got:
		each(&a.View)
	case *storenode.Gathered:
		for i := range a.Views {
			each(&a.Views[i])
		}
	case *storenode.AllReduced:
		each(&a.View)
	}
}

// give notes that an answer belongs to the actor that asked.
func (e *Env) give(to *actor.PID, answer any) {
	views(answer, func(v *storenode.View) *storenode.View { return e.Given.view(to, v) })
	if a, ok := answer.(*storenode.Opened); ok && a.Reader != nil {
		a.Reader = e.Given.reader(to, a.Reader)
	}
}

// givenView is a view that an actor holds.
type givenView struct {
	given *Given
	to    *actor.PID
	view  *storenode.View
}

func (o *Given) view(to *actor.PID, v *storenode.View) *storenode.View {
	held := &givenView{o, to, v}
	out := storenode.NewView(v.Info(), v.Bytes(), held)
	o.add(to, held, out.Release)
	return out
}

// Release implements storenode.Holder.
func (g *givenView) Release() {
	g.given.forget(g.to, g)
	g.view.Release()
}

// givenReader is a reader that an actor holds.
type givenReader struct {
	*storenode.Reader
	given *Given
	to    *actor.PID
}

func (o *Given) reader(to *actor.PID, r *storenode.Reader) *storenode.Reader {
	held := &givenReader{r, o, to}
	o.add(to, held, func() { _ = held.Close() })
	return storenode.NewReader(held)
}

// Close implements io.Closer.
func (g *givenReader) Close() error {
	g.given.forget(g.to, g)
	return g.Reader.Close()
}

// lost releases the views and the reader of an answer that has come too late: its actor has
// ended, or its future has timed out.
func lost(event any) {
	d, ok := event.(*actor.DeadLetterEvent)
	if !ok {
		return
	}
	views(d.Message, func(v *storenode.View) *storenode.View { v.Release(); return v })
	if a, ok := d.Message.(*storenode.Opened); ok && a.Reader != nil {
		_ = a.Reader.Close()
	}
}

// follow has the store watch an actor to which it gives views and readers. It does not watch
// a future, which would take the Terminated message for its answer.
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
