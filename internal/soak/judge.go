package soak

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode"
)

// result is a call and its outcome.
type result struct {
	line
	process    *process
	order      order
	begin, end time.Duration
	answered   bool
}

// ok reports whether the call succeeded.
func (r result) ok() bool { return r.answered && r.Kind == 0 }

// enough is how long a call may last without an excuse: after that it must have
// survived the deaths of other processes.
const enough = 12 * time.Second

// lateness is how much later than its deadline a call may end on a busy machine.
const lateness = 4 * time.Second

// judge returns why the outcome of a call on an object is wrong, or nil. The history
// judges bytes and states.
func (s *soak) judge(o *object, r result) error {
	hit := s.faults.on(r.process.name, r.begin, r.end)
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%v on %s from %.3f to %.3f: %s", r.order, r.process.name, r.begin.Seconds(), r.end.Seconds(), fmt.Sprintf(format, args...))
	}
	if !r.answered {
		if s.faults.on(r.process.name, r.begin, r.end, killed, leaving) {
			return nil
		}
		return wrong("the call hangs: the process has not answered, the deadline was %v", r.order.Deadline)
	}
	if late := r.Took - r.order.Deadline; late > lateness && !hit {
		return wrong("the call took %v, %v more than its deadline: %s", r.Took, late, r.Err)
	}
	if why := s.excuse(o, r, hit); why != nil {
		return wrong("%s: %s%s", r.Err, why, s.record.seen(o.id))
	}
	return nil
}

var (
	errNever       = errors.New("a call must never end like this")
	errUndisturbed = errors.New("no fault disturbed the call")
	errThere       = errors.New("the object must have been there")
	errWaits       = errors.New("this call waits")
	errRoom        = errors.New("the call has not waited for memory, and pinned copies leave room for the object")
)

// excuse returns why the call must not end with this kind of error, or nil if it
// may.
func (s *soak) excuse(o *object, r result, hit bool) error {
	disturbed := s.faults.any(r.begin, r.end)
	unless := func(may bool, why error) error {
		if may {
			return nil
		}
		return why
	}
	pushes := r.order.Do == "prefetch" // its error is that of the node that failed first
	reads := r.order.Do == "get" || r.order.Do == "open" || pushes
	if r.order.Do == "reduce" && (r.Kind == phalanx.ErrExists || r.Kind == phalanx.ErrDeleted) {
		return errNever
	}
	switch r.Kind {
	case 0, phalanx.ErrDeleted, phalanx.ErrExists: // by the history
		return nil
	case phalanx.ErrNotFound:
		return unless(r.order.Try || r.order.Do == "stat", errWaits)
	case phalanx.ErrFenced: // a node that was removed by mistake says so by its own event
		return nil
	case phalanx.ErrClosed:
		return unless(pushes && disturbed || s.faults.on(r.process.name, r.begin, r.end, leaving), errNever)
	case phalanx.ErrUnavailable, phalanx.ErrRefused:
		return unless(disturbed, errUndisturbed)
	case phalanx.ErrNoSpace: // an object of unknown size cannot wait for room
		puts := r.order.Do == "put"
		waited := r.Took >= r.order.Deadline || puts && r.Took >= storenode.MemoryWait
		return unless((puts || reads) && (waited || noRoom(r.Err)) || puts && r.order.Unsized, errRoom)
	case phalanx.ErrCanceled:
		return unless(r.order.Cancel > 0, errNever)
	case phalanx.ErrDeadline:
		if r.order.Deadline < enough || hit {
			return nil
		}
		if reads {
			return unless(!o.sureSince(r.begin), errThere)
		}
		return unless(r.order.Do == "reduce" && (s.faults.any(r.begin, r.end-enough) || s.lacks(r.order.Sources)), errUndisturbed)
	case phalanx.ErrLost:
		return unless(disturbed || o.maybeLost(), errThere)
	case phalanx.ErrReset:
		return unless(r.order.Do == "open" && (disturbed || o.reduced || o.maybeLost()), errNever)
	case phalanx.ErrAborted:
		return unless(r.order.Do != "get" && (disturbed || o.mayHaveFailed()), errNever)
	}
	return errNever
}

var numbers = regexp.MustCompile(`(\d+) bytes are needed, \d+ of (\d+) are free, (\d+) are pinned, (\d+) are reserved`)

// noRoom reports whether the pinned and reserved bytes in a node's error leave no room for
// the needed bytes. The rest of a round checks these numbers.
func noRoom(text string) bool {
	m := numbers.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	var n [4]int64
	for i := range n {
		n[i], _ = strconv.ParseInt(m[i+1], 10, 64) // a number that is too long is no cap of ours
	}
	return n[1] == nodeMemory && n[0]+n[2]+n[3] > nodeMemory
}

// lacks reports whether a source of a reduce, the target of another, may have been
// lost, and a process says that it is: nobody makes it again. A source with two copies
// cannot be lost.
func (s *soak) lacks(sources []phalanx.ObjectID) bool {
	return slices.ContainsFunc(s.ledger.objects(), func(o *object) bool {
		return slices.Contains(sources, o.id) && o.maybeLost() && !o.wantsCopies() && s.saidLost(o.id)
	})
}

// saidLost asks one process after the other until one answers, and reports whether it
// says that the object is lost.
func (s *soak) saidLost(id phalanx.ObjectID) bool {
	for _, p := range s.fleet.members() {
		if l, ok := p.ask(order{Do: "stat", Object: id, Deadline: callDeadline}, answerPatience); ok && l.Kind == 0 {
			return l.State == "lost"
		}
	}
	return false
}
