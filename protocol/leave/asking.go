package leave

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

const (
	usualAtOnce = 16
	smallAtOnce = 16
	askAgain    = 100 * time.Millisecond
	countFor    = time.Second
	standstill  = 200 * time.Millisecond // of small copies: then large ones are asked about beside them
)

// asking keeps the copies about which the node has asked owners, and the queue of further ones.
// The work for each copy does not grow with their number.
//
// The node asks about a limited number of copies at a time, of one shard after the other,
// small ones first. A copy that is not answered for a second, since its owner is silent or
// no member has room for it, does not count against the limit any more, so that it holds
// up no other. An owner that has said nothing at all is not asked about further copies.
type asking struct {
	small, large line
	asked        map[Copy]*ask
	recent       []*ask       // in order; they count, unless they are over
	later        []*ask       // asked about in vain, in the order in which they are asked about again
	quiet        map[int]bool // shards whose owners have not answered
	num          uint64
	went         time.Duration // when others last had a small copy, or the first of them was asked about
}

// ask is a copy that was asked about.
type ask struct {
	Copy
	num    uint64
	at     time.Duration  // when it was asked; if later, when it is asked about again
	counts bool           // against the limit of its line
	later  bool           // its owner has turned it away, and is asked again at at
	waits  phalanx.NodeID // the owner that has said that it waits for others to keep it
}

// line holds the copies, small or large ones, that are to be asked about.
type line struct {
	most, now int // how many may count against the limit, and how many do
	queues    map[int][]Copy
	turn      []int // shards with a queue, the next one first
}

func newAsking(atOnce int) asking {
	if atOnce == 0 {
		atOnce = usualAtOnce
	}
	return asking{small: newLine(atOnce * smallAtOnce), large: newLine(atOnce), asked: map[Copy]*ask{}, quiet: map[int]bool{}}
}

func newLine(most int) line { return line{most: most, queues: map[int][]Copy{}} }

func (l *line) add(cp Copy) {
	if len(l.queues[cp.Shard]) == 0 {
		l.turn = append(l.turn, cp.Shard)
	}
	l.queues[cp.Shard] = append(l.queues[cp.Shard], cp)
}

// next takes the first copy of the next shard that is not quiet.
func (l *line) next(quiet map[int]bool) (cp Copy, ok bool) {
	for range len(l.turn) {
		shard := l.turn[0]
		l.turn = l.turn[1:]
		if quiet[shard] {
			l.turn = append(l.turn, shard)
			continue
		}
		q := l.queues[shard]
		if l.queues[shard] = q[1:]; len(q) > 1 {
			l.turn = append(l.turn, shard)
		} else {
			delete(l.queues, shard)
		}
		return q[0], true
	}
	return Copy{}, false
}

func (a *asking) lineOf(cp Copy) *line {
	if cp.Small {
		return &a.small
	}
	return &a.large
}

// queue replaces the queue of copies. Requests that were made already stay.
func (a *asking) queue(copies []Copy) {
	a.small, a.large = a.emptied(a.small), a.emptied(a.large)
	for _, cp := range copies {
		if a.asked[cp] == nil {
			a.lineOf(cp).add(cp)
		}
	}
}

func (a *asking) emptied(l line) line {
	n := newLine(l.most)
	n.now = l.now
	return n
}

// next returns a copy to ask about now.
func (a *asking) next(now time.Duration) (Copy, bool) {
	for _, l := range []*line{&a.small, &a.large} {
		if l.now >= l.most {
			if l == &a.small && now >= a.went+standstill {
				continue
			}
			return Copy{}, false // a large one would hold up the small ones
		}
		if cp, ok := l.next(a.quiet); ok {
			if a.num++; l == &a.small && a.went == 0 {
				a.went = now
			}
			l.now++
			k := &ask{Copy: cp, num: a.num, at: now, counts: true}
			a.asked[cp] = k
			a.recent = append(a.recent, k)
			return cp, true
		}
	}
	return Copy{}, false
}

// uncount takes k out of the count against the limit.
func (a *asking) uncount(k *ask) {
	if k.counts {
		k.counts = false
		a.lineOf(k.Copy).now--
	}
}

// pass lets time pass: copies that were not answered for a second do not count any more,
// and copies whose turn has come are queued again.
func (a *asking) pass(now time.Duration) {
	for len(a.recent) > 0 && (!a.recent[0].counts || now >= a.recent[0].at+countFor) {
		k := a.recent[0]
		a.recent = a.recent[1:]
		if k.counts && !k.later {
			a.uncount(k)
			a.quiet[k.Shard] = a.quiet[k.Shard] || k.waits == ""
		}
	}
	for len(a.later) > 0 && now >= a.later[0].at {
		k := a.later[0]
		a.later = a.later[1:]
		a.uncount(k)
		delete(a.asked, k.Copy)
		a.lineOf(k.Copy).add(k.Copy)
	}
}

// due returns when pass has something to do.
func (a *asking) due(now time.Duration) (at time.Duration, ok bool) {
	if len(a.later) > 0 {
		at, ok = a.later[0].at, true
	}
	sooner := func(t time.Duration) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	if len(a.recent) > 0 {
		sooner(a.recent[0].at + countFor)
	}
	if still := a.went + standstill; a.small.now >= a.small.most && a.large.now < a.large.most && len(a.large.turn) > 0 && now < still {
		sooner(still)
	}
	return at, ok
}

// waits notes that the owner of a copy waits until others keep it.
func (a *asking) waits(cp Copy, owner phalanx.NodeID) {
	if k := a.asked[cp]; k != nil {
		k.waits = owner
		delete(a.quiet, cp.Shard)
	}
}

// answered notes the answer about a copy, and reports whether one was expected. With
// again, the copy is asked about once more after askAgain.
func (a *asking) answered(cp Copy, now time.Duration, again bool) bool {
	k := a.asked[cp]
	if k == nil || k.later {
		return false
	}
	delete(a.quiet, cp.Shard)
	if again {
		k.at, k.later = now+askAgain, true
		a.later = append(a.later, k)
		return true
	}
	if cp.Small {
		a.went = now
	}
	a.uncount(k)
	delete(a.asked, cp)
	return true
}

// gone forgets the request about a copy that is not here any more.
func (a *asking) gone(k *ask) {
	a.uncount(k)
	delete(a.asked, k.Copy)
	a.later = slices.DeleteFunc(a.later, func(l *ask) bool { return l == k })
}

// moved notes the shards with new owners: new owners have not been silent yet.
func (a *asking) moved(was, is []phalanx.NodeID) {
	changed := map[int]bool{}
	for i := range is {
		if i >= len(was) || was[i] != is[i] {
			delete(a.quiet, i)
			changed[i] = true
		}
	}
	if len(changed) == 0 {
		return
	}
	for _, k := range a.asked {
		if changed[k.Shard] {
			k.waits = ""
		}
	}
}

// any reports whether a copy is not asked about yet, or not answered.
func (a *asking) any() bool { return len(a.asked)+len(a.small.turn)+len(a.large.turn) > 0 }

// open returns the unanswered requests, in the order in which they were made.
func (a *asking) open() []*ask {
	return slices.SortedFunc(maps.Values(a.asked), func(x, y *ask) int { return cmp.Compare(x.num, y.num) })
}

// clear forgets everything.
func (a *asking) clear() {
	a.small, a.large = newLine(a.small.most), newLine(a.large.most)
	a.recent, a.later, a.went = nil, nil, 0
	clear(a.asked)
	clear(a.quiet)
}
