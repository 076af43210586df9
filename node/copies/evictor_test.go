package copies

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// pile has the idle copies of a node, the least recently used first. Copy n is in shard n modulo
// shards, and has one byte.
type pile struct {
	shards  int
	idle    []int
	refused []int
}

func (p *pile) Victim(busy func(shard int) bool) (c, shard int, bytes int64, ok bool) {
	for i, c := range p.idle {
		if shard := c % p.shards; !busy(shard) {
			p.idle = slices.Delete(p.idle, i, i+1)
			return c, shard, 1, true
		}
	}
	return 0, 0, 0, false
}

func (p *pile) Reconsider() {
	p.idle = append(p.refused, p.idle...)
	p.refused = nil
}

func numbers(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// evicting is an evictor with its pile of copies.
type evicting struct {
	t    *testing.T
	v    *Evictor[int]
	p    *pile
	now  time.Duration
	room Room
}

func newEvicting(t *testing.T, copies, shards int) *evicting {
	p := &pile{shards: shards, idle: numbers(copies)}
	return &evicting{t: t, v: NewEvictor[int](p), p: p}
}

// step takes an event, carries out Keep and sends Room.
func (e *evicting) step(ev EvictorEvent) (out []EvictorEffect[int]) {
	carry := func(all []EvictorEffect[int]) {
		for _, x := range all {
			if k, ok := x.(Keep[int]); ok && k.Refused {
				e.p.refused = append(e.p.refused, k.Copy)
			} else if ok {
				e.p.idle = append([]int{k.Copy}, e.p.idle...)
			} else if _, ok := x.(Evict[int]); ok {
				e.room.Missing--
			}
			out = append(out, x)
		}
	}
	if g, ok := ev.(Granted[int]); ok {
		g.Room = e.room
		ev = g
	}
	carry(e.v.Step(e.now, ev))
	carry(e.v.Step(e.now, e.room))
	return out
}

func (e *evicting) want(got []EvictorEffect[int], want ...EvictorEffect[int]) {
	e.t.Helper()
	if !slices.Equal(got, want) {
		e.t.Errorf("at %v: %v, want %v", e.now, got, want)
	}
}

// wait lets time pass to the next tick, which must be due then.
func (e *evicting) wait(d time.Duration) []EvictorEffect[int] {
	e.t.Helper()
	if at, ok := e.v.Due(); !ok || at != e.now+d {
		e.t.Fatalf("at %v: due at %v, %v, want %v later", e.now, at, ok, d)
	}
	e.now += d
	return e.step(Tick{})
}

func granted(c, shard int) Granted[int] {
	return Granted[int]{Copy: c, Shard: shard, Bytes: 1, OK: true}
}

func TestNothingIsAskedWithoutNeed(t *testing.T) {
	e := newEvicting(t, 3, 3)
	e.want(e.step(Pressed{}))
	e.want(e.step(Tick{}))
	if at, ok := e.v.Due(); ok {
		t.Errorf("due at %v", at)
	}
}

// The evictor asks about as many copies as it needs, the least recently used first, one of each
// shard at a time.
func TestAsManyAsAreNeeded(t *testing.T) {
	e := newEvicting(t, 6, 2)
	e.room.Missing = 3
	e.want(e.step(Tick{}), Ask[int]{0, 0}, Ask[int]{1, 1})
	e.want(e.step(granted(0, 0)), Evict[int]{0}, Ask[int]{2, 0})
	e.want(e.step(granted(1, 1)), Evict[int]{1})
	e.want(e.step(granted(2, 0)), Evict[int]{2})
	if at, ok := e.v.Due(); ok {
		t.Errorf("due at %v though there is room", at)
	}
}

// The evictor does not ask for bytes that are soon free, but looks again: they may stay in use.
func TestWhatComesIsWaitedFor(t *testing.T) {
	e := newEvicting(t, 1, 1)
	e.room = Room{Missing: 1, Coming: 1}
	e.want(e.step(Tick{}))
	e.room.Coming = 0
	e.want(e.wait(evictAgain), Ask[int]{0, 0})
}

// The evictor does not ask about a refused copy again at once, and then ever later.
func TestARefusalIsTakenForAWhile(t *testing.T) {
	e := newEvicting(t, 1, 1)
	e.room.Missing = 1
	e.want(e.step(Tick{}), Ask[int]{0, 0})
	for _, pause := range []time.Duration{evictAgain, 2 * evictAgain, 4 * evictAgain, 8 * evictAgain, 16 * evictAgain, evictAtMost, evictAtMost} {
		e.want(e.step(Granted[int]{Copy: 0, Bytes: 1}), Keep[int]{0, true})
		e.want(e.wait(pause), Ask[int]{0, 0})
	}
	e.want(e.step(granted(0, 0)), Evict[int]{0})
}

// The evictor spends at most half of its time asking in vain: where answers take long it rests
// as long.
func TestSlowRefusals(t *testing.T) {
	e := newEvicting(t, 1, 1)
	e.room.Missing = 1
	e.step(Tick{})
	e.now = evictPatience - 1
	e.want(e.step(Granted[int]{Copy: 0, Bytes: 1}), Keep[int]{0, true})
	e.want(e.wait(evictPatience-1), Ask[int]{0, 0})
}

// A silent owner holds up only the copies of its shard; the evictor uses a late grant if it needs
// it.
func TestASilentOwnerHoldsUpNobody(t *testing.T) {
	for _, needed := range []bool{true, false} {
		e := newEvicting(t, 4, 2)
		e.room.Missing = 1
		e.want(e.step(Tick{}), Ask[int]{0, 0})
		e.want(e.wait(evictPatience), Ask[int]{1, 1})
		if needed {
			e.room.Missing = 2
			e.want(e.step(granted(0, 0)), Evict[int]{0})
			continue
		}
		e.want(e.step(granted(1, 1)), Evict[int]{1})
		e.want(e.step(granted(0, 0)), Keep[int]{0, false}, Stay[int]{0})
	}
}

// A grant comes too late if the copy has gone, was replaced, or is in use by then.
func TestGrantsThatComeTooLate(t *testing.T) {
	e := newEvicting(t, 1, 1)
	e.room.Missing = 1
	e.step(Tick{})
	g := granted(0, 0)
	g.Is = Dropped
	e.want(e.step(g), Forget[int]{0})
	g.Is = Replaced
	e.want(e.step(g))
	g.OK = false
	e.want(e.step(g), Keep[int]{0, true})
	e.want(e.step(Used[int]{0}), Stay[int]{0})
}

// A grant finds that the request does not wait any more: the copy stays.
func TestAGrantThatIsNotNeeded(t *testing.T) {
	e := newEvicting(t, 1, 1)
	e.room.Missing = 1
	e.want(e.step(Tick{}), Ask[int]{0, 0})
	e.room.Missing = 0 // the evictor has not heard of it yet
	e.want(e.step(granted(0, 0)), Keep[int]{0, false}, Stay[int]{0})
}

// The evictor asks about evictAtOnce copies at a time. An answer that is late makes room for another question, and
// the evictor does not wait for it any more.
func TestHowManyAtOnce(t *testing.T) {
	e := newEvicting(t, 2*evictAtOnce, 2*evictAtOnce)
	e.room.Missing = 2 * evictAtOnce
	if asked := len(e.step(Tick{})); asked != evictAtOnce {
		t.Errorf("%d are asked about", asked)
	}
	e.now = evictPatience / 2
	e.want(e.step(Tick{})) // nothing is late yet
	e.now = 0
	if asked := len(e.wait(evictPatience)); asked != evictAtOnce {
		t.Errorf("then %d are asked about", asked)
	}
	if at, ok := e.v.Due(); !ok || at != 2*evictPatience {
		t.Errorf("due at %v, %v", at, ok)
	}
}

// While the bytes of dropped copies come the evictor looks again and again, and does not rest longer.
func TestTheWaitForWhatComes(t *testing.T) {
	e := newEvicting(t, 1, 1)
	e.room = Room{Missing: 1, Coming: 1}
	e.want(e.step(Tick{}))
	for range 3 {
		e.want(e.wait(evictAgain))
	}
}

// A copy whose owner has refused leave is asked about again for the next request.
func TestARefusalCountsForOneRequest(t *testing.T) {
	e := newEvicting(t, 1, 1)
	e.room.Missing = 1
	e.want(e.step(Tick{}), Ask[int]{0, 0})
	e.room.Missing = 0
	e.want(e.step(Granted[int]{Copy: 0, Bytes: 1}), Keep[int]{0, true})
	e.room.Missing = 1
	e.want(e.step(Tick{}), Ask[int]{0, 0})
}

// Pressure from elsewhere counts until so many bytes were granted, or no copy is left to ask about.
func TestPressureFromElsewhere(t *testing.T) {
	e := newEvicting(t, 3, 3)
	e.want(e.step(Pressed{Need: 2}), Ask[int]{0, 0}, Ask[int]{1, 1})
	e.want(e.step(Pressed{Need: 1}))
	e.want(e.step(granted(0, 0)), Evict[int]{0})
	e.room.Missing = 0
	e.want(e.step(Granted[int]{Copy: 1, Shard: 1, Bytes: 1}), Keep[int]{1, true}, Ask[int]{2, 2})
	e.want(e.step(Granted[int]{Copy: 2, Shard: 2, Bytes: 1}), Keep[int]{2, true})
	e.want(e.wait(evictAgain)) // and the evictor needs it no more
	if at, ok := e.v.Due(); ok {
		t.Errorf("due at %v", at)
	}
}

// The evictor asks about one copy of a shard at a time, whatever owners answer, and where they
// grant it drops as many bytes as are missing, and no more.
func TestEvictorRandom(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		e := newEvicting(t, 30, 1+r.IntN(8))
		open := map[int]int{} // by shard
		evicted, need := 0, 0
		carry := func(out []EvictorEffect[int]) {
			for _, x := range out {
				switch x := x.(type) {
				case Ask[int]:
					if c, ok := open[x.Shard]; ok || len(open) >= 2*evictAtOnce {
						t.Fatalf("seed %d: asked about %d beside %d", seed, x.Copy, c)
					}
					open[x.Shard] = x.Copy
				case Evict[int]:
					evicted++
				}
			}
		}
		grants := 3
		for range 400 {
			switch r.IntN(4) {
			case 0:
				if need < 20 {
					need++
					e.room.Missing++
				}
				carry(e.step(Tick{}))
			case 1:
				for shard, c := range open {
					delete(open, shard)
					carry(e.step(Granted[int]{Copy: c, Shard: shard, Bytes: 1, OK: r.IntN(4) < grants}))
					break
				}
			default:
				if at, ok := e.v.Due(); ok {
					e.now = max(e.now, at)
					carry(e.step(Tick{}))
				} else if e.room.Missing > 0 && len(open) == 0 {
					t.Fatalf("seed %d: %d are missing and nothing is due", seed, e.room.Missing)
				}
			}
		}
		grants = 4
		for range 1000 {
			for shard, c := range open {
				delete(open, shard)
				carry(e.step(granted(c, shard)))
			}
			if at, ok := e.v.Due(); ok {
				e.now = max(e.now, at)
				carry(e.step(Tick{}))
			}
		}
		if evicted != need || len(e.p.idle)+len(e.p.refused)+evicted != 30 {
			t.Fatalf("seed %d: %d evicted of %d, %d idle", seed, evicted, need, len(e.p.idle)+len(e.p.refused))
		}
	}
}

// An answer to an instance that has panicked does not answer a later Ask about another copy of
// that shard.
func TestAnAnswerToAnEarlierInstance(t *testing.T) {
	e := newEvicting(t, 2, 1)
	e.room.Missing = 1
	e.want(e.step(Tick{}), Ask[int]{0, 0})
	e.want(e.step(Granted[int]{Copy: 7, Bytes: 1}), Keep[int]{7, true})
	e.want(e.step(granted(0, 0)), Evict[int]{0})
}

// After a grant the next rest is a short one again.
func TestAGrantEndsTheLongRests(t *testing.T) {
	e := newEvicting(t, 2, 1)
	e.room.Missing = 2
	no := func(c int) Granted[int] { return Granted[int]{Copy: c, Bytes: 1} }
	e.want(e.step(Tick{}), Ask[int]{0, 0})
	for _, pause := range []time.Duration{evictAgain, 2 * evictAgain} {
		e.want(e.step(no(0)), Keep[int]{0, true}, Ask[int]{1, 0})
		e.want(e.step(no(1)), Keep[int]{1, true})
		e.want(e.wait(pause), Ask[int]{0, 0})
	}
	e.want(e.step(granted(0, 0)), Evict[int]{0}, Ask[int]{1, 0})
	e.want(e.step(no(1)), Keep[int]{1, true})
	e.want(e.wait(evictAgain), Ask[int]{1, 0})
}
