package workflow

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/messages"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	"github.com/phalanx-go/phalanx/protocol/ledger"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// open is the state that outlives the actor's instance, which another one follows after a panic: attempts go on.
type open struct {
	node     *cluster.Node
	settings Settings
	guard    *actors.Supervisor // of controllers: they end with a panic

	disk    durable.Store // nil: none
	log     durable.Log
	openErr error // of the folder

	pid      *actor.PID // of the actor
	self     phalanx.NodeID
	view     core.Members
	has      *belongings  // nil before the first incarnation
	life     *incarnation // of the incarnation self
	follows  phalanx.NodeID
	followed uint64 // the epoch of the controller on follows
	caller   *flow.Caller
	number   uint64 // of the last call
	calls    map[uint64]*asked
	joiner   flow.Joiner
	cutting  sync.Mutex // one long letter at a time
	streams  uint64     // of cutting
	restorer *flow.Restorer
	restores map[uint64]*restoring
	copier   *flow.Copier                  // nil: the node has no disk
	laid     map[uint64]context.CancelFunc // end the objects of its CopyTos
	disks    flow.Disks                    // what it is told of the last view

	controller *actor.PID // here; nil: none
	epoch      uint64
	failures   failures
	copies     copies

	stop context.CancelFunc // ends the log
	wait sync.WaitGroup     // for it
}

func openService(n *cluster.Node, s Settings, f folder) *open {
	if s.Log == nil {
		s.Log = n.Log()
	}
	if s.endProcess == nil {
		s.endProcess = func(why string) {
			s.Log.Errorf("the process ends: %s", why)
			os.Exit(exitOutlived)
		}
	}
	o := &open{node: n, settings: s, guard: actors.StopOnPanic(s.Log), caller: flow.NewCaller(), calls: map[uint64]*asked{}, restorer: flow.NewRestorer(), restores: map[uint64]*restoring{}}
	var first [8]byte
	_, _ = rand.Read(first[:]) // numbers of an earlier process of the same name may be under way
	o.number = binary.BigEndian.Uint64(first[:]) >> 16
	o.streams = o.number
	if f.disk != nil {
		o.disk, o.log = f.disk, f.keeper
		o.copier, o.laid = flow.NewCopier(), map[uint64]context.CancelFunc{}
		if s.ledger != nil {
			o.log = s.ledger(o.log)
		}
	}
	if f.err != nil {
		o.openErr = fmt.Errorf("the node's folder for workflows cannot be used: %w", f.err)
		s.Log.Error(o.openErr)
	}
	return o
}

// diskName is the identity of the node's disk, as others know it.
func (o *open) diskName() string {
	if o.disk == nil {
		return ""
	}
	return strconv.FormatUint(o.disk.Identity().Disk, 16)
}

// begin has the node take part in the ledger, once.
func (o *open) begin(root *actor.RootContext, self *actor.PID) {
	o.pid = self
	if o.stop != nil || o.log == nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	o.stop = stop
	o.wait.Go(func() {
		if err := o.log.Run(ctx, func(t durable.Tenure) { o.lead(ctx, root, self, t) }); err != nil && ctx.Err() == nil && !errors.Is(err, durable.ErrClosed) {
			o.settings.Log.Errorf("this node takes part in the ledger of workflows no more: %v", err)
		}
	})
}

// lead hosts the controller of a tenure until both have ended.
func (o *open) lead(ctx context.Context, root *actor.RootContext, self *actor.PID, t durable.Tenure) {
	ended := make(chan struct{})
	id, err := strconv.ParseUint(o.disk.Identity().Cluster, 16, 64)
	if err != nil { // a folder has been bound to its ledger before a tenure of it begins
		o.settings.Log.Errorf("the folder belongs to %q, which is no ledger", o.disk.Identity().Cluster)
		return
	}
	free := spaceOf(o.disk.Space)
	if o.settings.space != nil {
		free = spaceOf(o.settings.space)
	}
	cfg := core.ControllerConfig{Ledger: id, Epoch: t.Epoch(), Generation: ledger.GenerationOf(t.Epoch())}
	props := actor.PropsFromProducer(func() actor.Actor {
		return &controller{tenure: t, core: flow.NewTenure(cfg, rows{}, o.node.Now()), clock: o.node.Now, space: free, disks: o.askDisks(root), self: o.node.ID, log: o.settings.Log, ended: ended, publish: o.publish,
			sweep: func(done func(failed bool)) { root.Send(self, sweep{done}) },
			post:  func(to phalanx.NodeID, letter any) { o.postFrom(root, self, to, letter) }}
	}, actor.WithMailbox(actor.UnboundedLockfree()))
	pid, err := root.SpawnNamed(o.guard.Guard(props), fmt.Sprintf("%s-%d", Name, t.Epoch()))
	if err != nil {
		o.settings.Log.Errorf("the controller of workflows cannot begin: %v", err)
		o.giveUp(ctx, t)
		return
	}
	root.Send(self, leading{pid, t.Epoch()})
	began := o.node.Now()
	select {
	case <-t.Done():
	case <-ctx.Done():
	case <-ended:
	}
	root.Stop(pid)
	<-ended
	root.Send(self, led{pid})
	o.failures.lived(o.node.Now() - began)
	o.giveUp(ctx, t)
}

// rebirth begins the life of an incarnation of the node.
func (o *open) rebirth(self phalanx.NodeID) {
	if o.life != nil {
		o.life.end()
		o.life.cast.dropAll(o.node.System().Root)
	}
	o.self = self
	o.life = newIncarnation(o)
}

// end ends all that goes on: the node leaves.
func (o *open) end() {
	for n, a := range o.calls {
		delete(o.calls, n)
		a.end(core.Answer{Err: &phalanx.Error{Op: "workflow", Kind: phalanx.ErrClosed, Err: errLeft}})
	}
	if o.stop != nil {
		o.stop()
	}
	if !endsWithin(attemptGrace, o.wait.Wait) {
		o.settings.Log.Errorf("the node's part of the ledger of workflows does not end within %v: look whether its disk hangs", attemptGrace)
	}
	if o.copier != nil && o.copier.Left() > 0 { // Leave has given up on them, and does not say so
		o.settings.Log.Warnf("the node has left, and %d of its checkpoints may be on no disk that stays: keep its folder", o.copier.Left())
	}
	if o.life != nil {
		o.life.end()
		o.life.await(attemptGrace)
		o.life.endActors(attemptGrace)
	}
	if o.disk != nil {
		o.closeDisk(attemptGrace)
	}
}

// closeDisk closes the folder, but does not wait for a disk that hangs.
func (o *open) closeDisk(most time.Duration) {
	if !endsWithin(most, func() { _ = o.disk.Close() }) {
		o.settings.Log.Errorf("the node's folder for workflows does not close within %v: look whether its disk hangs", most)
	}
}

// endsWithin runs f, and reports whether it has ended in time.
func endsWithin(most time.Duration, f func()) bool {
	ended := make(chan struct{})
	go func() {
		f()
		close(ended)
	}()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ended:
		return true
	case <-timer.C:
		return false
	}
}

// postFrom sends a letter to a node, which may be this one.
func (o *open) postFrom(root *actor.RootContext, self *actor.PID, to phalanx.NodeID, letter any) {
	if to == o.node.ID() {
		root.Send(self, local{letter})
		return
	}
	o.post(to, letter)
}

// post sends a letter to another node, in pieces if it is long. It may be lost.
func (o *open) post(to phalanx.NodeID, letter any) {
	pid, ok := o.node.ServiceOn(to, Name)
	if !ok {
		return
	}
	from := o.node.ID()
	m, err := messages.WorkflowToProto(from, to, letter)
	if err != nil {
		o.settings.Log.Errorf("a letter to node %s: %v", to, err)
		return
	}
	root := o.node.System().Root
	if proto.Size(m) <= flow.MaxWhole {
		root.Send(pid, m)
		return
	}
	b, err := proto.Marshal(m)
	if err != nil {
		o.settings.Log.Errorf("a letter to node %s: %v", to, err)
		return
	}
	if len(b) > flow.MaxLetter {
		o.settings.Log.Errorf("a letter to node %s (%T) has %d bytes, more than %d: it is not sent", to, letter, len(b), flow.MaxLetter)
		return
	}
	o.cutting.Lock()
	defer o.cutting.Unlock()
	o.streams++
	for _, p := range flow.Cut(o.streams, b) {
		if m, err = messages.WorkflowToProto(from, to, p); err == nil {
			root.Send(pid, m)
		}
	}
}
