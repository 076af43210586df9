package ledger

import (
	"maps"
	"slices"
	"time"
)

// After a restart of everything nobody has to wait for nodes that are known to be in no cluster. An
// address is quiet as long as its node says that it has been in none since it began, and neither
// boots nor joins one, or as its host refuses connections: then no process listens, and the
// incarnation that did has ended. A silent address is not quiet: its node may be cut off, or hang, and
// hold a lease. So it keeps its AloneAfter. Nor is one whose node was in a view: a view of which most
// members live can have its leases again.
type quietSpan struct {
	since time.Duration // without a gap
	last  time.Duration // when that was last said
}

// noteQuiet is told that an address was quiet just now.
func (b *Boot) noteQuiet(address string) {
	if !slices.Contains(b.addresses(), address) {
		return
	}
	q, ok := b.quiet[address]
	if !ok || b.old(q) {
		q.since = b.now
	}
	q.last = b.now
	b.quiet[address] = q
}

// forgetOthers forgets addresses that are not asked any more, as that of the node that was recorded before.
func (b *Boot) forgetOthers() {
	asked := b.addresses()
	maps.DeleteFunc(b.quiet, func(a string, _ quietSpan) bool { return !slices.Contains(asked, a) })
}

// old reports whether an answer that is due has not come.
func (b *Boot) old(q quietSpan) bool { return b.now-q.last > 2*b.cfg.AskEvery }

// allQuiet returns since when all addresses are quiet, if they are and the own node was in no view.
func (b *Boot) allQuiet() (since time.Duration, ok bool) {
	if b.own > 0 || !b.asksAll {
		return 0, false
	}
	since = b.woke
	for _, a := range b.addresses() {
		q, ok := b.quiet[a]
		if !ok || b.old(q) {
			return 0, false
		}
		since = max(since, q.since)
	}
	return since, true
}
