package store

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// pressed tells the evictor that a reservation waits for room.
type pressed struct{ need int64 }

// granted answers one eviction.
type granted struct {
	copy  *objectCopy
	shard int
	ok    bool
}

// evictor drops copies while a reservation waits for room: it hosts copies.Evictor.
type evictor struct {
	env    *Env
	core   *copies.Evictor[*objectCopy]
	going  []going
	wakeup actors.Wakeup

	restarted bool
}

// going is a dropped copy whose bytes callers may still use.
type going struct {
	copy  *objectCopy
	until time.Duration // the evictor does not count on a caller that keeps them longer
}

// goingFor is how long the evictor waits for the last user of a copy that it has dropped.
const goingFor = time.Second

// NewEvictor returns the props of a node's evictor, which frees room under
// pressure.
func NewEvictor(env *Env) *actor.Props {
	restarted := false
	return actor.PropsFromProducer(func() actor.Actor {
		v := &evictor{env: env, core: copies.NewEvictor[*objectCopy](idleOf{env}), restarted: restarted}
		restarted = true
		return v
	})
}

// Press tells the evictor at pid that need bytes are missing.
func Press(sys *actor.ActorSystem, pid *actor.PID, need int64) { sys.Root.Send(pid, pressed{need}) }

// Receive asks for evictions until there is room.
func (v *evictor) Receive(c actor.Context) {
	if v.wakeup.Due(c) {
		v.step(c, copies.Tick{})
		return
	}
	switch m := c.Message().(type) {
	case *actor.Started:
		if !v.restarted {
			v.env.Table.reclaimAsked() // of an earlier life of the node
			return
		}
		v.step(c, copies.Pressed{}) // the failed instance took the messages of waiting reservations
	case actors.Crash:
		panic(m)
	case pressed:
		v.step(c, copies.Pressed{Need: m.need})
	case granted:
		v.step(c, copies.Granted[*objectCopy]{Copy: m.copy, Shard: m.shard, Bytes: m.copy.size() + copyCost, OK: m.ok, Is: v.env.Table.standing(m.copy), Room: v.room()})
	}
}

// step takes an event, and asks owners about copies until these cover the missing bytes.
func (v *evictor) step(c actor.Context, ev copies.EvictorEvent) {
	v.do(c, v.core.Step(v.env.Now(), ev))
	v.do(c, v.core.Step(v.env.Now(), v.room()))
	at, ok := v.core.Due()
	v.wakeup.Set(c, v.env.Now(), at, ok)
}

func (v *evictor) do(c actor.Context, effects []copies.EvictorEffect[*objectCopy]) {
	env := v.env
	for _, e := range effects {
		switch e := e.(type) {
		case copies.Ask[*objectCopy]:
			v.ask(c, e)
		case copies.Keep[*objectCopy]:
			env.Table.keep(e.Copy, e.Refused)
		case copies.Evict[*objectCopy]:
			if !env.Table.evict(e.Copy, &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrNotFound, Node: env.Self}) {
				v.do(c, v.core.Step(env.Now(), copies.Used[*objectCopy](e)))
				continue
			}
			v.going = append(v.going, going{e.Copy, env.Now() + goingFor})
			// Without an announcement since, which may have come after the leave was given, the
			// owner hears that it can forget the leave.
			if e.Copy.again.Load() {
				env.reportDrop(e.Copy.Object, e.Copy.Gen)
				continue
			}
			env.report(e.Copy.Object, directory.Drop{Gen: e.Copy.Gen, Granted: true})
		case copies.Stay[*objectCopy]:
			env.report(e.Copy.Object, e.Copy.Announcement(env.Table.isPinned(e.Copy)))
			if env.Table.isDropped(e.Copy) { // an order has dropped it since: the owner need not repeat the order
				env.reportDrop(e.Copy.Object, e.Copy.Gen)
			}
		case copies.Forget[*objectCopy]:
			env.report(e.Copy.Object, directory.Drop{Gen: e.Copy.Gen, Granted: true})
		}
	}
}

func (v *evictor) ask(c actor.Context, a copies.Ask[*objectCopy]) {
	a.Copy.again.Store(false)
	self, env := c.Self(), v.env
	env.Directory.Request(a.Copy.Object, env.Directory.Nums(1), directory.Evict{Gen: a.Copy.Gen},
		func(_ phalanx.NodeID, r directory.Result) {
			if !r.Waiting {
				env.send(self, granted{a.Copy, a.Shard, r.Kind == 0})
			}
		})
}

// room returns the bytes that are missing and free.
func (v *evictor) room() copies.Room {
	return copies.Room{Missing: v.env.Pool.Budget().Missing(), Coming: v.coming()}
}

// coming returns how many bytes will be free once the last users of just dropped copies
// have ended: the stream that brought a copy ends after the copy is complete.
func (v *evictor) coming() int64 {
	sum, now := int64(0), v.env.Now()
	v.going = slices.DeleteFunc(v.going, func(g going) bool {
		gone := g.copy.buffer == nil || !g.copy.buffer.Retained() || now >= g.until
		if !gone {
			sum += g.copy.size()
		}
		return gone
	})
	return sum
}

// idleOf has the copies in a node's table that the evictor may choose.
type idleOf struct{ env *Env }

// Victim and Reconsider implement copies.Idle.
func (i idleOf) Victim(busy func(shard int) bool) (c *objectCopy, shard int, bytes int64, ok bool) {
	if c, shard = i.env.Table.victim(i.env.Directory.Shards(), busy); c == nil {
		return nil, 0, 0, false
	}
	return c, shard, c.size() + copyCost, true
}
func (i idleOf) Reconsider() { i.env.Table.reconsider() }
