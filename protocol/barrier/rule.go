package barrier

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// enter takes an entry of a barrier that fires once.
func (b *Barrier) enter(op Op) {
	if b.Doubt {
		b.emit(Answer{Nodes: []phalanx.NodeID{op.Node}, Entry: op.Entry, Attempt: op.Attempt, Verdict: Doubtful})
		return
	}
	i, known := b.index[op.Entry]
	again := known && b.Entrances[i].Phase == Withdrawn
	if again {
		if attempt := b.Entrances[i].Attempt; op.Attempt <= attempt { // a late copy of a withdrawn entry
			b.emit(Answer{Nodes: []phalanx.NodeID{op.Node}, Entry: op.Entry, Attempt: attempt, Verdict: Released})
			return
		}
		b.Entrances[i] = Entrance{Entry: op.Entry, Since: b.Now}
	}
	e, isNew := b.find(op)
	isNew = isNew || again
	e.Attempt = max(e.Attempt, op.Attempt)
	switch {
	case !isNew && e.Phase == Left && !e.Leaving: // its node was gone while it waited for its turn, and is back
		e.Phase = Waiting
		b.answer(e, Registered)
		b.Queue = append(b.Queue, e.Entry)
		b.advance(b.Now, false)
	case !isNew:
		b.answer(e, b.standing(e))
	case b.Cause != NotFired:
		b.enterLate(e)
	default:
		b.answer(e, Registered)
		b.count(e.Entry, op.At)
	}
}

// withdraw takes an entry back whose caller at a node does not wait any more. It counts no
// more if no other caller waits with it, and goes on counting once the barrier has fired.
func (b *Barrier) withdraw(op Op) {
	if b.Doubt {
		b.emit(Answer{Nodes: []phalanx.NodeID{op.Node}, Entry: op.Entry, Attempt: op.Attempt, Verdict: Doubtful})
		return
	}
	i, known := b.index[op.Entry]
	if known && b.Entrances[i].Phase != Withdrawn && (b.Entrances[i].Phase != Waiting || b.Cause != NotFired) {
		e := &b.Entrances[i]
		if e.Phase == Waiting { // for its turn
			e.Phase, e.Since = Left, b.Now
			b.unqueue(e.Entry)
			b.depart()
		}
		if e.Phase == Through { // the caller hears so, perhaps at a node that was gone meanwhile
			e.came(op.Node, op.Attempt)
		}
		if e.Phase == Left && !e.Leaving { // a late copy does not queue again
			b.entomb(Tomb{Entry: op.Entry, Node: op.Node, Attempt: op.Attempt, Verdict: Released, At: b.Now})
		}
		b.emit(Answer{Nodes: []phalanx.NodeID{op.Node}, Entry: e.Entry, Attempt: max(op.Attempt, e.Attempt), Verdict: b.standing(e)})
		return
	}
	if !known { // it was overtaken, and does not enter later
		b.index[op.Entry] = len(b.Entrances)
		b.Entrances = append(b.Entrances, Entrance{Entry: op.Entry, Attempt: op.Attempt, Phase: Withdrawn, Since: b.Now})
	} else if e := &b.Entrances[i]; !e.later(op) { // and has not entered again
		e.Attempt = max(e.Attempt, op.Attempt)
		was := len(e.Nodes)
		if e.went(op.Node); was > 0 && len(e.Nodes) == 0 {
			e.Phase, e.Since = Withdrawn, b.Now
			b.uncount(e.Unit())
		}
	}
	b.emit(Answer{Nodes: []phalanx.NodeID{op.Node}, Entry: op.Entry, Attempt: op.Attempt, Verdict: Released})
}

// later reports whether a later attempt of the node has come than op's.
func (e *Entrance) later(op Op) bool {
	i := slices.Index(e.Nodes, op.Node)
	return i >= 0 && e.Tries[i] > op.Attempt
}

// uncount takes an entry of a unit back. A barrier without any begins anew with the next one.
func (b *Barrier) uncount(unit string) {
	if b.units[unit]--; b.units[unit] > 0 {
		return
	}
	delete(b.units, unit)
	b.Units--
	b.Enough = b.Enough && b.enough(b.cfg.Percent)
	if b.Units == 0 {
		b.Begun, b.Began, b.Enough, b.Asks, b.AskedAt, b.Detector, b.Late = false, 0, false, nil, 0, Detector{}, 0
	}
}

// deserted reports whether a barrier is as new to the next participant: all earlier ones have
// withdrawn, or their nodes are gone, also if it has fired.
func (b *Barrier) deserted() bool {
	return !b.Doubt && !b.cfg.Semaphore.on() && !b.State.peopled()
}

// over reports whether no node waits for anything of the barrier. A barrier with callbacks waits
// for entries.
func (b *Barrier) over() bool {
	if b.cfg.Semaphore.on() {
		return len(b.Holders)+len(b.Queue)+len(b.Asks) == 0
	}
	return b.Cause != NotFired && len(b.Queue) == 0 && !b.inside() || !b.State.peopled() && b.Watcher == ""
}

// idle reports whether no participant waits to come in, though some may be inside.
func (b *Barrier) idle() bool {
	return b.over() || b.cfg.Double && b.Cause != NotFired && len(b.Queue) == 0
}

// count counts an entry's unit, unless another entry of it came before.
func (b *Barrier) count(e Entry, came time.Duration) {
	if b.units[e.Unit()]++; b.units[e.Unit()] == 1 {
		b.Units++
		b.Detector.Arrive(max(0, came-b.Began))
	}
	b.happened(Happened{What: Entered, Entry: e})
	switch why := b.ready(); {
	case b.cfg.Callback:
		b.Enough = b.Enough || why == ByPercent
		b.ask(Asked{Entry: e, WouldRelease: why != NotFired})
	case why != NotFired:
		b.fire(why)
	}
}

func (b *Barrier) enterLate(e *Entrance) {
	e.Late = true
	b.happened(Happened{What: CameLate, Entry: e.Entry})
	switch {
	case b.cfg.Late == CatchUp:
		e.Phase = TurnedOut
		b.answer(e, Behind)
	case b.cfg.Throttle.on():
		b.answer(e, Registered)
		b.Queue = append(b.Queue, e.Entry) // a late one does not go around the throttle
		b.advance(b.Now, false)
	default:
		e.Phase, e.Passed = Through, true
		b.answer(e, LateFire)
	}
}

// enough reports whether p percent are there.
func (b *Barrier) enough(p int) bool { return 100*b.Units >= p*b.cfg.Max }

// ready returns why the barrier would fire now (barrier specification 2.1, 2.3).
func (b *Barrier) ready() Cause {
	switch {
	case b.Units >= b.cfg.Max:
		return ByMax
	case b.cfg.Percent > 0 && b.enough(b.cfg.Percent) && b.Now-b.Began >= b.cfg.MinWait:
		return ByPercent
	}
	return NotFired
}

// pending reports whether there are participants, and the barrier has not fired.
func (b *Barrier) pending() bool {
	return b.Begun && b.Cause == NotFired && !b.cfg.Semaphore.on()
}

// timeoutDue is when the timeout (barrier specification 2.2) fires the barrier.
func (b *Barrier) timeoutDue() (time.Duration, bool) {
	return b.Began + b.cfg.Timeout, b.pending() && b.cfg.Timeout > 0
}

// enoughDue is when MinWait has passed and enough are there.
func (b *Barrier) enoughDue() (time.Duration, bool) {
	return b.Began + b.cfg.MinWait, b.pending() && !b.Enough && b.cfg.Percent > 0 && b.enough(b.cfg.Percent)
}

// A knee is found so much later than the next entry should have come: news of that entry may
// still be on its way, as long as news of earlier ones took.
const (
	lateTimes = 4
	lateMost  = 50 * time.Millisecond // news that took longer was held up
)

// kneeDue is when the next entry should have come, if a knee counts by then: a knee that
// is found before Knee.Time counts from then on.
func (b *Barrier) kneeDue() (time.Duration, bool) {
	t, open := b.Detector.Threshold()
	return max(b.Now, b.Began+max(t+lateTimes*b.Late, b.cfg.Knee.Time)), open && b.pending() && b.cfg.Knee.on() && b.enough(b.cfg.Knee.Percent)
}

// propose fires the barrier, or asks whether it is to fire.
func (b *Barrier) propose(e Entry, why Cause) {
	if b.cfg.Callback {
		b.ask(Asked{Entry: e, WouldRelease: true, Knee: why == ByKnee})
		return
	}
	b.fire(why)
}

// fire lets the participants through, all or the first ones.
func (b *Barrier) fire(why Cause) {
	if b.Cause != NotFired {
		return
	}
	b.Cause, b.FiredAt, b.Fired = why, b.Now, b.Units
	b.Asks = nil
	var lost []string
	for i := range b.Entrances {
		e := &b.Entrances[i]
		if e.Phase == Withdrawn {
			continue
		}
		if len(e.Nodes) == 0 {
			lost = append(lost, e.Unit())
		}
		if b.cfg.Throttle.on() {
			b.Queue = append(b.Queue, e.Entry)
			continue
		}
		e.Phase, e.Passed = Through, true
	}
	b.happened(Happened{What: HasFired, Cause: why, Absent: b.Absent(), Lost: lost, Missing: max(0, b.cfg.Max-b.Units)})
	if b.cfg.Throttle.on() {
		b.letThrough()
		return
	}
	for i := range b.Entrances {
		if e := &b.Entrances[i]; e.Phase != Withdrawn {
			b.answer(e, Fire)
		}
	}
}

// batchDue is when a throttle lets the next ones through.
func (b *Barrier) batchDue() (time.Duration, bool) {
	return max(b.Now, b.Next), len(b.Queue) > 0 && b.Cause != NotFired && b.cfg.Throttle.on()
}

// letThrough lets through the next ones of the queue.
func (b *Barrier) letThrough() {
	n := min(b.cfg.batch(), len(b.Queue))
	for _, e := range b.Queue[:n] {
		e := &b.Entrances[b.index[e]]
		e.Phase, e.Passed = Through, true
		b.answer(e, b.standing(e))
	}
	b.Queue = slices.Delete(b.Queue, 0, n)
	b.Next = b.Now + b.cfg.Throttle.Period
	b.depart() // these may be gone already
}
