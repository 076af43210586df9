package actors

import (
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// Workers runs the mailboxes of actors on goroutines that are used again. Such a
// one keeps the stack that earlier messages have grown, where a goroutine that is
// new begins with a small one, and copies it again and again on its way down.
type Workers struct {
	work chan func()
	done chan struct{}
	idle atomic.Int32
}

var _ actor.Dispatcher = (*Workers)(nil)

const (
	maxIdle    = 16  // workers that wait for work
	throughput = 300 // messages until others have their turn, as the library has it
)

// NewWorkers returns workers, which have to be closed.
func NewWorkers() *Workers { return &Workers{work: make(chan func()), done: make(chan struct{})} }

// Close ends the workers that wait. Mailboxes still run afterwards.
func (w *Workers) Close() { close(w.done) }

// Throughput implements actor.Dispatcher.
func (w *Workers) Throughput() int { return throughput }

// Schedule implements actor.Dispatcher.
func (w *Workers) Schedule(run func()) {
	select {
	case w.work <- run:
	default: // no worker waits
		go w.serve(run)
	}
}

func (w *Workers) serve(run func()) {
	for {
		run()
		if w.idle.Add(1) > maxIdle {
			w.idle.Add(-1)
			return
		}
		select {
		case run = <-w.work:
			w.idle.Add(-1)
		case <-w.done:
			return
		}
	}
}
