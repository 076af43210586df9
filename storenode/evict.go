package storenode

import (
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
	timers actors.Timers[struct{}]
	pause  time.Duration // before the next look
}

// NewEvictor returns the props of a node's evictor, which frees room under
// pressure.
func NewEvictor(env *Env) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return &evictor{env: env} })
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
	case pressed:
		v.need = max(v.need, m.need)
		v.barred = nil
		v.next(c)
	case granted:
		v.asking = false
		if m.ok {
			v.need, v.pause = v.need-m.copy.size()-copyCost, 0
			switch {
			case !v.env.Table.evict(m.copy, &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrNotFound, Node: v.env.Self}):
				v.env.report(m.copy.object, directory.Announce{Gen: m.copy.gen, Complete: true, Pinned: true})
			case m.copy.again.Load(): // which may have come after the leave was given
				v.env.report(m.copy.object, directory.Drop{Gen: m.copy.gen})
			}
		} else {
			if v.barred == nil {
				v.barred = map[phalanx.ObjectID]bool{}
			}
			v.barred[m.copy.object] = true
		}
		v.next(c)
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
