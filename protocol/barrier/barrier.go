package barrier

import (
	"slices"
	"time"
)

// Barrier is one barrier.
//
// Invariant: of a unit the first entry alone counts.
// Invariant: len(Holders) plus the releases that are asked about is at most the
// semaphore's level, but for entries that were told to hold it already.
type Barrier struct {
	cfg Config
	State
	index   map[Entry]int  // of Entrances
	tombs   map[grave]int  // of Tombs
	units   map[string]int // of each that counts, how many entries it has
	effects []Effect
	news    bool          // a participant has entered since the last OpAdvance
	oldest  time.Duration // and the first of them came then
	stayer  int           // of Entrances: it was inside a double barrier, and did not leave
	closed  bool          // it is over, and only that is to be remembered
}

// New returns a barrier without entries. The Config must be valid.
func New(cfg Config) *Barrier {
	b := &Barrier{cfg: cfg, index: map[Entry]int{}, units: map[string]int{}}
	b.Adaptive.Level = cfg.Semaphore.Count
	return b
}

// Restore returns a barrier with the state of another one, which it takes over.
func Restore(cfg Config, s State) *Barrier {
	b := &Barrier{cfg: cfg, State: s, index: map[Entry]int{}, units: map[string]int{}}
	b.bury()
	for i, e := range s.Entrances {
		b.index[e.Entry] = i
		if !e.Late && e.Phase != Withdrawn && !cfg.Semaphore.on() {
			b.units[e.Unit()]++
		}
	}
	return b
}

// Config returns the barrier's configuration.
func (b *Barrier) Config() Config { return b.cfg }

// Apply makes a change, after all changes that time has brought about until then, and returns
// the effects. Only OpAdvance looks for knees: the primary first makes all changes that came
// together.
func (b *Barrier) Apply(op Op) []Effect {
	b.effects = nil
	b.advance(op.At, op.Kind == OpAdvance)
	switch op.Kind {
	case OpAdvance:
		if b.news {
			b.news = false
			b.Late = min(max(b.Late, op.At-b.oldest), lateMost)
		}
	case OpRemove:
		b.remove(op)
	case OpLeave:
		if !b.was(op) {
			b.leave(op)
		}
	case OpEnter:
		if b.was(op) {
			break
		}
		if b.cfg.Semaphore.on() {
			b.enterSemaphore(op)
			break
		}
		if !b.news || op.At < b.oldest {
			b.news, b.oldest = true, op.At
		}
		b.enter(op)
	case OpRelease:
		if b.was(op) {
			break
		}
		if b.cfg.Semaphore.on() {
			b.release(op)
		} else {
			b.withdraw(op)
		}
	case OpWatch:
		b.watch(op.Node)
	case OpUnwatch:
		if b.Watcher == op.Node {
			b.Watcher = ""
		}
	case OpVerdict:
		b.verdict(op)
	case OpGone:
		b.gone(op.Node)
	case OpClose:
		b.closed = b.idle()
	}
	if op.Kind != OpClose && op.Kind != OpAdvance {
		b.closed = false
	}
	b.sweep()
	return b.effects
}

// Due returns when time alone changes something.
func (b *Barrier) Due() (at time.Duration, ok bool) { return b.due(true) }

func (b *Barrier) due(knees bool) (at time.Duration, ok bool) {
	for _, f := range []func() (time.Duration, bool){b.timeoutDue, b.enoughDue, b.askDue, b.gapDue, b.batchDue, b.holderDue, b.tombsDue} {
		if d, some := f(); some && (!ok || d < at) {
			at, ok = d, true
		}
	}
	if d, some := b.kneeDue(); knees && some && (!ok || d < at) {
		at, ok = d, true
	}
	return at, ok
}

// advance lets time pass, one thing after the other, with knees or without.
func (b *Barrier) advance(to time.Duration, knees bool) {
	for {
		at, ok := b.due(knees)
		if !ok || at > to {
			break
		}
		b.Now = max(b.Now, at)
		is := func(f func() (time.Duration, bool)) bool { d, ok := f(); return ok && d == at }
		switch { // where several are due, a timeout cannot be vetoed, and a callback that was asked comes before what it is asked about
		case is(b.timeoutDue):
			b.fire(ByTimeout)
		case is(b.askDue):
			b.unanswered()
		case is(b.enoughDue):
			b.Enough = true
			b.propose(Entry{}, ByPercent)
		case knees && is(b.kneeDue):
			b.Detector.Found()
			b.happened(Happened{What: KneeFound})
			b.propose(Entry{}, ByKnee)
		case is(b.gapDue):
			b.ask(Asked{WouldRelease: b.ready() != NotFired})
		case is(b.batchDue):
			b.letThrough()
		case is(b.holderDue):
			b.expire()
		case is(b.tombsDue):
			b.sweepTombs()
		}
	}
	b.Now = max(b.Now, to)
}

func (b *Barrier) emit(e Effect) { b.effects = append(b.effects, e) }

func (b *Barrier) happened(h Happened) {
	h.N, h.Max = b.Units, b.cfg.Max
	if h.After == 0 && b.Begun {
		h.After = b.Now - b.Began
	}
	b.emit(h)
}

func (b *Barrier) answer(e *Entrance, v Verdict) {
	b.emit(Answer{Nodes: slices.Clone(e.Nodes), Entry: e.Entry, Attempt: e.Attempt, Verdict: v})
}

// standing is the verdict on an entry that came before.
func (b *Barrier) standing(e *Entrance) Verdict {
	switch e.Phase {
	case Through:
		if e.Leaving {
			return Leaving
		}
		if e.Late {
			return LateFire
		}
		return Fire
	case TurnedOut:
		return Behind
	case Left, Withdrawn:
		if e.Leaving {
			return Departed
		}
		return Released
	case Expired:
		return TimedOut
	}
	return Registered
}

// Lookup returns how an entry stands.
func (b *Barrier) Lookup(e Entry) (Verdict, bool) {
	i, ok := b.index[e]
	if !ok {
		return 0, false
	}
	return b.standing(&b.Entrances[i]), true
}

// find returns the entry's entrance, which is made if there is none.
func (b *Barrier) find(op Op) (e *Entrance, isNew bool) {
	i, ok := b.index[op.Entry]
	if !ok {
		i = len(b.Entrances)
		b.index[op.Entry] = i
		b.Entrances = append(b.Entrances, Entrance{Entry: op.Entry, Attempt: op.Attempt, Since: b.Now})
	}
	e = &b.Entrances[i]
	e.came(op.Node, op.Attempt)
	if !b.Begun {
		b.Begun, b.Began = true, b.Now
	}
	return e, !ok
}

// Absent returns the units of Expect that have not come.
func (b *Barrier) Absent() []string {
	var absent []string
	for _, u := range b.cfg.Expect {
		if b.units[u] == 0 {
			absent = append(absent, u)
		}
	}
	return absent
}
