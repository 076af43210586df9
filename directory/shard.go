package directory

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	core "github.com/phalanx-go/phalanx/protocol/directory"
)

// tickEvery is how often a shard's core hears of the time.
const tickEvery = 20 * time.Millisecond

// shard hosts one replica. A restarted one has lost its state: it says so, and
// the view gives the shard to its other replica.
type shard struct {
	host   *Host
	number int
	core   *core.Shard
	beat   *actors.Ticker
	again  bool // after a restart
}

func (h *Host) props(number int) *actor.Props {
	first := true
	return actor.PropsFromProducer(func() actor.Actor {
		s := &shard{host: h, number: number, beat: actors.NewTicker(tickEvery), again: !first}
		first = false
		s.core = core.New(core.Config{Shard: number, Self: h.cfg.Self, InlineLimit: h.cfg.InlineLimit, Fanout: h.cfg.Fanout})
		return s
	})
}

// Receive turns messages into events.
func (s *shard) Receive(c actor.Context) {
	if s.beat.Due(c) {
		s.do(core.Tick{})
		return
	}
	switch m := c.Message().(type) {
	case *actor.Started:
		if e, ok := s.host.entry(s.number); s.again && ok {
			s.host.cfg.Restarted(s.number, e.Epoch)
		}
	case core.Event:
		s.do(m)
	}
}

func (s *shard) do(ev core.Event) {
	cfg := &s.host.cfg
	send := func(to phalanx.NodeID, v any) { cfg.Transport.Send(to, s.number, v) }
	for _, e := range s.core.Step(cfg.Now(), ev) {
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
