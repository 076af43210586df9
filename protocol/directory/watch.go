package directory

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// watcher is told the whole readiness of an object whenever it changes.
type watcher struct {
	to    phalanx.NodeID
	num   uint64
	acked uint64
	told  retry.Backoff // of last, which is told once more if it is not acknowledged
	last  Readiness
}

// watchPauses are how long a watcher that does not acknowledge waits until it is told once
// more. Their bound is less than the time that a client takes for silence.
var watchPauses = retry.Pauses{First: repeatEvery, Most: 2 * time.Second}

func (s *Shard) watch(o *object, r Request) {
	for _, w := range o.watchers {
		if w.to == r.From && w.num == r.Num {
			s.answerWatch(o, w)
			return
		}
	}
	w := &watcher{to: r.From, num: r.Num}
	o.watchers = append(o.watchers, w)
	o.version = s.nextVersion(o)
	s.tell(o, w)
}

// answerWatch answers a repeated Watch. A watcher that has acknowledged the present
// readiness hears only that the owner is alive: the inline bytes are not sent again.
func (s *Shard) answerWatch(o *object, w *watcher) {
	current := w.last.Version>>32 == s.view.Epoch && s.readiness(o, w).equal(w.last)
	switch {
	case !current:
		s.tell(o, w)
	case w.acked >= w.last.Version:
		alive := w.last
		alive.Bytes = nil
		s.emit(alive)
	case s.now-w.told.Last() >= repeatEvery: // else it is on its way
		s.tellAgain(o, w)
	}
}

// notify tells every watcher its changes.
func (s *Shard) notify(o *object) {
	if len(o.watchers) == 0 || !s.acts() {
		return
	}
	o.version = s.nextVersion(o)
	for _, w := range o.watchers {
		if r := s.readiness(o, w); !r.equal(w.last) {
			s.tell(o, w)
		}
	}
}

// nextVersion rises with every change, and also over the epochs in which this
// node owned the shard: it may have lost it in between without its watchers
// having noticed.
func (s *Shard) nextVersion(o *object) uint64 { return max(o.version, s.view.Epoch<<32) + 1 }

// tell has a watcher hear of the present readiness, in a version of this epoch: it
// takes nothing that was told in an earlier one.
func (s *Shard) tell(o *object, w *watcher) {
	if o.version < s.view.Epoch<<32 {
		o.version = s.nextVersion(o)
	}
	w.last, w.told = s.readiness(o, w), retry.Once(s.now)
	s.emit(w.last)
}

// tellAgain repeats unacknowledged messages to a watcher, each time after twice as
// long: its node may have much to do.
func (s *Shard) tellAgain(o *object, w *watcher) {
	told := w.told
	told.Sent(s.now)
	s.tell(o, w)
	w.told = told
}

func (s *Shard) readiness(o *object, w *watcher) Readiness {
	r := Readiness{To: w.to, Num: w.num, Version: o.version, Object: o.rec.Object, State: s.state(o), Gen: o.rec.Gen,
		Meta: o.meta(), Maker: o.rec.Maker, Digest: o.rec.Digest, Inline: o.rec.Inline, Bytes: o.rec.Bytes,
		After: o.rec.After}
	for _, h := range o.holders {
		if h.gen == o.rec.Gen && (h.complete || h.origin && h.begun) && len(r.Ready) < MaxReady {
			r.Ready = append(r.Ready, Location{Node: h.node, Complete: h.complete})
		}
	}
	return r
}

// equal reports whether r tells nothing that q does not.
func (r Readiness) equal(q Readiness) bool {
	return r.State == q.State && r.Gen == q.Gen && r.After == q.After && r.Meta.Equal(q.Meta) && r.Digest == q.Digest &&
		r.Inline == q.Inline && slices.Equal(r.Ready, q.Ready)
}

// Deleted reports whether gen was deleted, as far as r tells.
func (r Readiness) Deleted(gen phalanx.Generation) bool {
	return r.State == Deleted && !r.Gen.Less(gen) || !gen.IsZero() && !r.After.Less(gen)
}

func (s *Shard) watchAcked(a WatchAcked) {
	o := s.objects[a.Object]
	if o == nil {
		return
	}
	for _, w := range o.watchers {
		if w.to == a.From && w.num == a.Num {
			w.acked = max(w.acked, min(a.Version, o.version))
		}
	}
}

func (s *Shard) repeatWatches(o *object) {
	for _, w := range o.watchers {
		if w.acked < w.last.Version && s.now >= w.told.At(watchPauses) {
			s.tellAgain(o, w)
		}
	}
}
