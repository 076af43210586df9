package barrier

import (
	"maps"

	"github.com/asynkron/protoactor-go/actor"

	core "github.com/phalanx-go/phalanx/protocol/barrier"
)

// open has the calls and holds of the node's callers. It lies outside of the actor,
// which makes them again after a restart. It needs no lock: one instance of the
// actor has it, and the next one begins when that has ended.
type open struct {
	settings Settings
	letters  uint64 // of other members
	ids      uint64
	calls    map[uint64]*asked
	held     core.Holdings // by a *Hold, or nil: it was entered without
	watchers map[core.Key]*watch
	past     core.Past
	holds    *holds
	counted  int    // bytes that the node counts for the core
	view     uint64 // as of which the node knows what remains to be handed over
	left     int    // and that
	most     int    // bytes that the core has taken since the maps were made
}

// busy reports whether a caller waits, or holds something.
func (o *open) busy() bool {
	return len(o.calls) > 0 || o.held.Some() || len(o.watchers) > 0
}

// watch has a barrier's callbacks: functions, or an actor.
type watch struct {
	cfg Config
	w   *watcher
	to  *actor.PID
}

// tidy gives back the memory of maps that have shrunk, when the core takes so many bytes.
func (o *open) tidy(bytes int) {
	if o.most = max(o.most, bytes); bytes > o.most/4 {
		return
	}
	o.most = bytes
	o.calls = smaller(o.calls)
	o.held.Shrink()
}

// smaller returns a copy of m with no spare capacity.
func smaller[K comparable, V any](m map[K]V) map[K]V {
	out := make(map[K]V, len(m))
	maps.Copy(out, m)
	return out
}

func (o *open) next() uint64 { o.ids++; return o.ids }

// watched has the callbacks of a Watch called from now on if it has succeeded. A Watch
// that failed leaves earlier callbacks in place. It reports whether there are any.
func (o *open) watched(k core.Key, w *watch, won bool) bool {
	switch old := o.watchers[k]; {
	case won:
		o.watchers[k] = w
		if old != nil && old != w && old.w != nil {
			old.w.close()
		}
	case old == w:
		return o.unwatched(k)
	}
	return true
}

// unwatched takes a barrier's callbacks away. It reports whether a waiting Watch has
// others.
func (o *open) unwatched(k core.Key) bool {
	delete(o.watchers, k)
	for _, a := range o.calls {
		if a.watch != nil && a.call.Key == k {
			o.watchers[k] = a.watch
			return true
		}
	}
	return false
}
