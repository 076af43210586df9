package barriers

import (
	"cmp"
	"maps"
	"slices"

	"github.com/phalanx-go/phalanx/protocol/barrier"
	"github.com/phalanx-go/phalanx/sim/stage"
)

// holding is an entry that holds a semaphore on a node, as the node's service knows it outside of
// its actor.
type holding struct {
	n     *stage.Node
	key   barrier.Key
	entry barrier.Entry
}

// restart has a node's actor begin again with a new core, as after a panic: what was on its way to
// it is lost, what its callers wait for is asked again, and who holds a semaphore is told to it.
func (l *workload) restart(n *stage.Node) {
	w := l.w
	w.Tracef("%s is restarted", n.ID)
	delete(w.late, n)
	w.restarts++
	n.Core = w.newCore(slices.Index(w.Nodes, n), w.restarts)
	for _, held := range []struct {
		of   map[holding]attempt
		kind barrier.CallKind
	}{{l.held, barrier.CallEnter}, {l.freed, barrier.CallFree}} {
		for _, h := range sortedHoldings(held.of) {
			if a := held.of[h]; h.n == n {
				w.step(n, barrier.Call{Kind: held.kind, Key: h.key, Config: a.cfg, Entry: h.entry, Attempt: a.n})
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
		if w.step(n, again); c.gave {
			w.step(n, barrier.GiveUp{ID: id})
		}
	}
	if n.View.Number > 0 {
		w.step(n, viewed(n.ID, n.View))
	}
}

// giveUp has a call given up.
func (l *workload) giveUp(n *stage.Node, id uint64) {
	if c := l.open[id]; c != nil {
		c.gave = true
		l.w.step(n, barrier.GiveUp{ID: id})
	}
}

func sortedHoldings(all map[holding]attempt) []holding {
	return slices.SortedFunc(maps.Keys(all), func(a, b holding) int {
		return cmp.Or(cmp.Compare(a.key.String(), b.key.String()), cmp.Compare(a.entry.Host, b.entry.Host), cmp.Compare(a.entry.Label, b.entry.Label), cmp.Compare(a.n.ID, b.n.ID))
	})
}

// attempt is by which an entry holds a semaphore.
type attempt struct {
	n   uint64
	cfg barrier.Config
}
