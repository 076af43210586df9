package coordinator_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/coordinator"
	"github.com/phalanx-go/phalanx/internal/leaks"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
	"github.com/phalanx-go/phalanx/storenode/dataplane/combine"
	"github.com/phalanx-go/phalanx/storenode/store"
)

func TestMain(m *testing.M) { leaks.VerifyTestMain(m) }

const self phalanx.NodeID = "me#1"

// owner is a directory that notes its requests, and answers when a test says
// so.
type owner struct {
	mu        sync.Mutex
	nums      uint64
	asked     []*ask
	watches   map[uint64]*watch
	forgotten []uint64
	silent    map[uint64]func(*phalanx.Error)
	shards    int // 0: one
}

type ask struct {
	num     uint64
	id      phalanx.ObjectID
	body    directory.Body
	deliver func(phalanx.NodeID, directory.Result)
	over    bool // answered or forgotten
}

type watch struct {
	id      phalanx.ObjectID
	deliver func(directory.Readiness)
}

func (o *owner) Nums(n uint64) uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.nums += n
	return o.nums - n + 1
}

func (o *owner) Request(id phalanx.ObjectID, num uint64, body directory.Body, deliver func(phalanx.NodeID, directory.Result)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked = append(o.asked, &ask{num: num, id: id, body: body, deliver: deliver})
}

func (o *owner) Forget(num uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.watches, num)
	o.forgotten = append(o.forgotten, num)
	for _, a := range o.asked {
		a.over = a.over || a.num == num
	}
}

func (o *owner) Watch(id phalanx.ObjectID, num uint64, deliver func(directory.Readiness)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.watches[num] = &watch{id, deliver}
}

func (o *owner) Impatient(num uint64, silent func(*phalanx.Error)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.silent[num] = silent
}

// fallsSilent tells the impatient caller of request num that its owner is silent.
func (o *owner) fallsSilent(num uint64) {
	o.mu.Lock()
	silent := o.silent[num]
	o.mu.Unlock()
	if silent != nil {
		silent(&phalanx.Error{Node: "owner#1", Kind: phalanx.ErrUnavailable, Err: errors.New("it is silent")})
	}
	synctest.Wait()
}

func (o *owner) Owner(phalanx.ObjectID) phalanx.NodeID                  { return "owner#1" }
func (o *owner) Epoch(phalanx.ObjectID) uint64                          { return 1 }
func (o *owner) View() uint64                                           { return 1 }
func (o *owner) Shards() int                                            { return max(o.shards, 1) }
func (o *owner) Tell(phalanx.NodeID, phalanx.ObjectID, directory.Event) {}
func (o *owner) answer(a *ask, r directory.Result)                      { a.over = true; a.deliver("owner#1", r) }
func (o *owner) pending(match func(*ask) bool) (found []*ask) {
	return o.all(func(a *ask) bool { return !a.over && match(a) })
}
func (o *owner) all(match func(*ask) bool) (found []*ask) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, a := range o.asked {
		if match(a) {
			found = append(found, a)
		}
	}
	return found
}

// worker is the places of a node: they obey their commands, as far as a coordinator
// can see.
type worker struct {
	b      *bed
	node   phalanx.NodeID
	pid    *actor.PID
	places map[int]*workerPlace
	orders []reduce.Effect
}

type workerPlace struct {
	pid         *actor.PID
	state       reduce.State
	coordinator *actor.PID
}

func (w *worker) Receive(c actor.Context) {
	m, ok := c.Message().(*messages.PlaceOrder)
	if !ok {
		return
	}
	_, order, err := messages.OrderFromProto(m)
	if err != nil {
		w.b.t.Error(err)
		return
	}
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	w.orders = append(w.orders, order)
	switch o := order.(type) {
	case reduce.Command:
		p := w.places[o.State.Place]
		if p == nil {
			p = &workerPlace{pid: w.b.sys.Root.Spawn(actor.PropsFromFunc(func(actor.Context) {}))}
			w.places[o.State.Place] = p
		}
		p.state, p.coordinator = o.State, c.Sender()
		w.report(p.pid, c.Sender(), o.State, reduce.Acked{Place: o.State.Place, Attempt: o.State.Attempt, Version: o.State.Version})
	case reduce.Stop:
		if p := w.places[o.Place]; p != nil {
			w.b.sys.Root.Stop(p.pid)
			delete(w.places, o.Place)
		}
		w.report(nil, c.Sender(), reduce.State{Target: o.Target, Reduce: o.Reduce}, reduce.Stopped{Place: o.Place, Gen: o.Gen})
	case reduce.Inspect:
		in := reduce.Inspected{Attempt: o.Attempt}
		for _, p := range w.places {
			in.Places = append(in.Places, reduce.Held{State: p.state})
		}
		w.report(nil, c.Sender(), reduce.State{Target: o.Target, Reduce: o.Reduce}, in)
	}
}

func (w *worker) report(from, to *actor.PID, s reduce.State, ev reduce.Event) {
	w.b.sys.Root.RequestWithCustomSender(to, messages.ReportToProto(messages.Report{Target: s.Target, Reduce: s.Reduce, Node: w.node, Event: ev}), from)
}

// bed is a node's coordinators with a fake directory and fake places.
type bed struct {
	t    *testing.T
	env  *coordinator.Env
	sys  *actor.ActorSystem
	dir  *owner
	pids []*actor.PID // of coordinators

	mu      sync.Mutex
	workers map[phalanx.NodeID]*worker
	gone    phalanx.NodeID // no member
	events  []any
}

// bubble runs f with a bed in fake time. The supervisor stops an actor that
// fails more than limit times.
func bubble(t *testing.T, limit int, f func(t *testing.T, b *bed)) {
	synctest.Test(t, func(t *testing.T) {
		log := logrus.New()
		log.SetOutput(io.Discard)
		b := &bed{t: t, sys: actors.NewSystem("me", log), dir: &owner{watches: map[uint64]*watch{}, silent: map[uint64]func(*phalanx.Error){}}, workers: map[phalanx.NodeID]*worker{}}
		guard := actors.Restarting(log)
		guard.Limit = limit
		began := time.Now()
		now := func() time.Duration { return time.Since(began) }
		ops := &combine.Registry{}
		store := &store.Env{Self: self, System: b.sys, Directory: b.dir, Now: now, Log: log, Deadline: time.Minute, InlineLimit: 1000,
			Pool:    dataplane.NewPool(dataplane.NewBudget(1 << 20)),
			Members: func() []phalanx.NodeID { return []phalanx.NodeID{self, "n1#1", "n2#1", "n3#1"} },
			Publish: func(ev any) { b.mu.Lock(); defer b.mu.Unlock(); b.events = append(b.events, ev) }}
		b.env = &coordinator.Env{Store: store, Watcher: b.dir, Ops: ops, Now: now, PlacesOn: b.placesOn,
			Network: func() (time.Duration, float64, map[phalanx.NodeID]reduce.Path) { return time.Millisecond, 1e9, nil },
			Spawn: func(props *actor.Props, name string) (*actor.PID, error) {
				pid, err := b.sys.Root.SpawnNamed(guard.Guard(props), name)
				b.pids = append(b.pids, pid)
				return pid, err
			}}
		f(t, b)
		b.env.Close()
		b.env.Close()
		for _, w := range b.workers {
			for _, p := range w.places {
				_ = b.sys.Root.StopFuture(p.pid).Wait()
			}
			_ = b.sys.Root.StopFuture(w.pid).Wait()
		}
		time.Sleep(time.Minute) // sleeping goroutines of the actor system have ended
		synctest.Wait()
	})
}

func (b *bed) placesOn(node phalanx.NodeID) (*actor.PID, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if node == b.gone {
		return nil, false
	}
	w := b.workers[node]
	if w == nil {
		w = &worker{b: b, node: node, places: map[int]*workerPlace{}}
		w.pid = b.sys.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return w }))
		b.workers[node] = w
	}
	return w.pid, true
}

// reduce starts a reduce, whose answer is in the channel.
func (b *bed) reduce(r storenode.Reduce) <-chan storenode.Reduced {
	out := make(chan storenode.Reduced, 2) // a second one would be a mistake
	b.env.Reduce(r, func(d storenode.Reduced) { out <- d })
	synctest.Wait()
	return out
}

// pass lets time pass.
func (b *bed) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// crash has the coordinator panic, and waits until it is restarted.
func (b *bed) crash() {
	b.sys.Root.Send(b.pids[0], actors.Crash{})
	b.pass(3 * time.Second)
}

// asked returns the last pending request with a body of type T.
func asked[T directory.Body](b *bed) (*ask, T) {
	b.t.Helper()
	synctest.Wait()
	found := b.dir.pending(func(a *ask) bool { _, ok := a.body.(T); return ok })
	var zero T
	if len(found) != 1 {
		b.t.Fatalf("%d requests of type %T are pending, want one", len(found), zero)
	}
	return found[0], found[0].body.(T)
}

// none fails if a request with a body of type T is pending.
func none[T directory.Body](b *bed) {
	b.t.Helper()
	synctest.Wait()
	if found := b.dir.pending(func(a *ask) bool { _, ok := a.body.(T); return ok }); len(found) > 0 {
		b.t.Errorf("%+v is pending", found[0].body)
	}
}

// reply answers the pending request with a body of type T, and returns that.
func reply[T directory.Body](b *bed, r directory.Result) T {
	b.t.Helper()
	a, body := asked[T](b)
	b.dir.answer(a, r)
	synctest.Wait()
	return body
}

func gen(n uint64) phalanx.Generation { return phalanx.Generation{Epoch: 1, Seq: n} }

// large is the metadata of sources that are combined by places.
var large = phalanx.Meta{Size: 1 << 20, DType: phalanx.Float32}

// ready tells the watches of a source that it is final at nodes.
func (b *bed) ready(id phalanx.ObjectID, meta phalanx.Meta, nodes ...phalanx.NodeID) {
	r := directory.Readiness{Object: id, State: directory.Finished, Gen: gen(1), Meta: meta}
	for _, n := range nodes {
		r.Ready = append(r.Ready, directory.Location{Node: n, Complete: true})
	}
	b.tell(r)
}

func (b *bed) tell(r directory.Readiness) {
	b.dir.mu.Lock()
	var to []func(directory.Readiness)
	for _, w := range b.dir.watches {
		if w.id == r.Object {
			to = append(to, w.deliver)
		}
	}
	b.dir.mu.Unlock()
	if len(to) != 1 {
		b.t.Errorf("%q has %d watches, want one", r.Object, len(to))
	}
	for _, deliver := range to {
		deliver(r)
	}
	synctest.Wait()
}

// place returns the one place that runs at a position.
func (b *bed) place(pos int) (*worker, *workerPlace) {
	b.t.Helper()
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	var on *worker
	for _, w := range b.workers {
		if w.places[pos] != nil {
			if on != nil {
				b.t.Fatalf("place %d runs twice", pos)
			}
			on = w
		}
	}
	if on == nil {
		b.t.Fatalf("place %d does not run", pos)
	}
	return on, on.places[pos]
}

// running returns how many places run.
func (b *bed) running() (n int) {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.workers {
		n += len(w.places)
	}
	return n
}

// rootDone has the root say that it has every byte.
func (b *bed) rootDone(digest phalanx.Digest) {
	b.t.Helper()
	w, p := b.place(0)
	w.report(p.pid, p.coordinator, p.state, reduce.RootDone{Gen: p.state.Gen, TargetGen: p.state.TargetGen, Size: p.state.Meta.Size, Digest: digest})
	synctest.Wait()
}

// has reports whether an event was published.
func (b *bed) has(want any) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.events, func(ev any) bool { return fmt.Sprint(ev) == fmt.Sprint(want) })
}

// over checks that no reduce is left, and that nothing is watched.
func (b *bed) over() {
	b.t.Helper()
	synctest.Wait()
	if n := b.env.Running(); n != 0 {
		b.t.Errorf("%d reduces run", n)
	}
	b.dir.mu.Lock()
	defer b.dir.mu.Unlock()
	if n := len(b.dir.watches); n != 0 {
		b.t.Errorf("%d watches are left", n)
	}
}
