package directory

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/node/owner"
	core "github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// tickEvery is how often a shard's core hears of the time at most, and at least
// while it waits for some to pass.
const tickEvery = 20 * time.Millisecond

// shard hosts one replica. A restarted one has lost its state.
type shard struct {
	host   *Host
	number int
	core   *core.Shard
	begins *configured   // after a restart: the view in which it was
	held   int64         // of the memory cap
	wanted owner.Room    // requests for whose inline bytes there is no room
	owns   bool          // by the last view
	since  time.Duration // it does
	views  uint64        // how many the host had learned when it configured this replica
	lease  *lease        // that the core knows
	wakeup actors.Wakeup
}

func (h *Host) props(number int) *actor.Props {
	first := true
	return actor.PropsFromProducer(func() actor.Actor {
		s := &shard{host: h, number: number}
		cfg := core.Config{Shard: number, Self: h.cfg.Self, InlineLimit: h.cfg.InlineLimit, Fanout: h.cfg.Fanout}
		if !first {
			s.begins = h.configured(number)
			cfg.LostIn = s.begins.Epoch
		}
		first = false
		s.core = core.New(cfg)
		return s
	})
}

// Receive turns messages into events.
func (s *shard) Receive(c actor.Context) {
	if s.wakeup.Due(c) {
		s.host.want()
		s.handle(c, core.Tick{})
		return
	}
	switch m := c.Message().(type) {
	case *actor.Started:
		if s.begins != nil {
			s.configure(c, *s.begins)
		}
	case *actor.Stopping, *actor.Restarting:
		s.count(-s.held)
	case configured:
		s.configure(c, m)
	case leased:
		s.look()
		s.arm(c)
	case actors.Crash:
		panic(m)
	case core.Event:
		s.handle(c, m)
	}
}

func (s *shard) configure(c actor.Context, m configured) {
	if m.views < s.views { // from before a restart
		return
	}
	s.views = m.views
	s.take(m.Configure)
	s.look()
	s.arm(c)
}

// take has the core take its entry in a new view.
func (s *shard) take(v core.Configure) {
	if owns := v.Owner == s.host.cfg.Self; owns != s.owns {
		s.owns, s.since = owns, s.host.cfg.Now()
	}
	s.step(v)
}

func (s *shard) handle(c actor.Context, ev core.Event) {
	s.look()
	if r, ok := ev.(core.Request); !ok || s.core.Lost() || s.honest(r) && s.room(r) {
		s.step(ev)
	}
	s.arm(c)
}

// honest reports whether inline bytes have the digest that their origin says they
// have; if not, it tells the origin so. No other node checks them: later receivers take
// the record's digest from here.
func (s *shard) honest(r core.Request) bool {
	p, ok := r.Body.(core.PutInline)
	if !ok || !s.owns {
		return true
	}
	digest := dataplane.DigestBytes(p.Bytes)
	if digest == p.Digest {
		return true
	}
	s.host.cfg.Transport.Send(r.From, s.number, core.Reply{To: r.From, Num: r.Num, Object: r.Object, Result: core.Result{Kind: phalanx.ErrCorrupt,
		Text: fmt.Sprintf("the object came with digest %v, but its bytes have %v", p.Digest, digest)}})
	return false
}

// look tells the core of a new lease.
func (s *shard) look() {
	if l := s.host.lease.Load(); l != s.lease && l.views <= s.views {
		s.lease = l
		s.step(core.Lease{Until: l.until})
	}
}

// step has the core take ev, and then the messages that could not be sent: the core fails
// the requests that wait for them.
func (s *shard) step(ev core.Event) {
	events := []core.Event{ev}
	for len(events) > 0 {
		events = append(events[1:], s.stepOnce(events[0])...)
	}
}

func (s *shard) stepOnce(ev core.Event) (failed []core.Event) {
	cfg := &s.host.cfg
	send := func(to phalanx.NodeID, v any, e core.Effect) {
		err := cfg.Transport.Send(to, s.number, v)
		switch r, ok := v.(core.Reply); {
		case err == nil:
		case ok: // the caller is told why
			_ = cfg.Transport.Send(to, s.number, core.Reply{To: r.To, Num: r.Num, Object: r.Object,
				Result: core.Result{Kind: phalanx.ErrInvalid, Text: err.Error(), State: r.Result.State, Gen: r.Result.Gen}})
		default:
			failed = append(failed, core.Unsendable{Effect: e, Text: err.Error()})
		}
	}
	effects := s.core.Step(cfg.Now(), ev)
	if more := s.core.Memory() - s.held; more != 0 {
		s.count(more)
	}
	for _, e := range effects {
		switch e := e.(type) {
		case core.Reply:
			send(e.To, e, e)
		case core.Push:
			send(e.To, e, e)
		case core.Readiness:
			send(e.To, e, e)
		case core.SendReplicate:
			send(e.To, e.Replicate, e)
		case core.SendConfirm:
			send(e.To, e.Confirm, e)
		case core.AckHoldings:
			send(e.To, e, e)
		case core.AskLease:
			send(e.To, e, e)
		case core.CaughtUp:
			cfg.CaughtUp(s.number, e.Epoch, e.Node)
		case core.LostState:
			cfg.LostState(s.number, e.Epoch)
		case core.Warm:
			cfg.Publish(actors.ShardWarm{Shard: s.number, Epoch: e.Epoch, Took: cfg.Now() - s.since})
		case core.ObjectReplaced:
			cfg.Publish(actors.ObjectReplaced{Object: e.Object, Old: e.Old, Generation: e.Gen})
		case core.ObjectLost:
			cfg.Publish(actors.ObjectLost{Object: e.Object, Generation: e.Gen, Cause: "its last complete copy is gone"})
		}
	}
	return failed
}

// arm sets the timer of the next tick, if the core waits for an earlier one than the
// timer is set for.
func (s *shard) arm(c actor.Context) {
	at, ok := s.core.Due()
	now := s.host.cfg.Now()
	s.wakeup.Set(c, now, max(at, now+tickEvery), ok)
}
