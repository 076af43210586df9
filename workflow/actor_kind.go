package workflow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// ActorKind is a kind of actors with the state S, a pointer as a rule, each of which is made of an I. Nodes on which such actors may live have it in
// Settings.Actors. An actor does one thing at a time, in the order in which it is asked; it is supervised, and is no more once a method of it
// has panicked. A state that is an io.Closer is closed when its actor is no more: when nobody can use the actor, its run has ended, it has
// panicked, or the node leaves.
type ActorKind[S, I any] struct{ *actorKind }

// actorKind is a kind without its types.
type actorKind struct {
	name    string
	version int
	init    codec
	make    func(c ActorContext, init any) (state any, err error)
	save    func(state any) ([]byte, error) // nil: it has no snapshots
	load    func(c ActorContext, snapshot []byte) (state any, err error)
	methods map[string]*actorMethod
	fixed   atomic.Bool // it was registered
}

// fix panics if the kind was registered, so that nodes have it as it is.
func (k *actorKind) fix(what string) {
	if k.fixed.Load() {
		panic(fmt.Sprintf("workflow: %s of %s comes after the kind was registered", what, k.full()))
	}
}

// actorMethod is a method without its types.
type actorMethod struct {
	arg, result codec
	call        func(c ActorContext, state, arg any) (any, error)
}

// ActorContext is what an actor has of one call. It ends with the call: when the attempt does not wait for it any more, or its node
// has left. Then return; what was written is lost with the attempt.
type ActorContext interface {
	context.Context

	// Name returns the name that the actor was given.
	Name() string
	// Node returns the node on which the actor lives; nil in a Trial without a node.
	Node() *cluster.Node
	// Get returns a view of an object. The caller releases it; the end of the call does it else.
	Get(r Ref) (*storenode.View, error)
}

// Actor makes a kind of actors. make makes the state of a new one. It panics if no codec takes I.
func Actor[S, I any](name string, version int, make func(ActorContext, I) (S, error)) ActorKind[S, I] {
	if name == "" || len(name) > maxName || version < 0 || version > maxVersion {
		panic(fmt.Sprintf("workflow: a kind of actors is called %q and has version %d; it needs a name of up to %d bytes, and a version from 0 to %d", name, version, maxName, maxVersion))
	}
	return ActorKind[S, I]{&actorKind{name: name, version: version, init: plainCodec[I]("made of"), methods: map[string]*actorMethod{},
		make: func(c ActorContext, init any) (any, error) { return make(c, init.(I)) }}}
}

// Snapshots says how actors of a kind are saved and restored, for tasks with the annotation Snapshot. Both are called before the kind is
// registered, once. A snapshot has all that methods may read; save is called between two calls, and must not keep the actor busy for long.
func (k ActorKind[S, I]) Snapshots(save func(S) ([]byte, error), load func(ActorContext, []byte) (S, error)) ActorKind[S, I] {
	k.fix("Snapshots")
	k.save = func(state any) ([]byte, error) { return save(state.(S)) }
	k.load = func(c ActorContext, b []byte) (any, error) { return load(c, b) }
	return k
}

func (k *actorKind) full() string     { return fmt.Sprintf("%s@%d", k.name, k.version) }
func (k *actorKind) kind() *actorKind { return k }

// AnyActorKind is an ActorKind of any types.
type AnyActorKind interface{ kind() *actorKind }

// ActorMethod is a method of actors of a kind, which takes an A and returns an R.
type ActorMethod[A, R any] struct {
	kind   *actorKind
	name   string
	method *actorMethod
	reads  bool
}

// Method makes a method of a kind of actors, before the kind is registered: f may be a method expression, as (*worker).step. Arguments and results
// are copies, as those of tasks, and may be as large; Refs in them are those that the task knows, and there are no ActorRefs in them. A call is
// carried out once, but if the actor has to be restored it may be made again, on the actor that is restored. Method panics if no codec takes A or
// R, or if the kind has a method of that name.
func Method[S, I, A, R any](k ActorKind[S, I], name string, f func(S, ActorContext, A) (R, error)) ActorMethod[A, R] {
	k.fix("the method " + name)
	if err := checkPutName(name); err != nil || k.methods[name] != nil {
		panic(fmt.Sprintf("workflow: the method %.100q of %s needs another name: %v", name, k.full(), err))
	}
	m := &actorMethod{arg: plainCodec[A]("an argument of"), result: plainCodec[R]("a result of"),
		call: func(c ActorContext, state, arg any) (any, error) { return f(state.(S), c, arg.(A)) }}
	k.methods[name] = m
	return ActorMethod[A, R]{kind: k.actorKind, name: name, method: m}
}

// ReadOnly returns a copy of the method that tasks may call which only read the actor: it changes nothing that another method shows.
func (m ActorMethod[A, R]) ReadOnly() ActorMethod[A, R] {
	m.reads = true
	return m
}

// plainCodec returns the codec of a type without ActorRefs.
func plainCodec[T any](what string) codec {
	c := codecFor[T]()
	if c.actors != nil {
		panic(fmt.Sprintf("workflow: %v holds ActorRefs, and is %s actors: tasks pass actors on", c.typ, what))
	}
	return c
}

// ActorKinds are the kinds of actors that may live on a node. They are safe for concurrent use.
type ActorKinds struct{ kinds map[string]*actorKind } // by "name@version"

// Actors returns the kinds of actors that may live on a node. It panics if two have the same name and version.
func Actors(all ...AnyActorKind) *ActorKinds {
	k := &ActorKinds{map[string]*actorKind{}}
	for _, a := range all {
		kind := a.kind()
		kind.fixed.Store(true)
		if k.kinds[kind.full()] != nil {
			panic(fmt.Sprintf("workflow: two kinds of actors are called %s: give one another name, or a higher version", kind.full()))
		}
		k.kinds[kind.full()] = kind
	}
	return k
}

// Names returns the names of the kinds with their versions, sorted.
func (k *ActorKinds) Names() []string {
	if k == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(k.kinds))
}

// find returns the kind with a full name; nil: there is none.
func (k *ActorKinds) find(full string) *actorKind {
	if k == nil {
		return nil
	}
	return k.kinds[full]
}

var errNoSnapshots = errors.New("actors of this kind have no snapshots: say how they are saved, by Snapshots")
