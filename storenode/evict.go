package storenode

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// pressed tells the evictor that somebody waits for room.
type pressed struct{ need int64 }

// granted answers one eviction.
type granted struct {
	copy *objectCopy
	ok   bool
}

const (
	evictAgain  = 50 * time.Millisecond // the first time, then twice as late
	evictAtMost = time.Second
)

// Evictor drops the copies that were used longest ago while somebody waits for
// room, each with the owner's leave. Where none can be dropped it looks again
// later: a view may have been released, or another node may have got a copy.
type evictor struct {
	env    *Env
	need   int64 // of those who press and wait elsewhere
	asking bool
	barred map[phalanx.ObjectID]bool // refused since the last look
	going  []going
	timers actors.Timers[struct{}]
	pause  time.Duration // before the next look

	restarted bool
}

// going is a copy that was dropped, whose bytes somebody may still use.
type going struct {
	copy *objectCopy
	at   time.Time
}

// NewEvictor returns the props of a node's evictor, which frees room under
// pressure.
func NewEvictor(env *Env) *actor.Props {
	restarted := false
	return actor.PropsFromProducer(func() actor.Actor {
		v := &evictor{env: env, restarted: restarted}
		restarted = true
		return v
	})
}

// Press tells the evictor at pid that need bytes are missing.
func Press(sys *actor.ActorSystem, pid *actor.PID, need int64) { sys.Root.Send(pid, pressed{need}) }

// Receive asks for one eviction after the other until there is room.
func (v *evictor) Receive(c actor.Context) {
	if _, due := v.timers.Due(c); due {
		v.barred = nil
		v.next(c)
		return
	}
	switch m := c.Message().(type) {
	case *actor.Started:
		if v.restarted { // who waits for room has pressed before
			v.next(c)
		}
	case actors.Crash:
		panic(m)
	case pressed:
		v.need = max(v.need, m.need)
		v.barred = nil
		v.next(c)
	case granted:
		v.asking = false
		if m.ok {
			v.need, v.pause = v.need-m.copy.size()-copyCost, 0
			v.drop(m.copy)
		} else {
			if v.barred == nil {
				v.barred = map[phalanx.ObjectID]bool{}
			}
			v.barred[m.copy.object] = true
		}
		v.next(c)
	}
}

func (v *evictor) drop(c *objectCopy) {
	if !v.env.Table.evict(c, &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrNotFound, Node: v.env.Self}) {
		v.env.report(c.object, directory.Announce{Gen: c.gen, Complete: true, Pinned: true})
		return
	}
	v.going = append(v.going, going{c, time.Now()})
	if c.again.Load() { // which may have come after the leave was given
		v.env.report(c.object, directory.Drop{Gen: c.gen})
	}
}

func (v *evictor) next(c actor.Context) {
	if v.asking {
		return
	}
	missing := v.env.Pool.Budget().Missing()
	if missing == 0 && v.need <= 0 {
		v.pause = 0
		v.timers.Cancel(struct{}{})
		return
	}
	if v.need <= 0 && missing <= v.coming() {
		v.timers.Set(c, struct{}{}, evictAgain)
		return
	}
	victim := v.env.Table.victim(v.barred)
	if victim == nil {
		v.need = 0
		if missing > 0 {
			v.pause = min(max(evictAgain, 2*v.pause), evictAtMost)
			v.timers.Set(c, struct{}{}, v.pause)
		}
		return
	}
	v.asking = true
	victim.again.Store(false)
	self, env := c.Self(), v.env
	env.Directory.Request(victim.object, env.Directory.Nums(1), directory.Evict{Gen: victim.gen},
		func(_ phalanx.NodeID, r directory.Result) {
			if !r.Waiting {
				env.send(self, granted{victim, r.Kind == 0})
			}
		})
}

// coming returns how many bytes will be free once nobody uses those of the copies
// that were just dropped: the stream that brought one ends after the copy is
// complete. On who uses them for longer nobody waits.
func (v *evictor) coming() int64 {
	sum := int64(0)
	v.going = slices.DeleteFunc(v.going, func(g going) bool {
		gone := g.copy.buffer == nil || !g.copy.buffer.Retained() || time.Since(g.at) >= evictAtMost
		if !gone {
			sum += g.copy.size()
		}
		return gone
	})
	return sum
}
