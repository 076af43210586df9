package workflow

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// adrift is what an executor does about attempts that go on without a view lease. Nothing is judged by one look at the clock: an
// executor whose host was held up reads what came meanwhile, a lease perhaps, before it ends attempts, and they have time to end
// before it ends the process.
type adrift struct {
	noticed  time.Duration // when it saw that the lease had ended leaseWait ago; 0: it has not
	canceled time.Duration // when it ended the attempts; 0: it has not
}

// The times of a process whose host is never held up: attempts are ended 6 s after the lease has, and the process after 10 s.
const (
	leaseWait  = 5 * time.Second
	leaseRead  = time.Second     // for messages that have come
	leaseFaint = 4 * time.Second // for attempts to end
)

// leaseDue returns when the executor has to look at its attempts and the lease; false: it need not.
func (x *Executor) leaseDue() (at time.Duration, ok bool) {
	switch {
	case x.lease == 0 || len(x.running) == 0:
		return 0, false
	case x.adrift.noticed == 0:
		return x.lease + leaseWait, true
	case x.adrift.canceled == 0:
		return x.adrift.noticed + leaseRead, true
	}
	return max(x.lease+leaseGrace, x.adrift.canceled+leaseFaint), true
}

// outlive ends attempts that go on after the node's lease has ended, and then the process.
func (x *Executor) outlive() {
	at, ok := x.leaseDue()
	if !ok || x.now < x.lease+leaseWait {
		x.adrift = adrift{}
		return
	}
	if x.now < at {
		return
	}
	ids := slices.SortedFunc(maps.Keys(x.running), AttemptID.compare)
	switch {
	case x.adrift.noticed == 0:
		x.adrift.noticed = x.now
	case x.adrift.canceled == 0:
		x.adrift.canceled = x.now
		for _, id := range ids {
			if a := x.running[id]; !a.canceled {
				a.canceled, a.lost = true, true
				x.emit(CancelAttempt{ID: id})
			}
		}
	default:
		x.over = true
		x.emit(EndProcess{Why: fmt.Sprintf("an attempt of task %d of run %s goes on 10 s after the node has lost its view lease, and %v after its context has ended: a task returns when Done is closed",
			ids[0].Task, ids[0].Run, leaseFaint)})
	}
}
