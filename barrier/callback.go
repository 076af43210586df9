package barrier

import (
	"context"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/barrier"
)

// Callbacks are what a barrier asks and tells the application. They are called one
// after the other. Enter and Release are asked if Config.Ask and Semaphore.Ask say
// so; one that panics or is too slow counts as if it were not there.
type Callbacks struct {
	// Enter says whether the barrier is to fire, when one enters, when a knee is
	// found, and with an empty host when it was not called for Config.AskGap. Without
	// it the barrier would do what q.Would says. It can veto all but Config.Timeout.
	Enter func(q Question) bool
	// Release says how many come after one that has released a semaphore: 1 leaves the
	// number of holders as it is, 0 makes it one less, 2 one more, up to Semaphore.Cap.
	// Without it suggested come.
	Release func(label, host string, suggested int) int
	// Told is told what happens: that the barrier has fired, who comes late, whose
	// semaphore has run out.
	Told func(Notice)
}

// Question is asked of Callbacks.Enter.
type Question struct {
	Label, Host string
	Would       bool // the barrier would fire
	Knee        bool // since a knee was found
}

// Notice is told to Callbacks.Told.
type Notice struct {
	What   What
	Label  string // of one that comes late, or held a semaphore for too long
	Host   string
	Cause  string   // why the barrier has fired
	N, Max int      // units that are there, and of how many
	Absent []string // who is not there: of Config.Expect, or else the members on which nobody has entered
	Lost   []string // units that are there, and whose nodes are gone: nobody can tell them
}

// What is what a Notice tells.
type What = core.What

// What is told.
const (
	Fired   = core.HasFired
	Late    = core.CameLate
	Expired = core.HolderExpired
	Gone    = core.HolderGone
	AtKnee  = core.KneeFound
)

// Watch has the callbacks of the barrier called here, until stop is called or the
// node leaves. There is one who watches, the last. It returns when the barrier's
// manager knows.
func (b *Barrier) Watch(ctx context.Context, f Callbacks) (stop func(), err error) {
	if f.Enter != nil && !b.cfg.Ask {
		return nil, b.fail("watch", phalanx.ErrInvalid, &FieldError{Field: "Ask", Text: "it is not set, so that Callbacks.Enter would not be called"})
	}
	if f.Release != nil && !b.cfg.Semaphore.Ask {
		return nil, b.fail("watch", phalanx.ErrInvalid, &FieldError{Field: "Semaphore.Ask", Text: "it is not set, so that Callbacks.Release would not be called"})
	}
	w := newWatcher(f)
	if _, err := b.do(ctx, "watch", core.CallWatch, "", "", w, nil); err != nil {
		w.close()
		return nil, err
	}
	return func() {
		b.node.System().Root.Send(b.pid, &unwatch{b.key, b.cfg, w})
	}, nil
}

// watcher calls callbacks, one after the other, beside the actor.
type watcher struct {
	f     Callbacks
	queue chan func()
	done  chan struct{}
	over  sync.Once
}

// watchRoom is how many calls of callbacks wait. What is more is not asked: it
// counts as if there were no callback.
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

// close ends it. A caller that gives its Watch up and the actor may both do that.
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

// ask asks the callbacks, and sends the actor what they say.
func (w *watcher) ask(root *actor.RootContext, to *actor.PID, k core.Key, a core.Asked) {
	w.do(func() {
		r := core.Replied{Key: k, Ask: a.Ask, Yes: a.Would, N: a.Suggest}
		switch {
		case a.Releasing && w.f.Release != nil:
			r.N = w.f.Release(a.Entry.Label, a.Entry.Host, a.Suggest)
		case !a.Releasing && w.f.Enter != nil:
			r.Yes = w.f.Enter(Question{Label: a.Entry.Label, Host: a.Entry.Host, Would: a.Would, Knee: a.Knee})
		}
		root.Send(to, r)
	})
}

func (w *watcher) tell(h core.Happened) {
	if w.f.Told != nil {
		w.do(func() { w.f.Told(notice(h)) })
	}
}

func notice(h core.Happened) Notice {
	n := Notice{What: h.What, Label: h.Entry.Label, Host: h.Entry.Host, N: h.N, Max: h.Max, Absent: h.Absent, Lost: h.Lost}
	if h.What == Fired {
		n.Cause = h.Cause.String()
	}
	return n
}
