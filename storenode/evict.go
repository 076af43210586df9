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
	copy  *objectCopy
	shard int
	ok    bool
}

const (
	evictAgain  = 50 * time.Millisecond // the first time, then twice as late
	evictAtMost = time.Second
	// evictAtOnce is how many owners' answers are waited for at a time, each about
	// a copy of another shard.
	evictAtOnce = 16
	// evictPatience is how long an answer is waited for: then another shard's copy is
	// asked about too.
	evictPatience = 250 * time.Millisecond
	// evictRest is the timer after which the evictor looks again; the others are of
	// shards.
	evictRest = -1
)

// Evictor drops the copies that were used longest ago while somebody waits for
// room, each with the owner's leave. Where none can be dropped it looks again
// later: a view may have been released, or another node may have got a copy.
//
// A shard that does not answer holds up nobody: at most one request to it is
// under way, and what it grants late is used if there is still need of it, else
// the copy is announced again.
type evictor struct {
	env    *Env
	need   int64           // of those who press and wait elsewhere
	asked  map[int]*asking // by shard
	going  []going
	timers actors.Timers[int]
	round  time.Time     // when the present look at all copies began; zero: there is none
	rests  bool          // until a timer: nothing can be asked about
	pause  time.Duration // before the next look

	restarted bool
}

// asking is a request for leave to evict a copy.
type asking struct {
	copy *objectCopy
	late bool // it has not been answered in time
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
		v := &evictor{env: env, asked: map[int]*asking{}, restarted: restarted}
		restarted = true
		return v
	})
}

// Press tells the evictor at pid that need bytes are missing.
func Press(sys *actor.ActorSystem, pid *actor.PID, need int64) { sys.Root.Send(pid, pressed{need}) }

// Receive asks for evictions until there is room.
func (v *evictor) Receive(c actor.Context) {
	if shard, due := v.timers.Due(c); due {
		if a := v.asked[shard]; a != nil {
			a.late = true
		} else if shard == evictRest && v.rests {
			v.look()
		}
		v.next(c)
		return
	}
	switch m := c.Message().(type) {
	case *actor.Started:
		if v.restarted { // who waits for room has pressed before
			v.next(c)
		} else {
			v.env.Table.reclaimAsked() // of an earlier life of the node
		}
	case actors.Crash:
		panic(m)
	case pressed:
		v.need = max(v.need, m.need)
		v.next(c)
	case granted:
		v.granted(m)
		v.next(c)
	}
}

// look begins to look at all copies again, also at those that were refused.
func (v *evictor) look() {
	v.env.Table.reconsider()
	v.round, v.rests = time.Now(), false
}

// granted takes the answer to a request, which may be one of an instance that has
// panicked.
func (v *evictor) granted(m granted) {
	if a := v.asked[m.shard]; a != nil && a.copy == m.copy {
		delete(v.asked, m.shard)
		v.timers.Cancel(m.shard)
	}
	switch now := v.env.Table.lookup(m.copy.object); {
	case !m.ok:
		v.env.Table.keep(m.copy, true)
	case now == nil: // it was dropped meanwhile, by an order
		v.env.report(m.copy.object, directory.Drop{Gen: m.copy.gen, Granted: true})
	case now != m.copy: // the leave was not about the copy that has come since, which tells of itself
	case v.short() > 0:
		v.need, v.pause = v.need-m.copy.size()-copyCost, 0
		v.drop(m.copy)
	default:
		v.env.Table.keep(m.copy, false)
		v.stays(m.copy)
	}
}

// drop carries out an eviction, unless somebody uses the copy by now.
func (v *evictor) drop(c *objectCopy) {
	if !v.env.Table.evict(c, &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrNotFound, Node: v.env.Self}) {
		v.stays(c)
		return
	}
	v.going = append(v.going, going{c, time.Now()})
	// An announcement since may have come after the leave was given. Without one the
	// owner hears that it can forget the leave.
	v.env.report(c.object, directory.Drop{Gen: c.gen, Granted: !c.again.Load()})
}

// stays tells the owner, who lists c no longer, that it stays.
func (v *evictor) stays(c *objectCopy) {
	env := v.env
	env.report(c.object, directory.Announce{Gen: c.gen, Complete: true, Pinned: env.Table.isPinned(c)})
	if env.Table.isDropped(c) { // by an order, which the owner need not repeat
		env.report(c.object, directory.Drop{Gen: c.gen})
	}
}

// next asks about as many copies as are needed, and can be asked about at once.
func (v *evictor) next(c actor.Context) {
	missing := v.env.Pool.Budget().Missing()
	if missing == 0 && v.need <= 0 {
		v.pause, v.round, v.rests = 0, time.Time{}, false
		v.timers.Cancel(evictRest)
		return
	}
	if v.round.IsZero() {
		v.look()
	}
	for !v.rests && v.inTime() < evictAtOnce && v.short() > v.asking() {
		victim, shard := v.env.Table.victim(v.env.Directory.Shards(), func(shard int) bool { return v.asked[shard] != nil })
		if victim == nil {
			break
		}
		v.ask(c, victim, shard)
	}
	switch {
	case v.rests || v.inTime() > 0:
	case v.short() <= 0:
		v.timers.Set(c, evictRest, evictAgain)
	default:
		v.need, v.rests = 0, true
		v.pause = max(min(max(evictAgain, 2*v.pause), evictAtMost), time.Since(v.round)) // at most half of the time goes into asking in vain
		v.timers.Set(c, evictRest, v.pause)
	}
}

func (v *evictor) ask(c actor.Context, victim *objectCopy, shard int) {
	v.asked[shard] = &asking{copy: victim}
	v.timers.Set(c, shard, evictPatience)
	victim.again.Store(false)
	self, env := c.Self(), v.env
	env.Directory.Request(victim.object, env.Directory.Nums(1), directory.Evict{Gen: victim.gen},
		func(_ phalanx.NodeID, r directory.Result) {
			if !r.Waiting {
				env.send(self, granted{victim, shard, r.Kind == 0})
			}
		})
}

// inTime returns how many answers are waited for, those that are late left out.
func (v *evictor) inTime() int {
	n := 0
	for _, a := range v.asked {
		if !a.late {
			n++
		}
	}
	return n
}

// asking returns how many bytes the owners that are not late may grant.
func (v *evictor) asking() int64 {
	sum := int64(0)
	for _, a := range v.asked {
		if !a.late {
			sum += a.copy.size() + copyCost
		}
	}
	return sum
}

// short returns how many bytes have to be freed yet.
func (v *evictor) short() int64 { return max(v.need, v.env.Pool.Budget().Missing()-v.coming()) }

// coming returns how many bytes will be free once nobody uses those of the copies
// that were just dropped: the stream that brought one ends after the copy is
// complete. Nobody waits for a caller that keeps them longer than that.
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
