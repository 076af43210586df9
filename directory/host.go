package directory

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/node/idle"
	"github.com/phalanx-go/phalanx/node/owner"
	core "github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// HostConfig has the dependencies and settings of a node's shards.
type HostConfig struct {
	Self        phalanx.NodeID
	System      *actor.ActorSystem
	Transport   Transport
	Now         func() time.Duration
	InlineLimit int64
	Fanout      int
	Log         logrus.FieldLogger
	// Spawn starts a supervised actor.
	Spawn func(props *actor.Props, name string) (*actor.PID, error)
	// Want is called whenever a replica gets a request, or does something by itself, that
	// needs a lease. It must not block; nil: there always is one.
	Want func()
	// CaughtUp tells the view that node has all of the shard's state.
	CaughtUp func(shard int, epoch uint64, node phalanx.NodeID)
	// LostState asks the view to drop this node's replica, which has lost its state.
	LostState func(shard int, epoch uint64)
	// Publish puts a recovery event on the event stream.
	Publish func(event any)
	// Memory is the cap against which the replicas are counted.
	Memory Memory
}

// Memory is a node's memory cap.
type Memory interface {
	TryReserve(n int64) bool
	ReserveNow(n int64) error // with the numbers, if there is no room
	Force(n int64)            // for bytes that cannot be refused
	Press(n int64)            // asks others to make room
	Release(n int64)
	Last(pinned, reserved int64) // the taken bytes that eviction does not give back
}

// Host keeps an actor for each shard replica of this node and hands messages to
// them. It is safe for concurrent use.
type Host struct {
	cfg HostConfig

	lease  atomic.Pointer[lease] // the newest, which the shards look at
	memory atomic.Int64          // of the replicas, and of events that wait for them

	mu     sync.Mutex
	shards map[int]*actor.PID
	view   view.View
	views  uint64 // how many were learned
	closed bool

	gate   idle.Gate[heldEvent]
	strays []heldEvent   // that the gate has kept for shards that are not here any more
	alarm  *actors.Alarm // for the events that the gate keeps
	ended  chan struct{} // closed by Close
}

// lease says until when this node may answer and confirm. It was given after so
// many views were learned, and must not count for a replica that knows fewer:
// the shard may have got another owner meanwhile.
type lease struct {
	until time.Duration
	views uint64
}

// Messages to a shard, besides events.
type (
	configured struct {
		core.Configure
		views uint64
	}
	leased struct{} // look at the lease
)

// NewHost returns a host without shards.
func NewHost(cfg HostConfig) *Host {
	h := &Host{cfg: cfg, shards: map[int]*actor.PID{}, alarm: actors.NewAlarm(cfg.Now), ended: make(chan struct{})}
	h.lease.Store(&lease{})
	if cfg.Want != nil {
		go h.overdue()
	}
	return h
}

// Learn takes a new view: replicas that this node gains are started, lost ones end.
func (h *Host) Learn(v view.View) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.view = v
	h.views++
	h.want()
	for i, s := range v.Shards {
		pid := h.shards[i]
		mine := owner.Replicates(h.cfg.Self, s)
		if !mine && pid == nil {
			continue
		}
		if pid == nil {
			var err error
			// A replica that was stopped may not have ended yet, so the name is new.
			if pid, err = h.cfg.Spawn(h.props(i), fmt.Sprintf("shard-%d-%d", i, v.Number)); err != nil {
				h.cfg.Log.WithError(err).WithField("shard", i).Error("a shard's actor cannot be started")
				continue
			}
			h.shards[i] = pid
		}
		h.cfg.System.Root.Send(pid, h.configuration(i))
		if !mine {
			h.cfg.System.Root.Stop(pid)
			delete(h.shards, i)
		}
	}
}

// leaseAlmostOver is the rest of a lease with which some shard may soon have been
// without one.
const leaseAlmostOver = 50 * time.Millisecond

// Leased takes note until when this node may answer and confirm. A shard looks
// at it with every event. Only a shard that was without a lease has to be told.
func (h *Host) Leased(until time.Duration) {
	h.mu.Lock()
	defer h.unlock()
	was := h.lease.Swap(&lease{until, h.views})
	h.gate.Leased(until)
	if was.until-h.cfg.Now() > leaseAlmostOver {
		return
	}
	for _, pid := range h.shards {
		h.cfg.System.Root.Send(pid, leased{})
	}
	h.release()
}

// Handle hands an event to this node's replica of a shard. A request for a
// shard that is not here is answered so.
func (h *Host) Handle(shard int, ev core.Event) {
	h.mu.Lock()
	pid := h.shards[shard]
	if pid != nil {
		h.want()
		if !h.hold(shard, ev) {
			h.cfg.System.Root.Send(pid, ev)
		}
	}
	h.unlock()
	if pid == nil {
		h.notHere(shard, ev)
	}
}

// notHere answers a request for a shard without a replica on this node.
func (h *Host) notHere(shard int, ev core.Event) {
	if r, ok := owner.NotHere(h.cfg.Self, shard, ev); ok {
		_ = h.cfg.Transport.Send(r.To, shard, r)
	}
}

// Roles returns of how many shards this node is the owner and the backup.
func (h *Host) Roles() (owned, backedUp int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.view.Shards {
		if s.Owner == h.cfg.Self {
			owned++
		}
		if s.Backup == h.cfg.Self {
			backedUp++
		}
	}
	return owned, backedUp
}

// Memory returns how many bytes the replicas hold: records, inline bytes, and waiting events.
func (h *Host) Memory() int64 { return h.memory.Load() }

// Close stops every replica and returns when they have ended.
func (h *Host) Close() {
	h.mu.Lock()
	if !h.closed {
		close(h.ended)
		h.alarm.Stop()
	}
	h.closed = true
	h.drain()
	pids := h.shards
	h.shards = map[int]*actor.PID{}
	h.mu.Unlock()
	for _, pid := range pids {
		_ = h.cfg.System.Root.StopFuture(pid).Wait()
	}
}

// configured returns a replica's part of the present view.
func (h *Host) configured(shard int) *configured {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.configuration(shard)
	return &c
}

func (h *Host) configuration(shard int) configured {
	return configured{owner.Configure(h.view, shard), h.views}
}
