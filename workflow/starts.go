package workflow

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// starts are the large workflows that a controller is asked to start, until each is put together beside the actor: in the
// order in which they came, and few at once. Such a workflow takes milliseconds, and far more memory than its form. The actor owns it.
type starts struct {
	waits   []flow.Asked
	under   map[requester]bool // all that are not put together: a repeat of one changes nothing
	running int
	bytes   int // of the forms of all
}

// requester names a request.
type requester struct {
	from   phalanx.NodeID
	number uint64
}

func requesterOf(m flow.Asked) requester { return requester{m.From, m.Request.Number} }

// largeGraph is the size in bytes from which on a workflow is decoded and checked beside the actor.
const largeGraph = 4 << 10

// mostStarting bounds the forms that wait, in bytes. One waits however large it is.
const mostStarting = core.MaxWork

// putTogether is a workflow that is.
type putTogether struct {
	asked flow.Asked // with its Work
	err   error
	bytes int // of its form
}

// take takes the request for a large workflow, or returns ErrBusy.
func (s *starts) take(m flow.Asked) error {
	if s.under[requesterOf(m)] {
		return nil
	}
	n := len(m.Request.Graph)
	if s.bytes > 0 && s.bytes+n > mostStarting {
		return &phalanx.Error{Op: "workflow", Kind: phalanx.ErrUnavailable, Err: fmt.Errorf("%d bytes of workflows wait to be checked: %w", s.bytes, core.ErrBusy)}
	}
	if s.under == nil {
		s.under = map[requester]bool{}
	}
	s.under[requesterOf(m)] = true
	s.bytes += n
	s.waits = append(s.waits, m)
	return nil
}

// next has as many workflows put together as may be at once.
func (s *starts) next(c actor.Context) {
	root, self := c.ActorSystem().Root, c.Self()
	for len(s.waits) > 0 && s.running < max(1, runtime.GOMAXPROCS(0)/2) {
		m := s.waits[0]
		s.waits = slices.Delete(s.waits, 0, 1)
		s.running++
		go func() {
			p := putTogether{bytes: len(m.Request.Graph)}
			p.asked, p.err = withWork(m)
			root.Send(self, p)
		}()
	}
}

// done notes that a workflow is put together.
func (s *starts) done(p putTogether) {
	s.running--
	s.bytes -= p.bytes
	delete(s.under, requesterOf(p.asked))
}

// withdrawn drops a request for which nobody waits any more.
func (s *starts) withdrawn(m flow.Unasked) {
	s.waits = slices.DeleteFunc(s.waits, func(w flow.Asked) bool {
		is := requesterOf(w) == requester{m.From, m.Number}
		if is {
			delete(s.under, requesterOf(w))
			s.bytes -= len(w.Request.Graph)
		}
		return is
	})
}

// withWork puts the workflow of a StartRun together of its form, and checks it.
func withWork(m flow.Asked) (flow.Asked, error) {
	w, err := workFrom(m.Request.Graph)
	if err != nil {
		return m, err
	}
	if err = w.Check(); err != nil {
		return m, &phalanx.Error{Op: "workflow", Kind: phalanx.ErrInvalid, Err: err}
	}
	start := m.Request.Call.(core.StartRun)
	start.Work = w
	m.Request.Call, m.Request.Graph = start, nil
	return m, nil
}
