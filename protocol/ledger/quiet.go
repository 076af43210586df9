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
// voters live can have its leases again. It is lost once so many processes of its voters have ended that the others are no majority: then
// its other members are quiet as well.
type quietSpan struct {
	since time.Duration // without a gap
	last  time.Duration // when that was last said
}

// loses notes that the view of a number is lost.
func (b *Boot) loses(number uint64) {
	if number > b.lost {
		b.lost, b.lostAt = number, b.now
	}
}

// isQuiet reports whether a node that says so is in no cluster, and will not be in one by itself.
func (b *Boot) isQuiet(s Standing) bool {
	ended := s.Number == 0 || s.Lost || b.own <= b.lost && s.Number <= b.own // a claim counts for who makes it: another one may be in a later view of that number
	return !s.InCluster && !s.Booting && !s.Joining && ended
}

// isQuietNow reports whether an address is quiet.
func (b *Boot) isQuietNow(address string) bool {
	q, ok := b.quiet[address]
	return ok && !b.old(q.last)
}

// noteEnded is told that a process at an address has been in no view, or that there is none: the one before has ended.
func (b *Boot) noteEnded(address string) {
	if slices.Contains(b.addresses(), address) {
		b.gone[address] = b.now
	}
}

// noteGoesOn is told that the process at an address is in a view. If that is the own view, the voter there seemed only to have ended:
// its host has refused connections for a moment, or another process has answered.
func (b *Boot) noteGoesOn(ev Heard) {
	if _, ended := b.gone[ev.Address]; ended && ev.Number == b.own && b.own <= b.lost {
		b.lost = 0
	}
	delete(b.gone, ev.Address)
}

// Ended reports whether the process that was at an address has ended, as far as is known now.
func (b *Boot) Ended(address string) bool {
	last, ok := b.gone[address]
	return ok && !b.old(last)
}

// noteQuiet is told that an address was quiet just now.
func (b *Boot) noteQuiet(address string) {
	if !slices.Contains(b.addresses(), address) {
		return
	}
	q, ok := b.quiet[address]
	if !ok || b.old(q.last) {
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
func (b *Boot) old(last time.Duration) bool { return b.now-last > 2*b.cfg.AskEvery }

// allQuiet returns since when all addresses are quiet, if they are and the own node was in no view but one that is lost.
func (b *Boot) allQuiet() (since time.Duration, ok bool) {
	if b.own > b.lost || !b.asksAll {
		return 0, false
	}
	since = max(b.woke, b.lostAt)
	for _, a := range b.addresses() {
		if !b.isQuietNow(a) {
			return 0, false
		}
		since = max(since, b.quiet[a].since)
	}
	return since, true
}
