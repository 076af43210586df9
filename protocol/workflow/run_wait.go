package workflow

import (
	"fmt"
	"slices"

	"github.com/phalanx-go/phalanx"
)

// Bounds of the signals of a run (workflow specification 2.1: those of events that do not wait yet are kept).
const (
	MaxSignal      = 64 << 10 // bytes of one; send a Ref to what is larger
	MaxSignalName  = 1 << 10  // bytes of its name, and of its id
	MaxSignals     = 10_000   // of a run
	MaxSignalBytes = 16 << 20 // of all signals of a run
	mostLate       = 1_000    // signals that wait for a record, to hear that they do not count
)

var errLate = fmt.Errorf("%w: too many signals wait for the ledger: try again", phalanx.ErrNoSpace)

// signals are those that count, by name.
//
// Invariant: bytes is the sum of their bytes.
type signals struct {
	by    map[string]*signal
	bytes int
	wakes map[string][]int // the events that have begun to wait for a name
	late  []Signal         // that have come after Closed was written
}

// signal is the one that counts for its name.
type signal struct {
	id      string
	bytes   []byte
	durable bool
	others  []string // ids of those that have come before it was durable, and do not count
}

func (s *signals) put(rec Signalled) *signal {
	if s.by == nil {
		s.by = map[string]*signal{}
	}
	taken := &signal{id: rec.ID, bytes: rec.Bytes}
	s.by[rec.Name] = taken
	s.bytes += len(rec.Bytes)
	return taken
}

// refuses says why a signal whose name is new cannot be taken.
func (s *signals) refuses(ev Signal) error {
	switch {
	case ev.Name == "" || len(ev.Name) > MaxSignalName || len(ev.ID) > MaxSignalName:
		return fmt.Errorf("%w: the name of a signal has 1 to %d bytes, and its id as many at most", phalanx.ErrInvalid, MaxSignalName)
	case len(ev.Bytes) > MaxSignal:
		return fmt.Errorf("%w: the signal %s has %d bytes, more than %d: send a Ref", phalanx.ErrInvalid, ev.Name, len(ev.Bytes), MaxSignal)
	case len(s.by) >= MaxSignals || s.bytes+len(ev.Bytes) > MaxSignalBytes:
		return fmt.Errorf("%w: the run has %d signals of %d bytes, and takes %d of %d", phalanx.ErrNoSpace, len(s.by), s.bytes, MaxSignals, MaxSignalBytes)
	}
	return nil
}

// signal takes a signal: the first of a name counts. It is answered once that is durable.
func (r *Run) signal(ev Signal) {
	answer := func(id string, err error) { r.emit(SignalTaken{Name: ev.Name, ID: id, Err: err}) }
	other := fmt.Errorf("%w: another signal %s has come before", phalanx.ErrExists, ev.Name)
	switch old := r.signals.by[ev.Name]; {
	case old != nil && old.durable && old.id == ev.ID:
		answer(ev.ID, nil)
		return
	case old != nil && old.durable:
		answer(ev.ID, other)
		return
	case old != nil: // the answer to the first is under way
		switch {
		case old.id == ev.ID || slices.Contains(old.others, ev.ID):
		case len(old.others) < mostLate:
			old.others = append(old.others, ev.ID)
		default:
			answer(ev.ID, errLate)
		}
		return
	case r.closed:
		r.refuse(ev)
		return
	case r.over && len(r.signals.late) < mostLate:
		r.signals.late = append(r.signals.late, ev)
		return
	case r.over:
		answer(ev.ID, errLate)
		return
	}
	if err := r.signals.refuses(ev); err != nil {
		answer(ev.ID, err)
		return
	}
	rec := Signalled(ev)
	s := r.signals.put(rec)
	r.write(rec, func() {
		s.durable = true
		answer(ev.ID, nil)
		for _, id := range s.others {
			answer(id, other)
		}
		s.others = nil
		for _, v := range r.signals.wakes[ev.Name] {
			r.wake(v)
		}
		delete(r.signals.wakes, ev.Name)
	})
}

func (r *Run) refuse(ev Signal) {
	r.emit(SignalTaken{Name: ev.Name, ID: ev.ID, Err: fmt.Errorf("%w: the run has ended", phalanx.ErrClosed)})
}

// refuseLate answers the signals that have come before it was durable that the run has ended.
func (r *Run) refuseLate() {
	for _, ev := range r.signals.late {
		r.refuse(ev)
	}
	r.signals.late = nil
}

// await has an event or a sleep begin, or end if that is due.
func (r *Run) await(v int) {
	t, task := &r.tasks[v], r.x.Tasks[v]
	r.x.Begun(v)
	switch {
	case task.Event != "":
		s := r.signals.by[task.Event]
		if s != nil && s.durable {
			t.awaits = false
			r.ended(Outcome{Task: v, Output: Output{Size: int64(len(s.bytes)), Recorded: true, Bytes: s.bytes}})
		} else if !t.awaits {
			t.awaits = true
			if r.signals.wakes == nil {
				r.signals.wakes = map[string][]int{}
			}
			r.signals.wakes[task.Event] = append(r.signals.wakes[task.Event], v)
		}
	case !t.sleeps:
		t.sleeps, t.again = true, r.now+task.Sleep
		r.write(Slept{Task: v, Gen: t.gen, Until: r.cfg.Clock + t.again}, nil)
		r.wake(v)
	default: // look waits for the time
		t.sleeps = false
		r.ended(Outcome{Task: v, Output: Output{Recorded: true}})
	}
}
