package memory

import (
	"fmt"
	"time"
)

// Queue has the uses of a node's memory, and the requests that wait for some.
//
// Invariant: after each Step, unless a request has its turn, no request waits whose
// bytes are free.
type Queue struct {
	cfg     Config
	used    int64 // Invariant: >= 0; more than the cap only by Taken
	lasting int64 // of used, roughly: bytes that are reported later count until then

	waiting map[uint64]*request
	line    line
	bytes   int64 // of all that wait
	wanted  int64 // of requests that can be met
	sizes   map[int64]int

	turns    []due         // requests and when they get a turn, the first one first
	turn     *request      // has its turn
	turnEnds time.Duration // if there is one
	open     time.Duration // until then no request gets a turn
}

// due is a request that gets a turn at some time.
type due struct {
	r  *request
	at time.Duration
}

// looks is how many requests one Step considers for a turn at most.
const looks = 64

// New returns a Queue of memory that is free.
func New(cfg Config) *Queue {
	return &Queue{cfg: cfg.withDefaults(), waiting: map[uint64]*request{}, sizes: map[int64]int{}}
}

// Used returns how many bytes are taken.
func (q *Queue) Used() int64 { return q.used }

// Waiting returns how many requests wait, and for how many bytes.
func (q *Queue) Waiting() (requests int, bytes int64) { return q.line.len, q.bytes }

// Waits reports whether a request for so many bytes waits.
func (q *Queue) Waits(bytes int64) bool { return q.sizes[bytes] > 0 }

// Turn reports whether a request has its turn.
func (q *Queue) Turn() bool { return q.turn != nil }

// Need returns how many bytes have to be evicted: for waiting requests that can be met,
// and for the bytes above the cap. It is not positive if there are none.
func (q *Queue) Need() int64 { return q.used - q.cfg.Cap + q.wanted }

// Due returns when the next Tick is due; false if none is.
func (q *Queue) Due() (time.Duration, bool) {
	switch {
	case q.turn != nil:
		return q.turnEnds, true
	case len(q.turns) > 0:
		return max(q.turns[0].at, q.open), true
	}
	return 0, false
}

// Step applies ev and returns the effects, in the order of execution.
func (q *Queue) Step(now time.Duration, ev Event) (effects []Effect) {
	switch e := ev.(type) {
	case Ask:
		return q.ask(now, e)
	case Gone:
		if r := q.waiting[e.ID]; r != nil {
			q.leave(now, r)
		}
	case Taken:
		q.used += e.Bytes
		return nil
	case Freed:
		if e.Bytes < 0 || e.Bytes > q.used {
			panic(fmt.Sprintf("memory: %d of %d bytes are given back", e.Bytes, q.used))
		}
		q.used -= e.Bytes
	case Lasts:
		q.lasting += e.Bytes
		return nil // a request that can be met again is noticed when it may have its next turn
	}
	return q.serve(now, nil)
}

func (q *Queue) ask(now time.Duration, e Ask) []Effect {
	switch {
	case e.Bytes > q.cfg.Cap:
		return []Effect{Refuse{e.ID, OverCap}}
	case e.Bytes == 0, q.fits(e.Bytes) && (q.turn == nil || e.Patience == Takes):
		q.used += e.Bytes
		return []Effect{Grant{e.ID}}
	case e.Patience == Tries, e.Patience == Takes:
		return []Effect{Refuse{e.ID, NotFree}}
	case e.Patience == Bounded && !q.possible(e.Bytes):
		return []Effect{Refuse{e.ID, Lasting}}
	}
	r := &request{id: e.ID, bytes: e.Bytes}
	q.waiting[r.id] = r
	q.line.add(r)
	q.bytes += r.bytes
	q.sizes[r.bytes]++
	q.turns = append(q.turns, due{r, now + q.cfg.Patience})
	effects := q.consider(r, nil)
	return q.serve(now, effects)
}

func (q *Queue) fits(bytes int64) bool { return q.used+bytes <= q.cfg.Cap }

// possible reports whether so many bytes fit beside the memory that lasts.
func (q *Queue) possible(bytes int64) bool { return bytes <= q.cfg.Cap-q.lasting }

// consider notes whether r can be met.
func (q *Queue) consider(r *request, effects []Effect) []Effect {
	switch can := q.possible(r.bytes); {
	case can && !r.counted:
		r.counted = true
		q.wanted += r.bytes
		effects = append(effects, Evict{})
	case !can && r.counted:
		r.counted = false
		q.wanted -= r.bytes
	}
	return effects
}

// leave takes r out, whether it is met or has gone.
func (q *Queue) leave(now time.Duration, r *request) {
	r.gone = true
	delete(q.waiting, r.id)
	q.line.remove(r)
	q.bytes -= r.bytes
	if q.sizes[r.bytes]--; q.sizes[r.bytes] == 0 {
		delete(q.sizes, r.bytes)
	}
	if r.counted {
		q.wanted -= r.bytes
	}
	if q.turn == r {
		q.endTurn(now)
	}
	if q.line.len == 0 {
		q.turns = nil
	}
}

func (q *Queue) endTurn(now time.Duration) { q.turn, q.open = nil, now+q.cfg.Pause }

// serve meets all requests that can be met now, and gives the next turn.
func (q *Queue) serve(now time.Duration, effects []Effect) []Effect {
	grant := func(r *request) {
		q.leave(now, r)
		q.used += r.bytes
		effects = append(effects, Grant{r.id})
	}
	if r := q.turn; r != nil {
		switch {
		case q.fits(r.bytes):
			grant(r)
		case now >= q.turnEnds || !q.possible(r.bytes):
			q.turns = append(q.turns, due{r, now + q.cfg.Patience})
			q.endTurn(now)
		default:
			return effects
		}
	}
	for r := q.line.first(q.cfg.Cap - q.used); r != nil; r = q.line.first(q.cfg.Cap - q.used) {
		grant(r)
	}
	for looked := 0; looked < looks && q.turn == nil && now >= q.open && len(q.turns) > 0 && q.turns[0].at <= now; {
		r := q.turns[0].r
		q.turns = q.turns[1:]
		if r.gone {
			continue
		}
		looked++
		if effects = q.consider(r, effects); r.counted {
			q.turn, q.turnEnds = r, now+q.cfg.Turn
		} else {
			q.turns = append(q.turns, due{r, now + q.cfg.Patience})
		}
	}
	return effects
}

// String describes the queue for tests.
func (q *Queue) String() string {
	s := fmt.Sprintf("%d of %d used, %d last, %d wait for %d, need %d", q.used, q.cfg.Cap, q.lasting, q.line.len, q.bytes, q.Need())
	if q.turn != nil {
		s += fmt.Sprintf(", %d has its turn until %v", q.turn.id, q.turnEnds)
	}
	return s
}
