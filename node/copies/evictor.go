package copies

import "time"

const (
	evictAgain  = 50 * time.Millisecond // until the next look if nothing can be dropped, then twice as late
	evictAtMost = time.Second
	// evictAtOnce is how many owners' answers are waited for at a time, each about
	// a copy of another shard.
	evictAtOnce = 16
	// evictPatience is how long an answer is waited for: then another shard's copy is
	// asked about too.
	evictPatience = 250 * time.Millisecond
)

// Evictor has the copies dropped that were used longest ago while somebody waits for room,
// each with its owner's leave. Where none can be dropped it looks again later: a view may have
// been released, or another node may have got a copy. C stands for a copy.
//
// A shard that does not answer holds up nobody: at most one request to it is under way, and
// what it grants late is used if there is still need of it, else the copy is announced again.
//
// The evictor's actor in package storenode hosts it, and the memory of a simulated node.
type Evictor[C comparable] struct {
	idle  Idle[C]
	now   time.Duration
	room  Room
	need  int64              // of those who press and wait elsewhere
	asked map[int]*asking[C] // by shard

	looks bool          // at all copies, since round
	round time.Duration // when the present look at all copies began
	rests bool          // until rest: nothing can be asked about
	timed bool          // rest counts
	rest  time.Duration // when it looks again
	pause time.Duration // before the next look
	out   []EvictorEffect[C]
}

// Idle are the copies of a node that may be evicted: complete, not pinned, and used by nobody.
type Idle[C comparable] interface {
	// Victim takes the one that was used longest ago of those whose shard is not busy, and
	// that were not refused since Reconsider. No other call returns it before it is kept.
	Victim(busy func(shard int) bool) (c C, shard int, bytes int64, ok bool)
	// Reconsider lets Victim choose what was refused.
	Reconsider()
}

// asking is a request for leave to evict a copy.
type asking[C comparable] struct {
	copy  C
	bytes int64
	until time.Duration // then it is late
	late  bool
}

// EvictorEvent is what happens to an Evictor.
type EvictorEvent interface{ evictorEvent() }

// The events. After each of them, with its effects carried out, the host tells the Room.
type (
	// Pressed says that so many bytes are missing to somebody who waits elsewhere.
	Pressed struct{ Need int64 }
	// Granted answers an Ask. It may be one of an earlier instance.
	Granted[C comparable] struct {
		Copy  C
		Shard int
		Bytes int64 // that it takes
		OK    bool
		Is    Standing
		Room  Room // as it is now: somebody may wait no longer
	}
	// Used says that a copy was not dropped: somebody uses it, or it was pinned, since it
	// was asked about.
	Used[C comparable] struct{ Copy C }
	// Tick is due when Due says so.
	Tick struct{}
	// Room is what is missing now.
	Room struct {
		Missing int64 // to those who wait here
		Coming  int64 // that are free as soon as nobody uses what was just dropped
	}
)

func (Pressed) evictorEvent()    {}
func (Granted[C]) evictorEvent() {}
func (Used[C]) evictorEvent()    {}
func (Tick) evictorEvent()       {}
func (Room) evictorEvent()       {}

// Standing is what has become of a copy while its owner was asked.
type Standing uint8

// The standings.
const (
	Present  Standing = iota
	Dropped           // by an order
	Replaced          // by another copy of the object, which tells of itself
)

// EvictorEffect is what the host of an Evictor has to do.
type EvictorEffect[C comparable] interface{ evictorEffect(C) }

// The effects.
type (
	// Ask asks the owner for leave to evict a copy, and notes whether the copy is announced
	// from now on until it is dropped.
	Ask[C comparable] struct {
		Copy  C
		Shard int
	}
	// Keep gives back what Victim has taken.
	Keep[C comparable] struct {
		Copy    C
		Refused bool
	}
	// Evict drops a copy and tells its owner so, or is answered by Used.
	Evict[C comparable] struct{ Copy C }
	// Stay tells the owner, who does not list a copy any more, that it is here.
	Stay[C comparable] struct{ Copy C }
	// Forget tells the owner that a copy is gone, and that it can forget the leave.
	Forget[C comparable] struct{ Copy C }
)

func (Ask[C]) evictorEffect(C)    {}
func (Keep[C]) evictorEffect(C)   {}
func (Evict[C]) evictorEffect(C)  {}
func (Stay[C]) evictorEffect(C)   {}
func (Forget[C]) evictorEffect(C) {}

// NewEvictor returns an evictor to which nobody has said that room is missing.
func NewEvictor[C comparable](idle Idle[C]) *Evictor[C] {
	return &Evictor[C]{idle: idle, asked: map[int]*asking[C]{}}
}

// Step takes an event and returns what is to be done.
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

// look begins to look at all copies again, also at those that were refused.
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
	case g.Is == Replaced: // the leave was not about the copy that has come since
	case v.short() > 0:
		v.need, v.pause = v.need-g.Bytes, 0
		v.emit(Evict[C]{g.Copy})
	default:
		v.emit(Keep[C]{g.Copy, false})
		v.emit(Stay[C]{g.Copy})
	}
}

// next asks about as many copies as are needed, and can be asked about at once.
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

// inTime returns how many answers are waited for, those that are late left out, and how many
// bytes these may grant.
func (v *Evictor[C]) inTime() (n int, bytes int64) {
	for _, a := range v.asked {
		if !a.late {
			n, bytes = n+1, bytes+a.bytes
		}
	}
	return n, bytes
}

// short returns how many bytes have to be freed yet.
func (v *Evictor[C]) short() int64 { return max(v.need, v.room.Missing-v.room.Coming) }
