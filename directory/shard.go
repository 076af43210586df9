package directory

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	core "github.com/phalanx-go/phalanx/protocol/directory"
)

// tickEvery is how often a shard's core hears of the time at most, and at least
// while it waits for some to pass.
const tickEvery = 20 * time.Millisecond

// shard hosts one replica. A restarted one has lost its state: it says so, and
// the view gives the shard to its other replica.
type shard struct {
	host   *Host
	number int
	core   *core.Shard
	again  bool                      // after a restart
	lost   bool                      // it has no state, and the view does not know
	lostIn uint64                    // the epoch in which it lost its state
	held   int64                     // of the memory cap
	wanted map[wanting]time.Duration // requests for which there was no room, since when
	views  uint64                    // how many the host had learned when it configured this replica
	lease  *lease                    // that the core knows
	timers actors.Timers[struct{}]
	armed  bool          // for a tick
	tickAt time.Duration // when it comes
}

func (h *Host) props(number int) *actor.Props {
	first := true
	return actor.PropsFromProducer(func() actor.Actor {
		s := &shard{host: h, number: number, again: !first}
		first = false
		s.core = core.New(core.Config{Shard: number, Self: h.cfg.Self, InlineLimit: h.cfg.InlineLimit, Fanout: h.cfg.Fanout})
		return s
	})
}

// Receive turns messages into events.
func (s *shard) Receive(c actor.Context) {
	if _, due := s.timers.Due(c); due {
		s.armed = false
		s.handle(c, core.Tick{})
		return
	}
	switch m := c.Message().(type) {
	case *actor.Started:
		if e, ok := s.host.entry(s.number); s.again && ok {
			s.lostIn = e.Epoch
			s.forgot(e.Epoch, false, e.Owner, e.Backup, e.Next)
		}
	case *actor.Stopping, *actor.Restarting:
		s.count(-s.held)
	case configured:
		s.views = m.views
		if s.lost && (m.Epoch <= s.lostIn || s.forgot(m.Epoch, m.Rebuild, m.Owner, m.Backup)) {
			return
		}
		s.step(m.Configure)
		s.look()
		s.arm(c)
	case leased:
		s.look()
		s.arm(c)
	case actors.Crash:
		panic(m)
	case core.Event:
		s.handle(c, m)
	}
}

// forgot has a replica that has lost its state take no part, until the view knows
// that: then it is copied, or rebuilt if nobody has the state any more. It
// reports whether the view does not know yet and counts on it, as one of those
// that are given.
func (s *shard) forgot(epoch uint64, rebuild bool, counted ...phalanx.NodeID) bool {
	s.lost = slices.Contains(counted, s.host.cfg.Self) && !rebuild
	if s.lost {
		s.host.cfg.Restarted(s.number, epoch)
	}
	return s.lost
}

func (s *shard) handle(c actor.Context, ev core.Event) {
	if s.lost {
		return
	}
	s.look()
	if r, ok := ev.(core.Request); !ok || s.room(r) {
		s.step(ev)
	}
	s.arm(c)
}

// look tells the core of a new lease.
func (s *shard) look() {
	if l := s.host.lease.Load(); l != s.lease && l.views <= s.views {
		s.lease = l
		s.step(core.Lease{Until: l.until})
	}
}

func (s *shard) step(ev core.Event) {
	cfg := &s.host.cfg
	send := func(to phalanx.NodeID, v any) { cfg.Transport.Send(to, s.number, v) }
	effects := s.core.Step(cfg.Now(), ev)
	if more := s.core.Memory() - s.held; more != 0 {
		s.count(more)
	}
	for _, e := range effects {
		switch e := e.(type) {
		case core.Reply:
			send(e.To, e)
		case core.Push:
			send(e.To, e)
		case core.Readiness:
			send(e.To, e)
		case core.SendReplicate:
			send(e.To, e.Replicate)
		case core.SendConfirm:
			send(e.To, e.Confirm)
		case core.AckHoldings:
			send(e.To, e)
		case core.AskLease:
			send(e.To, e)
		case core.CaughtUp:
			cfg.CaughtUp(s.number, e.Epoch, e.Node)
		case core.Warm:
			cfg.Publish(actors.ShardWarm{Shard: s.number, Epoch: e.Epoch})
		case core.ObjectReplaced:
			cfg.Publish(actors.ObjectReplaced{Object: e.Object, Old: e.Old, Generation: e.Gen})
		case core.ObjectLost:
			cfg.Publish(actors.ObjectLost{Object: e.Object, Generation: e.Gen, Cause: "its last complete copy is gone"})
		}
	}
}

// arm sets the timer of the next tick, if the core waits for one that comes
// earlier than what is set.
func (s *shard) arm(c actor.Context) {
	at, ok := s.core.Due()
	if !ok {
		return
	}
	now := s.host.cfg.Now()
	at = max(at, now+tickEvery)
	if s.armed && s.tickAt <= at {
		return
	}
	s.armed, s.tickAt = true, at
	s.timers.Set(c, struct{}{}, at-now)
}
