package remoting

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
)

// answer is the process that a request names as its sender.
type answer struct{ came chan any }

var _ actor.Process = answer{}

func (a answer) SendUserMessage(_ *actor.PID, message any) {
	select {
	case a.came <- actor.UnwrapEnvelopeMessage(message):
	default: // there was one already
	}
}

func (a answer) SendSystemMessage(*actor.PID, any) {}
func (a answer) Stop(*actor.PID)                   {}

// Request sends message to an actor and returns its answer. It fails when ctx
// ends, when there is no such actor, and when the connection with that node breaks: the
// request may then have been handled nevertheless, and is safe to repeat only if
// the actor takes it twice.
func (r *Remoting) Request(ctx context.Context, to *actor.PID, message any) (any, error) {
	fail := func(kind phalanx.Kind, err error) error {
		return &phalanx.Error{Op: "request", Kind: kind, Err: fmt.Errorf("%s at %s: %w", to.Id, to.Address, err)}
	}
	a := answer{came: make(chan any, 1)}
	self, _ := r.sys.ProcessRegistry.Add(a, answerName+r.sys.ProcessRegistry.NextId())
	defer r.sys.ProcessRegistry.Remove(self)
	broken := make(chan error, 1)
	if !r.waits.add(to.Address, broken) {
		return nil, fail(phalanx.ErrClosed, errStopped)
	}
	defer r.waits.remove(to.Address, broken)
	r.sys.Root.RequestWithCustomSender(to, message, self)
	lost := func(err error) error {
		if errors.Is(err, errStopped) {
			return fail(phalanx.ErrClosed, err)
		}
		return fail(phalanx.ErrUnavailable, err)
	}
	select {
	case m := <-a.came:
		switch m := m.(type) {
		case *phalanx.Error: // it cannot be sent, or its answer cannot be read here
			return nil, fail(m.Kind, m.Err)
		case *messages.Unsendable: // or it cannot be read there, or its answer cannot be sent
			if e := m.GetError(); e.GetOp() == reading {
				return nil, fail(phalanx.ErrInvalid, fmt.Errorf("the node cannot read the request: %s", e.GetText()))
			}
			return nil, fail(phalanx.ErrInvalid, fmt.Errorf("the node cannot send its answer: %w", messages.ErrorFromProto(m.GetError())))
		}
		if _, dead := m.(*actor.DeadLetterResponse); !dead {
			return m, nil
		}
		select {
		case err := <-broken: // is why it became one
			return nil, lost(err)
		default:
			return nil, lost(errors.New("there is no such actor, or too many messages wait for that node"))
		}
	case err := <-broken:
		return nil, lost(err)
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, fail(phalanx.ErrCanceled, ctx.Err())
		}
		return nil, fail(phalanx.ErrDeadline, errors.New("it did not answer"))
	}
}

// waits are the requests that wait, by the address of the node that has to answer.
type waits struct {
	mu      sync.Mutex
	stopped bool
	all     map[string]map[chan error]struct{}
}

func (w *waits) add(address string, c chan error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return false
	}
	if w.all == nil {
		w.all = map[string]map[chan error]struct{}{}
	}
	if w.all[address] == nil {
		w.all[address] = map[chan error]struct{}{}
	}
	w.all[address][c] = struct{}{}
	return true
}

func (w *waits) remove(address string, c chan error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all[address], c)
	if len(w.all[address]) == 0 {
		delete(w.all, address)
	}
}

func (w *waits) fail(address string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.all[address] {
		select {
		case c <- err:
		default: // it has one already
		}
	}
}

func (w *waits) stop() {
	w.mu.Lock()
	w.stopped = true
	var addresses []string
	for address := range w.all {
		addresses = append(addresses, address)
	}
	w.mu.Unlock()
	for _, address := range addresses {
		w.fail(address, errStopped)
	}
}
