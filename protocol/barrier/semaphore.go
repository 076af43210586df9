package barrier

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// enterSemaphore takes an entry of a semaphore. A later attempt of the same entry
// takes the place of the one before, whatever became of that.
func (b *Barrier) enterSemaphore(op Op) {
	e, isNew := b.find(op)
	switch {
	case isNew || op.Attempt > e.Attempt && (e.Phase == Left || e.Phase == Expired):
		e.Attempt, e.Phase, e.Since = op.Attempt, Waiting, b.Now
		b.Units++
		b.happened(Happened{What: Entered, Entry: e.Entry})
		if op.Holds {
			b.hold(e)
			return
		}
		b.answer(e, Registered)
		b.Queue = append(b.Queue, e.Entry)
		b.admit()
	case op.Attempt > e.Attempt:
		e.Attempt = op.Attempt
		if op.Holds && e.Phase == Waiting {
			b.unqueue(e.Entry)
			b.hold(e)
			return
		}
		b.answer(e, b.standing(e))
	case op.Attempt < e.Attempt:
		b.answer(e, b.standing(e)) // with the greater attempt, so that it tries with a yet greater one
	default:
		if op.Holds && e.Phase == Waiting {
			b.unqueue(e.Entry)
			b.hold(e)
			return
		}
		b.answer(e, b.standing(e))
	}
}

// level is how many may hold the semaphore now.
func (b *Barrier) level() int { return b.Adaptive.Level }

// limit is how many may ever hold it.
func (b *Barrier) limit() int { return max(b.cfg.Semaphore.Count, b.cfg.Semaphore.Cap) }

// admit lets waiting entries through, as long as there is room. An entry that has left still
// takes its room while a callback is asked about it.
func (b *Barrier) admit() {
	for len(b.Queue) > 0 && len(b.Holders)+len(b.Asks) < b.level() {
		e := &b.Entrances[b.index[b.Queue[0]]]
		b.Queue = slices.Delete(b.Queue, 0, 1)
		b.hold(e)
	}
}

func (b *Barrier) hold(e *Entrance) {
	e.Phase, e.Since, e.Passed = Through, b.Now, true
	b.Holders = append(b.Holders, e.Entry)
	b.answer(e, Fire)
}

func (b *Barrier) unqueue(e Entry) {
	b.Queue = slices.DeleteFunc(b.Queue, func(q Entry) bool { return q == e })
}

// release takes note that an entry does not hold the semaphore, or wait for it, any
// more. An entry whose time had run out frees nothing. An entry that has not come, because
// its release overtook it, is not let in later.
func (b *Barrier) release(op Op) {
	e, isNew := b.find(op)
	switch {
	case isNew:
		e.Phase, e.Since = Left, b.Now
	case op.Attempt < e.Attempt:
		b.emit(Answer{Nodes: []phalanx.NodeID{op.Node}, Entry: op.Entry, Attempt: op.Attempt, Verdict: Released})
		return
	case op.Attempt > e.Attempt && e.Phase == Expired:
		e.Phase = Left
	}
	e.Attempt = op.Attempt
	switch e.Phase {
	case Waiting:
		e.Phase, e.Since = Left, b.Now
		b.unqueue(e.Entry)
	case Through:
		took := b.Now - e.Since
		e.Phase, e.Since = Left, b.Now
		b.free(e.Entry, took)
	}
	b.answer(e, b.standing(e))
}

// free takes a holder out, which has taken so long.
func (b *Barrier) free(e Entry, took time.Duration) {
	b.Holders = slices.DeleteFunc(b.Holders, func(h Entry) bool { return h == e })
	switch {
	case b.cfg.Semaphore.Adaptive:
		b.Adaptive.Done(took, b.limit())
	case b.cfg.Semaphore.Callback:
		b.ask(Asked{Entry: e, Releasing: true, Suggest: 1})
	}
	b.admit()
}

// holderDue is when the longest holder of the semaphore has held it for too long.
func (b *Barrier) holderDue() (time.Duration, bool) {
	if len(b.Holders) == 0 || b.cfg.Semaphore.Timeout == 0 {
		return 0, false
	}
	return b.Entrances[b.index[b.Holders[0]]].Since + b.cfg.Semaphore.Timeout, true
}

func (b *Barrier) expire() {
	e := &b.Entrances[b.index[b.Holders[0]]]
	took := b.Now - e.Since
	e.Phase, e.Since = Expired, b.Now
	b.happened(Happened{What: HolderExpired, Entry: e.Entry, After: took})
	b.answer(e, TimedOut)
	b.free(e.Entry, took)
}

// gone takes note that a node is no member any more. Its waiting entries leave the queue, and
// its holds are free.
func (b *Barrier) gone(node phalanx.NodeID) {
	if b.Watcher == node {
		b.Watcher = ""
	}
	for i := range b.Entrances {
		e := &b.Entrances[i]
		was := len(e.Nodes)
		e.went(node)
		if was == 0 || len(e.Nodes) > 0 {
			continue
		}
		switch holder := b.cfg.Semaphore.on(); {
		case e.Phase == Waiting && (holder || b.Cause != NotFired):
			e.Phase, e.Since = Left, b.Now
			b.unqueue(e.Entry)
		case e.Phase == Through && holder:
			b.happened(Happened{What: HolderGone, Entry: e.Entry, After: b.Now - e.Since})
			e.Phase, e.Since = Expired, b.Now
			b.Holders = slices.DeleteFunc(b.Holders, func(h Entry) bool { return h == e.Entry })
		}
	}
	b.admit()
	b.depart()
}

// A barrier remembers entries that have left a semaphore, or have withdrawn, for as long as
// their messages may be on their way.
const (
	leftFor    = time.Minute
	sweepEvery = 10 * time.Second
)

// sweep forgets entries that have left long ago.
func (b *Barrier) sweep() {
	if b.Now-b.Swept < sweepEvery {
		return
	}
	b.Swept = b.Now
	b.Entrances = slices.DeleteFunc(b.Entrances, func(e Entrance) bool {
		gone := e.Phase == Withdrawn || b.cfg.Semaphore.on() && (e.Phase == Left || e.Phase == Expired)
		return gone && b.Now-e.Since > leftFor
	})
	b.reindex()
	b.sweepTombs()
}

func (b *Barrier) reindex() {
	clear(b.index)
	for i, e := range b.Entrances {
		b.index[e.Entry] = i
	}
}

// freeUnclaimed releases entries of semaphores that no member has a participant for: a former
// backup that has not heard of their release may be the last one that knows the semaphore. A host
// whose actor was restarted gives the Core its participants before the view.
func (c *Core) freeUnclaimed(found []finding) {
	claimed := map[Key]map[Entry]bool{}
	for _, f := range found {
		for _, m := range f.reached {
			if claimed[m.Key] == nil {
				claimed[m.Key] = map[Entry]bool{}
			}
			for _, q := range m.Requests {
				claimed[m.Key][q.Entry] = true
			}
		}
	}
	for _, k := range c.keys() {
		r := c.replicas[k]
		if c.primary(k) != c.view.Self || !r.b.cfg.Semaphore.on() {
			continue
		}
		for _, e := range r.b.Entrances {
			if (e.Phase == Waiting || e.Phase == Through) && len(e.Nodes) > 0 && !claimed[k][e.Entry] {
				r.pending = append(r.pending, Op{Kind: OpRelease, Node: e.Nodes[0], Entry: e.Entry, Attempt: e.Attempt})
				c.wake(r)
			}
		}
	}
}
