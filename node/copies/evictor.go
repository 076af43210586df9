package copies

import "time"

const (
	evictAgain  = 50 * time.Millisecond // until the next look if no copy can be dropped, then twice as late
	evictAtMost = time.Second
	// evictAtOnce is how many owners' answers the evictor waits for at a time, each about
	// a copy of another shard.
	evictAtOnce = 16
	// evictPatience is how long the evictor waits for an answer before it asks about
	// another shard's copy too.
	evictPatience = 250 * time.Millisecond
)

// Evictor drops the least recently used copies while a request waits for memory, each with its
// owner's leave. If it can drop no copy, it looks again later: a caller may have released a
// view, or another node may have got a copy. C stands for a copy.
//
// A silent shard does not hold up evictions in others: the evictor has at most one request to
// it under way. It uses a late grant if memory is still missing, else it announces the copy
// again.
//
// The evictor's actor in package store hosts it, and the memory of a simulated node.
type Evictor[C comparable] struct {
	idle  Idle[C]
	now   time.Duration
	room  Room
	need  int64              // bytes missing to requests that wait elsewhere
	asked map[int]*asking[C] // by shard

	looks bool          // at all copies, since round
	round time.Duration // when the present look at all copies began
	rests bool          // until rest: no copy is left to ask about
	timed bool          // rest counts
	rest  time.Duration // when it looks again
	pause time.Duration // before the next look
	out   []EvictorEffect[C]
}

// Idle has the copies of a node that may be evicted: complete, not pinned, and not in use.
type Idle[C comparable] interface {
	// Victim takes the least recently used of the copies whose shard is not busy, and that
	// were not refused since Reconsider. No other call returns it before it is kept.
	Victim(busy func(shard int) bool) (c C, shard int, bytes int64, ok bool)
	// Reconsider lets Victim choose refused copies.
	Reconsider()
}

// asking is a request for leave to evict a copy.
type asking[C comparable] struct {
	copy  C
	bytes int64
	until time.Duration // from then on it is late
	late  bool
}

// EvictorEvent is an input of an Evictor.
type EvictorEvent interface{ evictorEvent() }

// The events. After each of them, with its effects carried out, the host sends Room.
type (
	// Pressed says that so many bytes are missing to a request that waits elsewhere.
	Pressed struct{ Need int64 }
	// Granted answers an Ask. It may be one of an earlier instance.
	Granted[C comparable] struct {
		Copy  C
		Shard int
		Bytes int64 // the size of the copy
		OK    bool
		Is    Standing
		Room  Room // as it is now: a request may wait no longer
	}
	// Used says that the host did not drop a copy: a reader uses it, or it was pinned, since
	// the Ask.
	Used[C comparable] struct{ Copy C }
	// Tick is due when Due says so.
	Tick struct{}
	// Room is the memory that is missing now.
	Room struct {
		Missing int64 // bytes, to the requests that wait here
		Coming  int64 // bytes that are free as soon as the last reader leaves a dropped copy
	}
)

func (Pressed) evictorEvent()    {}
func (Granted[C]) evictorEvent() {}
func (Used[C]) evictorEvent()    {}
func (Tick) evictorEvent()       {}
func (Room) evictorEvent()       {}

// Standing is the state of a copy after its owner's answer.
type Standing uint8

// The standings.
const (
	Present  Standing = iota
	Dropped           // by an order
	Replaced          // by another copy of the object, which has its own report
)

// EvictorEffect is an order to the host of an Evictor.
type EvictorEffect[C comparable] interface{ evictorEffect(C) }

// The effects.
type (
	// Ask asks the owner for leave to evict a copy, and notes whether the node announces the
	// copy from now on until it is dropped.
	Ask[C comparable] struct {
		Copy  C
		Shard int
	}
	// Keep gives a copy back that Victim has taken.
	Keep[C comparable] struct {
		Copy    C
		Refused bool
	}
	// Evict drops a copy and tells its owner so; or the host answers with Used.
	Evict[C comparable] struct{ Copy C }
	// Stay tells the owner, which does not list a copy any more, that it is here.
	Stay[C comparable] struct{ Copy C }
	// Forget tells the owner that a copy is gone, and that it can forget the leave.
	Forget[C comparable] struct{ Copy C }
)

func (Ask[C]) evictorEffect(C)    {}
func (Keep[C]) evictorEffect(C)   {}
func (Evict[C]) evictorEffect(C)  {}
func (Stay[C]) evictorEffect(C)   {}
func (Forget[C]) evictorEffect(C) {}

// NewEvictor returns an evictor that misses no memory yet.
func NewEvictor[C comparable](idle Idle[C]) *Evictor[C] {
	return &Evictor[C]{idle: idle, asked: map[int]*asking[C]{}}
}

// Step takes an event and returns the effects.
func (v *Evictor[C]) Step(now time.Duration, ev EvictorEvent) []EvictorEffect[C] {
	v.now = now
	switch ev := ev.(type) {
	case Pressed:
		v.need = max(v.need, ev.Need)
	case Granted[C]:
		v.granted(ev)
	case Used[C]:
		v.emit(Stay[C](ev))
	case Tick:
		v.tick()
	case Room:
		v.room = ev
		v.next()
	}
	out := v.out
	v.out = nil
	return out
}

func (v *Evictor[C]) emit(e EvictorEffect[C]) { v.out = append(v.out, e) }

// Due returns when it wants a Tick.
func (v *Evictor[C]) Due() (at time.Duration, ok bool) {
	at, ok = v.rest, v.timed
	for _, a := range v.asked {
		if !a.late && (!ok || a.until < at) {
			at, ok = a.until, true
		}
	}
	return at, ok
}

// look begins to look at all copies again, also at refused ones.
func (v *Evictor[C]) look() {
	v.idle.Reconsider()
	v.looks, v.round, v.rests = true, v.now, false
}

func (v *Evictor[C]) tick() {
	for _, a := range v.asked {
		a.late = a.late || a.until <= v.now
	}
	if v.timed && v.rest <= v.now {
		if v.timed = false; v.rests {
			v.look()
		}
	}
}

func (v *Evictor[C]) granted(g Granted[C]) {
	if a := v.asked[g.Shard]; a != nil && a.copy == g.Copy {
		delete(v.asked, g.Shard)
	}
	v.room = g.Room
	switch {
	case !g.OK:
		v.emit(Keep[C]{g.Copy, true})
	case g.Is == Dropped:
		v.emit(Forget[C]{g.Copy})
	case g.Is == Replaced: // the leave was not about the new copy
	case v.short() > 0:
		v.need, v.pause = v.need-g.Bytes, 0
		v.emit(Evict[C]{g.Copy})
	default:
		v.emit(Keep[C]{g.Copy, false})
		v.emit(Stay[C]{g.Copy})
	}
}

// next asks about as many copies as are needed, at most evictAtOnce at a time.
func (v *Evictor[C]) next() {
	if v.room.Missing == 0 && v.need <= 0 {
		v.pause, v.looks, v.rests, v.timed = 0, false, false, false
		return
	}
	if !v.looks {
		v.look()
	}
	for !v.rests {
		n, bytes := v.inTime()
		if n >= evictAtOnce || v.short() <= bytes {
			break
		}
		c, shard, size, ok := v.idle.Victim(func(shard int) bool { return v.asked[shard] != nil })
		if !ok {
			break
		}
		v.asked[shard] = &asking[C]{copy: c, bytes: size, until: v.now + evictPatience}
		v.emit(Ask[C]{c, shard})
	}
	n, _ := v.inTime()
	switch {
	case v.rests || n > 0:
	case v.short() <= 0:
		v.timed, v.rest = true, v.now+evictAgain
	default:
		v.need, v.rests = 0, true
		v.pause = max(min(max(evictAgain, 2*v.pause), evictAtMost), v.now-v.round) // at most half of the time goes into asking in vain
		v.timed, v.rest = true, v.now+v.pause
	}
}

// inTime returns how many answers are open and not late, and how many bytes these may grant.
func (v *Evictor[C]) inTime() (n int, bytes int64) {
	for _, a := range v.asked {
		if !a.late {
			n, bytes = n+1, bytes+a.bytes
		}
	}
	return n, bytes
}

// short returns how many bytes the evictor has yet to free.
func (v *Evictor[C]) short() int64 { return max(v.need, v.room.Missing-v.room.Coming) }
