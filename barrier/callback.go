package barrier

import (
	"context"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx/barrier/message"
	core "github.com/phalanx-go/phalanx/protocol/barrier"
)

// Callbacks are the application's functions that a barrier calls, one after the other. It
// calls Enter and Release if Config.Callback and Semaphore.Callback say so; a callback that
// panics or is too slow counts as absent.
type Callbacks struct {
	// Enter says whether the barrier is to fire, when a participant enters, when a knee is
	// found, and with an empty entry when it was not called for Config.CallbackTimeout. Without
	// it the barrier follows q.WouldRelease. It can veto every cause but Config.Timeout.
	Enter func(q Question) bool
	// Release says how many entries replace one that has released a semaphore: 1 leaves the
	// number of holders as it is, 0 makes it one less, 2 one more, up to Semaphore.Cap.
	// Without it suggested entries do.
	Release func(e Entry, suggested int) int
	// Notify learns that the barrier has fired, that a participant comes late, and that a
	// semaphore's holder has run out of time.
	Notify func(Notice)
}

// The arguments of callbacks.
type (
	Question = message.Question
	Notice   = message.Notice
)

// A What is the event that a Notice tells.
type What = core.What

// The events of a Notice.
const (
	Fired   = core.HasFired
	Late    = core.CameLate
	Expired = core.HolderExpired
	Gone    = core.HolderGone
	AtKnee  = core.KneeFound
)

// Watch has the barrier's callbacks called here, until stop is called or the node
// leaves. The last Watch replaces all others. It returns when the barrier's manager
// knows.
func (b *Barrier) Watch(ctx context.Context, f Callbacks) (stop func(), err error) {
	w := newWatcher(f)
	d, err := b.do(ctx, "watch", core.CallWatch, Entry{}, w, nil)
	if err != nil {
		w.close()
		return nil, err
	}
	return func() {
		b.node.System().Root.Send(b.pid, &unwatch{b.key, d.Config, w})
	}, nil
}

// invalid returns an error for a callback of f that cfg would never call, or nil.
func (f Callbacks) invalid(cfg Config) error {
	if f.Enter != nil && !cfg.Callback {
		return &FieldError{Field: "Callback", Text: "the field is not set, so that Callbacks.Enter would not be called"}
	}
	if f.Release != nil && !cfg.Semaphore.Callback {
		return &FieldError{Field: "Semaphore.Callback", Text: "the field is not set, so that Callbacks.Release would not be called"}
	}
	return nil
}

// watcher calls callbacks, one after the other, beside the actor.
type watcher struct {
	f     Callbacks
	queue chan func()
	done  chan struct{}
	over  sync.Once
}

// watchRoom is how many calls of callbacks wait. Further calls are not made: they
// count as if there were no callback.
const watchRoom = 1 << 14

func newWatcher(f Callbacks) *watcher {
	w := &watcher{f: f, queue: make(chan func(), watchRoom), done: make(chan struct{})}
	go func() {
		for {
			select {
			case call := <-w.queue:
				call()
			case <-w.done:
				return
			}
		}
	}()
	return w
}

// close ends the watcher. A caller that gives its Watch up and the actor may both close it.
func (w *watcher) close() { w.over.Do(func() { close(w.done) }) }

func (w *watcher) do(call func()) {
	select {
	case w.queue <- func() {
		defer func() { _ = recover() }() // the application's mistake costs it its say
		call()
	}:
	default:
	}
}

// ask calls the callbacks, and sends the actor their answer.
func (w *watcher) ask(root *actor.RootContext, to *actor.PID, k core.Key, a core.Asked) {
	w.do(func() {
		r := core.Replied{Key: k, Ask: a.Ask, Yes: a.WouldRelease, N: a.Suggest}
		switch {
		case a.Releasing && w.f.Release != nil:
			r.N = w.f.Release(a.Entry, a.Suggest)
		case !a.Releasing && w.f.Enter != nil:
			r.Yes = w.f.Enter(Question{Entry: a.Entry, WouldRelease: a.WouldRelease, Knee: a.Knee})
		}
		root.Send(to, r)
	})
}

func (w *watcher) tell(h core.Happened) {
	if w.f.Notify != nil {
		w.do(func() { w.f.Notify(notice(h)) })
	}
}

func notice(h core.Happened) Notice {
	n := Notice{What: h.What, Entry: h.Entry, N: h.N, Max: h.Max, Absent: h.Absent, Lost: h.Lost}
	if h.What == Fired {
		n.Cause = h.Cause.String()
	}
	return n
}
