package barrier

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// answerWithin is how long a callback may take where CallbackTimeout does not say it.
const answerWithin = time.Second

// ask asks the callbacks. If there are none yet, watch asks them later.
func (b *Barrier) ask(a Asked) {
	b.LastAsk++
	a.Ask = b.LastAsk
	b.AskedAt = b.Now
	b.Asks = append(b.Asks, Asking{Asked: a, Due: b.Now + b.answerWithin()})
	if b.Watcher != "" {
		b.emit(a)
	}
}

func (b *Barrier) answerWithin() time.Duration {
	if b.cfg.CallbackTimeout > 0 {
		return b.cfg.CallbackTimeout
	}
	return answerWithin
}

// watch notes where the callbacks are. It asks them the unanswered questions again, and
// gives them as much time as for new ones.
func (b *Barrier) watch(node phalanx.NodeID) {
	b.Watcher = node
	for i := range b.Asks {
		b.Asks[i].Due = b.Now + b.answerWithin()
		b.emit(b.Asks[i].Asked)
	}
}

// askDue is when an unanswered question counts as answered as without a callback.
func (b *Barrier) askDue() (time.Duration, bool) {
	if len(b.Asks) == 0 {
		return 0, false
	}
	return b.Asks[0].Due, true
}

// gapDue is when a callback was not called for as long as it may be. A barrier that has neither
// callbacks nor a participant whose node is there waits for one of them.
func (b *Barrier) gapDue() (time.Duration, bool) {
	waits := b.pending() && b.cfg.CallbackTimeout > 0 && len(b.Asks) == 0
	return b.AskedAt + b.cfg.CallbackTimeout, waits && (b.Watcher != "" || b.State.peopled())
}

func (b *Barrier) unanswered() {
	a := b.Asks[0]
	b.Asks = slices.Delete(b.Asks, 0, 1)
	b.decide(a.Asked, a.WouldRelease && (a.Releasing || a.Knee || b.ready() != NotFired), a.Suggest) // some may have withdrawn since
}

func (b *Barrier) verdict(op Op) {
	i := slices.IndexFunc(b.Asks, func(a Asking) bool { return a.Ask == op.Ask })
	if i < 0 {
		return // it was answered, or came too late
	}
	a := b.Asks[i]
	b.Asks = slices.Delete(b.Asks, i, i+1)
	b.decide(a.Asked, op.Yes, op.N)
}

// decide carries out a callback's answer.
func (b *Barrier) decide(a Asked, yes bool, n int) {
	if a.Releasing {
		n = min(max(-b.limit(), n), b.limit()) // it may say anything
		b.Adaptive.Level = min(max(1, b.Adaptive.Level+n-1), b.limit())
		b.admit()
		return
	}
	if !yes || b.Cause != NotFired {
		return
	}
	why := ByCallback
	switch {
	case a.Knee && b.ready() == NotFired:
		why = ByKnee
	case a.WouldRelease && b.ready() != NotFired:
		why = b.ready()
	}
	b.fire(why)
}
