package store

import (
	"context"
	"io"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/node/pace"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// scripted is a directory that answers Locates when a test says so, and nothing
// else, which it notes.
type scripted struct {
	mu      sync.Mutex
	nums    uint64
	locates map[uint64]func(phalanx.NodeID, directory.Result)
	asked   []directory.Locate
	known   []bool // answers to questions about leases
	reports []directory.Request
}

func (d *scripted) Nums(n uint64) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.nums += n
	return d.nums - n + 1
}

func (d *scripted) Request(id phalanx.ObjectID, num uint64, body directory.Body, deliver func(phalanx.NodeID, directory.Result)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l, ok := body.(directory.Locate); ok {
		d.locates[num], d.asked = deliver, append(d.asked, l)
		return
	}
	d.reports = append(d.reports, directory.Request{Num: num, Object: id, Body: body})
}

func (d *scripted) Tell(_ phalanx.NodeID, _ phalanx.ObjectID, ev directory.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if k, ok := ev.(directory.LeaseKnown); ok {
		d.known = append(d.known, k.Known)
	}
}

func (d *scripted) Forget(uint64)                          {}
func (d *scripted) Impatient(uint64, func(*phalanx.Error)) {}
func (d *scripted) Owner(phalanx.ObjectID) phalanx.NodeID  { return "o" }
func (d *scripted) Epoch(phalanx.ObjectID) uint64          { return 1 }
func (d *scripted) View() uint64                           { return 1 }
func (d *scripted) Shards() int                            { return 1 }
func (d *scripted) answers(to uint64, r directory.Result)  { d.locates[to]("o", r); synctest.Wait() }

// storeBubble runs f with a store in fake time, whose budget has room for 8 MB.
func storeBubble(t *testing.T, f func(t *testing.T, e *Env, d *scripted)) {
	synctest.Test(t, func(t *testing.T) {
		log := logrus.New()
		log.SetOutput(io.Discard)
		sys := actors.NewSystem("me", log)
		d := &scripted{locates: map[uint64]func(phalanx.NodeID, directory.Result){}}
		pool := dataplane.NewPool(dataplane.NewBudget(8 << 20))
		began := time.Now()
		e := &Env{Self: "me", System: sys, Table: NewTable(pool.Budget()), Pool: pool, Given: &Given{}, Directory: d, Log: log,
			Now: func() time.Duration { return time.Since(began) }, Deadline: time.Hour,
			Spawn:   func(p *actor.Props, name string) (*actor.PID, error) { return sys.Root.SpawnNamed(p, name) },
			Publish: func(any) {}}
		e.StorePID = sys.Root.Spawn(NewStore(e))
		f(t, e, d)
		e.Close()
		e.Table.Close(e.Ended())
		sys.Shutdown()
		time.Sleep(time.Second) // as a goroutine does after a dead letter
	})
}

// While the answer to a Locate is missing, any lease may be its answer. Later the node knows only
// the lease under which it reads: an owner that counted on another lease would never again send
// a receiver to that sender.
func TestALeaseIsKnownWhileItIsLocatedOrRead(t *testing.T) {
	storeBubble(t, func(t *testing.T, e *Env, d *scripted) {
		known := func() bool {
			e.send(e.StorePID, LeaseAsked{From: "o", AskLease: directory.AskLease{Object: "x", Lease: 7}})
			synctest.Wait()
			return d.known[len(d.known)-1]
		}
		if known() {
			t.Error("a lease is known before anybody asks for the object")
		}
		_ = e.Pool.Budget().TryReserve(6 << 20)
		ctx, cancel := context.WithCancel(t.Context())
		for range 2 { // the second one starts a fetch
			go func() { _, _ = e.Get(ctx, "x", true) }()
			synctest.Wait()
			if !known() {
				t.Error("a lease is not known that may be on its way")
			}
		}
		d.answers(e.arrivalOf("x").num, directory.Result{State: directory.Finished, Gen: first, Meta: phalanx.Meta{Size: 4 << 20}})
		if known() {
			t.Error("a lease is known while the fetch waits for room")
		}
		e.Pool.Budget().Release(6 << 20)
		synctest.Wait()
		if !known() {
			t.Error("a lease is not known after the object is located again")
		}
		cancel()
		synctest.Wait()
		if known() {
			t.Error("a lease is known after everyone went away")
		}
	})
}

// A node says in each Locate how fast it has got bytes. When its fetch ends before the object
// is here, the last of them is canceled.
func TestAFetchThatLocatesAgain(t *testing.T) {
	storeBubble(t, func(t *testing.T, e *Env, d *scripted) {
		e.down.received(pace.Received{Bytes: 40 << 20, Took: time.Second}, 0)
		_ = e.Pool.Budget().TryReserve(6 << 20)
		for range 2 { // the second one starts a fetch
			go func() { _, _ = e.Get(t.Context(), "x", true) }()
			synctest.Wait()
		}
		a := e.arrivalOf("x")
		d.answers(a.num, directory.Result{State: directory.Finished, Gen: first, Meta: phalanx.Meta{Size: 4 << 20}})
		e.Pool.Budget().Release(6 << 20)
		synctest.Wait()
		if len(d.asked) != 2 || d.asked[0].Down != 40<<20 || d.asked[1].Down != 40<<20 {
			t.Errorf("it has asked %+v", d.asked)
		}
		last := slices.Max(slices.Collect(maps.Keys(d.locates)))
		e.System.Root.Stop(a.pid)
		synctest.Wait()
		if !slices.ContainsFunc(d.reports, func(r directory.Request) bool { return r.Body == (directory.Cancel{Num: last}) }) {
			t.Errorf("Locate %d is not canceled; it tells %+v", last, d.reports)
		}
	})
}

func (e *Env) arrivalOf(id phalanx.ObjectID) *arrival { return (&Store{env: e}).arrival(id) }
