package detector

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster/internal/remoting"
	"github.com/phalanx-go/phalanx/internal/logging"
	"github.com/phalanx-go/phalanx/internal/timer"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/protocol/detect"
	"github.com/phalanx-go/phalanx/protocol/view"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// actorName is the name by which members tell each other of suspicions.
const actorName = "detector"

// Config has the arguments of Start.
type Config struct {
	System *actor.ActorSystem
	Remote *remoting.Remoting
	Conns  *dataplane.Conns
	Self   phalanx.NodeID
	Clock  actors.Clock
	Log    logrus.FieldLogger

	// The following must not block.
	OnSuspect func(detect.Suspect)
	OnTrust   func(phalanx.NodeID)
	Remove    func(detect.Remove) // to be proposed
	OnStopped func(*actor.PID)    // the actor panicked too often
}

// Detector is this node's part in noticing failures. It is safe for concurrent
// use.
type Detector struct {
	cfg    Config
	pid    *actor.PID
	ctx    context.Context // of the heartbeats
	cancel context.CancelFunc
	beats  sync.WaitGroup
	late   atomic.Int64 // nanoseconds, as Late

	mu       sync.Mutex
	overdue  *detect.Overdue
	suspects map[phalanx.NodeID]Suspicion
	view     view.View // for an instance that takes over
}

// Start spawns the actor, which watches no member before Learn.
func Start(cfg Config) (*Detector, error) {
	d := &Detector{cfg: cfg, overdue: detect.NewOverdue(), suspects: map[phalanx.NodeID]Suspicion{}}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	props := actor.PropsFromProducer(func() actor.Actor { return &instance{d: d} }, actor.WithMailbox(actors.Early(actor.Unbounded())))
	d.pid = cfg.System.NewLocalPID(actorName) // the actor itself uses it
	supervisor := actors.Restarting(cfg.Log)
	supervisor.Stopped = cfg.OnStopped
	if _, err := cfg.System.Root.SpawnNamed(supervisor.Guard(props), actorName); err != nil {
		d.cancel()
		return nil, &phalanx.Error{Op: "join", Node: cfg.Self, Kind: phalanx.ErrInternal, Err: err}
	}
	return d, nil
}

// Stop ends the actor and all heartbeats. Stopping twice is safe.
func (d *Detector) Stop() {
	d.cancel()
	_ = d.cfg.System.Root.StopFuture(d.pid).Wait()
	d.beats.Wait()
}

// Learn takes a new view.
func (d *Detector) Learn(v view.View) {
	d.mu.Lock()
	d.view = v
	d.overdue.Learn(members(v))
	for id := range d.suspects {
		if !v.Has(id) {
			delete(d.suspects, id)
		}
	}
	d.mu.Unlock()
	d.tell(learn{v})
}

// Broken tells that a connection with node ended by itself.
func (d *Detector) Broken(node phalanx.NodeID) {
	d.tell(detect.Broken{Node: node, Now: d.cfg.Clock()})
}

// Beaten tells that a heartbeat of node came.
func (d *Detector) Beaten(node phalanx.NodeID) {
	d.tell(detect.Heard{Node: node, Now: d.cfg.Clock()})
}

// BeatsEnded tells that the connection for heartbeats of node has ended by itself. If this
// node does not watch it, the other may only have ceased to watch this one.
func (d *Detector) BeatsEnded(node phalanx.NodeID) { d.tell(ended{node}) }

// Asked notes that node was sent, directly, a message that it has to answer.
func (d *Detector) Asked(node phalanx.NodeID) {
	now := d.cfg.Clock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.overdue.Ask(node, now)
}

// Heard notes that a message came from node directly.
func (d *Detector) Heard(node phalanx.NodeID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.overdue.Hear(node)
}

// quiet returns the nodes whose answers are overdue, and when the next one will be.
func (d *Detector) quiet(now time.Duration) (from []phalanx.NodeID, next time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.overdue.At(now)
}

// Suspicion is why a node is suspected.
type Suspicion struct {
	Cause detect.Cause
	Since time.Duration // by the clock
}

// Suspicion returns whether and why this node suspects another.
func (d *Detector) Suspicion(node phalanx.NodeID) (Suspicion, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.suspects[node]
	return s, ok
}

// Late returns by how much later than usual a silent node is now suspected, because
// machines are busy.
func (d *Detector) Late() time.Duration { return time.Duration(d.late.Load()) }

func (d *Detector) tell(message any) { d.cfg.System.Root.Send(d.pid, message) }

// Messages to the actor.
type (
	learn struct{ view.View }
	ended struct{ node phalanx.NodeID }
	rang  struct{ of *instance } // its timer has come due
)

// instance is the actor.
type instance struct {
	d       *Detector
	core    *detect.Core
	timer   *timer.Timer
	tickAt  time.Duration // for which it is set; 0: it is not
	beaters map[phalanx.NodeID]*beater
	over    bool
}

// Receive turns messages into events.
func (a *instance) Receive(c actor.Context) {
	if a.over {
		return
	}
	now := a.d.cfg.Clock()
	defer a.arm()
	switch m := c.Message().(type) {
	case *actor.Started:
		// The library can restart an actor that was stopped while it waited for its restart, and
		// does not stop it again.
		if a.over = a.d.ctx.Err() != nil; a.over {
			return
		}
		a.timer = timer.New(func() { a.d.tell(rang{a}) })
		a.core, a.beaters = detect.New(detect.Config{Self: a.d.cfg.Self}), map[phalanx.NodeID]*beater{}
		a.d.mu.Lock()
		v := a.d.view
		suspects := slices.Sorted(maps.Keys(a.d.suspects)) // of an instance that has panicked
		clear(a.d.suspects)
		a.d.mu.Unlock()
		for _, node := range suspects { // the new core does not, and would never take it back
			a.d.cfg.OnTrust(node)
		}
		a.step(changed(v, now))
	case *actor.Stopping, *actor.Restarting:
		a.over = true
		a.timer.Close()
		for _, b := range a.beaters {
			b.stop()
		}
	case actors.Crash:
		panic(m)
	case learn:
		a.step(changed(m.View, now))
	case detect.Echoed:
		a.d.Heard(m.Node)
		a.step(m)
	case rang:
		if m.of == a {
			a.tickAt = 0
		}
	case ended:
		if a.core.Watches(m.node) {
			a.step(detect.Broken{Node: m.node, Now: now})
		}
	case detect.Heard:
		a.d.Heard(m.Node)
		a.step(m)
	case detect.Broken:
		a.step(m)
	case detect.Refuses:
		a.step(m)
	case *messages.Suspicion:
		ev, err := messages.SuspicionFromProto(m, now)
		if err != nil {
			a.d.cfg.Log.WithError(err).Warn("refused a message about a suspicion")
			return
		}
		a.step(ev)
	}
}

func members(v view.View) []phalanx.NodeID {
	ids := make([]phalanx.NodeID, len(v.Members))
	for i, m := range v.Members {
		ids[i] = m.ID
	}
	return ids
}

// changed returns a view as the core wants it.
func changed(v view.View, now time.Duration) detect.Changed {
	return detect.Changed{Members: members(v), Voters: v.Voters, Now: now}
}

// arm sets the timer of the next tick, or ticks if that is due.
func (a *instance) arm() {
	if a.over || a.core == nil {
		return
	}
	at, ok := a.core.Due()
	now := a.d.cfg.Clock()
	if ok && at <= now {
		a.tick(now)
		at, ok = a.core.Due()
	}
	switch {
	case ok && at == a.tickAt:
	case ok:
		a.tickAt = at
		a.timer.Set(at - a.d.cfg.Clock())
	case a.tickAt != 0:
		a.tickAt = 0
		a.timer.Stop()
	}
}

func (a *instance) tick(now time.Duration) {
	overdue, next := a.d.quiet(now)
	a.step(detect.Tick{Streams: a.d.cfg.Conns.Streaming(), Overdue: overdue, Owed: next, Now: now})
}

func (a *instance) step(ev detect.Event) {
	for _, e := range a.core.Step(ev) {
		a.do(e)
	}
	a.d.late.Store(int64(a.core.Late()))
}

func (a *instance) do(e detect.Effect) {
	d := a.d
	switch e := e.(type) {
	case detect.Beat:
		b := a.beaters[e.Node]
		if b == nil {
			b = d.newBeater(e.Node)
			a.beaters[e.Node] = b
		}
		b.beat()
	case detect.Rest:
		if b := a.beaters[e.Node]; b != nil {
			b.stop()
			delete(a.beaters, e.Node)
		}
	case detect.Suspect:
		d.mu.Lock()
		was, again := d.suspects[e.Node]
		if !again {
			was.Since = d.cfg.Clock()
		}
		was.Cause = e.Cause
		d.suspects[e.Node] = was
		d.mu.Unlock()
		d.cfg.Log.WithField(logging.Peer, e.Node).WithField(logging.Cause, e.Cause).Debug("a node is suspected")
		d.cfg.OnSuspect(e)
	case detect.Trust:
		d.mu.Lock()
		delete(d.suspects, e.Node)
		d.mu.Unlock()
		d.cfg.OnTrust(e.Node)
	case detect.Accuse:
		d.mu.Lock()
		voter, ok := d.view.Member(e.To)
		d.mu.Unlock()
		if ok {
			d.cfg.System.Root.Send(d.cfg.Remote.PID(voter.Control, actorName), messages.SuspicionToProto(d.cfg.Self, e))
		}
	case detect.Remove:
		d.cfg.Remove(e)
	}
}
