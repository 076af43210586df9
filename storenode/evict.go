package storenode

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
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

// Evictor drops the copies that were used longest ago while somebody waits for
// room, each with the owner's leave.
type evictor struct {
	env    *Env
	need   int64
	asking bool
	barred map[phalanx.ObjectID]bool // refused since the last press
}

// NewEvictor returns the props of a node's evictor, which frees room under
// pressure.
func NewEvictor(env *Env) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return &evictor{env: env} })
}

// Press tells the evictor at pid that a reservation has to wait.
func Press(sys *actor.ActorSystem, pid *actor.PID, need int64) { sys.Root.Send(pid, pressed{need}) }

// Receive asks for one eviction after the other until there is room.
func (v *evictor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case pressed:
		v.need = max(v.need, m.need)
		v.barred = map[phalanx.ObjectID]bool{}
		v.next(c)
	case granted:
		v.asking = false
		if m.ok {
			v.need -= m.copy.size()
			v.env.Table.drop(m.copy, &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrNotFound, Node: v.env.Self})
		} else {
			v.barred[m.copy.object] = true
		}
		v.next(c)
	}
}

func (v *evictor) next(c actor.Context) {
	if v.asking || v.need <= 0 {
		return
	}
	victim := v.env.Table.victim(v.barred)
	if victim == nil {
		v.need = 0
		return
	}
	v.asking = true
	self, env := c.Self(), v.env
	env.Directory.Request(victim.object, env.Directory.Nums(1), directory.Evict{Gen: victim.gen},
		func(_ phalanx.NodeID, r directory.Result) {
			if !r.Waiting {
				env.send(self, granted{victim, r.Kind == 0})
			}
		})
}
