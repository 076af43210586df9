package barriers

import (
	"cmp"
	"maps"
	"slices"

	"github.com/phalanx-go/phalanx/protocol/barrier"
	"github.com/phalanx-go/phalanx/sim"
)

// holding names an entry that holds a semaphore on a node. The node's service knows it outside of
// its actor.
type holding struct {
	n     *sim.Process
	key   barrier.Key
	entry barrier.Entry
}

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
	for _, held := range []struct {
		of   map[holding]attempt
		kind barrier.CallKind
	}{{l.held, barrier.CallEnter}, {l.freed, barrier.CallFree}} {
		for _, h := range sortedHoldings(held.of) {
			if a := held.of[h]; h.n == n {
				w.ask(n, barrier.Call{Kind: held.kind, Key: h.key, Config: a.cfg, Entry: h.entry, Attempt: a.n})
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(l.open)) {
		c := l.open[id]
		if c == nil || c.n != n {
			continue
		}
		again := c.asked
		again.Again = true
		if w.ask(n, again); c.gave {
			w.ask(n, barrier.GiveUp{ID: id})
		}
	}
	for _, c := range l.watchers {
		if c.n == n && l.open[c.id] == nil {
			l.start(c, barrier.CallWatch)
		}
	}
	w.step(n, viewed(n.Self, n.View)) // last, since a primary frees semaphores that no caller holds
	return true
}

// busy reports whether a call waits on a node, or an entry holds something.
func (l *workload) busy(n *sim.Process) bool {
	for _, of := range []map[holding]attempt{l.held, l.freed} {
		for h := range of {
			if h.n == n {
				return true
			}
		}
	}
	for _, c := range l.open {
		if c.n == n {
			return true
		}
	}
	return false
}

// loseAll releases the semaphores of a node that leaves or has another incarnation.
func (l *workload) loseAll(n *sim.Process) {
	for _, h := range sortedHoldings(l.held) {
		if c := l.held[h].by; h.n == n && !c.lost {
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

func sortedHoldings(all map[holding]attempt) []holding {
	return slices.SortedFunc(maps.Keys(all), func(a, b holding) int {
		return cmp.Or(cmp.Compare(a.key.String(), b.key.String()), cmp.Compare(a.entry.Host, b.entry.Host), cmp.Compare(a.entry.Label, b.entry.Label), cmp.Compare(a.n.Self, b.n.Self))
	})
}

// attempt is the attempt with which an entry holds a semaphore.
type attempt struct {
	n   uint64
	cfg barrier.Config
	by  *call
}
