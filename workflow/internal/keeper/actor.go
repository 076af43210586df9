package keeper

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/logging"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/node/ledger"
	core "github.com/phalanx-go/phalanx/protocol/ledger"
)

// instance is the actor. It owns the node's core, and ends with it.
type instance struct {
	k      *Keeper
	node   *cluster.Node
	self   *actor.PID
	life   uint64
	core   *ledger.Core // nil: the disk was not read yet
	wakeup actors.Wakeup

	early     []ledger.Event // before there is a core; the newest view, and what tenures ask
	tenure    *tenure        // of this instance; nil: none goes on
	incoming  map[uint64]*incoming
	remembers bool     // a Remember is under way
	remember  []string // that comes after it; nil: none
	halted    bool
	holds     int // bytes that the node was told of
}

// Messages from inside the node.
type (
	// fromBeside is an event that something beside the actor has for an instance.
	fromBeside struct {
		life uint64
		ev   ledger.Event
	}
	loaded struct {
		life uint64
		folder
		err error
	}
	remembered struct {
		life uint64
		err  error
	}
)

// Receive turns messages into events.
func (a *instance) Receive(c actor.Context) {
	if a.wakeup.Due(c) {
		a.step(c, ledger.Tick{})
		return
	}
	switch m := c.Message().(type) {
	case *actor.Started:
		a.start(c)
	case *actor.Stopping, *actor.Restarting:
		a.stop(c)
	case *actor.Stopped:
		a.k.over()
		if left := a.k.await(endWait); len(left) > 0 {
			a.node.Log().Errorf("the node ends although its folder has not answered for %v, which still has to %s: look whether the disk hangs", endWait, strings.Join(left, ", and to "))
		}
	case cluster.Viewed:
		a.step(c, a.viewed(m))
	case cluster.Leased:
		a.step(c, ledger.Leased{Until: m.Until})
	case cluster.NoLease:
		a.step(c, ledger.NoLease{})
	case cluster.Refused:
		a.step(c, ledger.NotListening{Address: m.Address})
	case loaded:
		a.loaded(c, m)
	case fromBeside:
		if m.life == a.life {
			a.step(c, m.ev)
		} else {
			a.late(m.ev)
		}
	case remembered:
		a.remembered(c, m)
	case *asked:
		a.ask(c, m)
	case givenUp:
		if m.t == a.tenure {
			a.step(c, ledger.ForReplica{Event: core.GiveUp{Epoch: m.t.epoch}})
		}
	case Look:
		m.To <- a.seen()
	case *messages.LedgerHello:
		if h, err := messages.LedgerHelloFromProto(m); a.good(c, err) {
			a.step(c, ledger.Heard{Hello: h})
		}
	case *messages.LedgerLetter:
		if a.good(c, messages.CheckLedgerLetter(m)) {
			a.step(c, ledger.Letter{Address: m.GetAddress(), From: m.GetFrom(), To: m.GetTo(), Data: m.GetData()})
		}
	case *messages.LedgerRows:
		if a.good(c, messages.CheckLedgerRows(m)) {
			a.take(c, m)
		}
	case *messages.LedgerRowsTaken:
		a.k.taken(m)
	case received:
		a.received(c, m)
	case actors.Crash:
		panic(m)
	case *actors.Woken:
	default:
		actors.Unknown(c, "keeper of the ledger")
	}
}

// good reports whether a message can be read.
func (a *instance) good(c actor.Context, err error) bool {
	if err != nil {
		a.node.Log().WithError(err).WithField(logging.Address, c.Sender().GetAddress()).Warn("refused a message about the ledger")
	}
	return err == nil
}

// start reads the disk, when it has answered what an instance before has given it.
func (a *instance) start(c actor.Context) {
	a.self = c.Self()
	a.node.Holds(Name, 0)
	a.k.set(func() {
		a.k.life++
		a.life = a.k.life
	})
	if v := a.node.View(); v.Has(a.node.ID()) {
		a.early = append(a.early, a.viewed(cluster.Viewed{Self: a.node.ID(), View: v}))
	}
	a.load()
}

// stop ends what this instance has under way.
func (a *instance) stop(c actor.Context) {
	if _, ends := c.Message().(*actor.Stopping); ends {
		a.node.Remains(Name, math.MaxUint64, 0) // nobody hands over any more
		a.k.over()
	}
	a.endTenure()
	for _, in := range a.incoming {
		in.abort(errRestarted)
	}
	a.core = nil
}

// step gives the core an event, and carries out its effects.
func (a *instance) step(c actor.Context, ev ledger.Event) {
	if a.core == nil {
		a.keep(ev)
		return
	}
	out := a.core.Step(a.node.Now(), ev)
	for _, e := range out { // before what was asked is answered: an end of a stall, and the end of the tenure
		f, ok := e.(ledger.FromReplica)
		if !ok || a.tenure == nil {
			continue
		}
		switch e := f.Effect.(type) {
		case core.Stalled:
			a.tenure.stalled.Store(e.On)
		case core.TenureEnded:
			a.tenureEnded(e.Epoch)
		}
	}
	for _, e := range out {
		a.do(c, e)
	}
	if bytes := a.core.Holds(); max(bytes-a.holds, a.holds-bytes) >= holdStep {
		a.holds = bytes
		a.node.Holds(Name, int64(bytes))
	}
	at, ok := a.core.Due()
	now := a.node.Now()
	a.wakeup.Set(c, now, max(at, now+time.Millisecond), ok)
}

// holdStep is by how many bytes the replica's memory changes before the node counts it anew.
const holdStep = 256 << 10

// keep keeps what came before there is a core and does not come again.
func (a *instance) keep(ev ledger.Event) {
	if _, ok := ev.(ledger.Viewed); ok {
		a.early = slices.DeleteFunc(a.early, func(e ledger.Event) bool { _, is := e.(ledger.Viewed); return is })
		a.early = append(a.early, ev)
	}
}

func (a *instance) do(c actor.Context, e ledger.Effect) {
	switch e := e.(type) {
	case ledger.Say:
		a.send(e.To, messages.LedgerHelloToProto(e.Hello))
	case ledger.Post:
		a.send(e.Address, &messages.LedgerLetter{Address: a.node.ControlAddr(), From: e.From, To: e.To, Data: e.Data})
	case ledger.SendSnapshot:
		a.sendSnapshot(e)
	case ledger.FromReplica:
		a.fromReplica(c, e.Effect)
	case ledger.Create:
		a.begin(e.Ledger, true)
	case ledger.Adopt:
		a.begin(e.Ledger, false)
	case ledger.Remember:
		a.rememberAll(e.Addresses)
	case ledger.Leads:
		a.k.set(func() { a.k.lead = e.Lead })
	case ledger.Serves:
		a.serve(e.Epoch)
	case ledger.Remains:
		a.node.Remains(Name, e.View, e.Left)
	case ledger.Keeps:
		a.node.Log().WithField("others", e.Others).Warn("the node leaves, and no other disk takes its replica of the ledger: keep its folder, or add a node with one")
	case ledger.Replaced:
		a.publish(actors.ReplicaReplaced{Added: names(e.Added), Removed: names(e.Removed), Now: names(e.Voters)})
	case ledger.Met:
		met := actors.LedgerMet{At: e.Address, Node: e.Node}
		a.node.Log().Error(met.String())
		a.publish(met)
	case ledger.ReadRecord:
		a.readRecord(e.Epoch)
	case ledger.Record:
		a.record(c, e)
	case ledger.Begin:
		a.node.Begin(e.Restarts)
	case ledger.Enter:
		a.node.Enter(e.Address)
	case ledger.WantLease:
		a.node.WantLease()
	case ledger.Outdated:
		a.sawGeneration(e.Generation)
	case ledger.Halted:
		a.replicaEnded(e.Err)
	}
}

func (a *instance) fromReplica(c actor.Context, e core.Effect) {
	log := a.node.Log()
	switch e := e.(type) {
	case core.Persist:
		a.persist(e.Write)
	case core.TenureBegan:
		a.beginTenure(c, e.Epoch)
	case core.TenureEnded: // it may have begun in the same step
		a.tenureEnded(e.Epoch)
	case core.Done:
		a.answerAppend(e.Epoch, e.Number, nil)
	case core.Refused:
		a.refused(e)
	case core.Readable:
		a.answerRead(e.ID, true)
	case core.NotReadable:
		a.answerRead(e.ID, false)
	case core.DropStream:
		a.drop(e.Stream)
	case core.Transfers:
		log.WithField(logging.Cause, e.Cause).Info("the ledger's leader hands over")
	case core.Reject:
		log.WithError(e.Err).Debug("refused a message of a replica of the ledger")
	}
}

// send sends a message to the keeper of the node at an address.
func (a *instance) send(address string, m proto.Message) {
	a.node.System().Root.RequestWithCustomSender(actor.NewPID(address, Name), m, a.self)
}

// tell has this instance take an event later.
func (a *instance) tell(ev ledger.Event) {
	a.node.System().Root.Send(a.self, fromBeside{a.life, ev})
}

func (a *instance) publish(ev actors.Event) { a.node.System().EventStream.Publish(ev) }

func names(replicas []uint64) []string {
	all := make([]string, len(replicas))
	for i, r := range replicas {
		all[i] = actors.ReplicaName(r)
	}
	return all
}

// viewed returns a view as the core takes it.
func (a *instance) viewed(m cluster.Viewed) ledger.Viewed {
	v := ledger.Viewed{Self: m.Self, Number: m.View.Number, Restarts: m.View.Restarts}
	if s := a.k.settings.Store; s != nil {
		v.First = m.View.WasFirst(m.Self, Folder, markOf(s.Identity().Disk))
	}
	for _, one := range m.View.Members {
		v.Members = append(v.Members, ledger.Member{Node: one.ID, Address: one.Control, Keeps: one.Has(Name), Folder: one.Has(Folder), Votes: slices.Contains(m.View.Voters, one.ID), Leaving: one.Leaving})
	}
	return v
}
