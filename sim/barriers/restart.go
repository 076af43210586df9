package barriers

import (
	"github.com/phalanx-go/phalanx/node/member"
	"github.com/phalanx-go/phalanx/protocol/barrier"
	"github.com/phalanx-go/phalanx/sim"
)

// Panics replaces the core of a node's actor. The core loses the messages on their way; the service
// repeats the open calls and reports the semaphores' holders. A second panic may lose what the
// first has not yet restored.
func (s *service) Panics(n *sim.Process) bool {
	if len(s.Live()) <= managers || s.restarts > 0 {
		return false
	}
	w, l := s, s.work
	w.restarts++
	w.begin(w.hosts[n])
	var calls []barrier.Open
	for _, c := range l.open {
		if c.n == n {
			calls = append(calls, barrier.Open{Call: c.asked, GaveUp: c.gave})
		}
	}
	var watches []barrier.Call
	for _, c := range l.watchers {
		if c.n == n {
			watches = append(watches, barrier.Call{Kind: barrier.CallWatch, Key: c.key, Config: c.cfg})
		}
	}
	for _, e := range w.hosts[n].held.Again(watches, calls) {
		w.ask(n, e)
	}
	w.step(n, member.ForBarriers(Kind.Name, n.Self, n.View))
	return true
}

// busy reports whether a call waits on a node, or an entry holds something.
func (l *workload) busy(n *sim.Process) bool {
	if l.w.hosts[n].held.Some() {
		return true
	}
	for _, c := range l.open {
		if c.n == n {
			return true
		}
	}
	return false
}

// loseAll releases the semaphores of a node that leaves or has another incarnation, as far as its callers have a Hold.
func (l *workload) loseAll(n *sim.Process) {
	for _, h := range l.w.hosts[n].held.Holders() {
		switch c := h.By.(*call); {
		case c.plain:
			l.w.Met("semaphore stays held without a Hold")
		case !c.lost:
			l.leave(c)
			c.lost = true
		}
	}
}

// givesUp reports whether an entry is about to withdraw: its caller hears of that after others may
// have gone on without it.
func (l *workload) givesUp(k barrier.Key, e barrier.Entry) bool {
	for _, c := range l.open {
		if c.gave && c.key == k && c.entry == e {
			return true
		}
	}
	return false
}

// giveUp gives a call up.
func (l *workload) giveUp(n *sim.Process, id uint64) {
	if c := l.open[id]; c != nil {
		c.gave = true
		l.w.ask(n, barrier.GiveUp{ID: id})
	}
}
