package barrier

import (
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/node/idle"
	core "github.com/phalanx-go/phalanx/protocol/barrier"
)

// holds are the Holds of a node. They end with its lease by a timer of their own, not
// behind the actor's mailbox.
type holds struct {
	now  func() time.Duration
	tell func(loosened) // has the actor release it

	mu    sync.Mutex
	until time.Duration // the end of the lease
	all   map[*Hold]struct{}
	came  chan struct{} // closed with the lease that Holds wait for; nil: none does
	timer *time.Timer   // nil: there was no Hold yet
	armed bool
}

// loosened tells the actor of a Hold that has ended with the lease.
type loosened struct{ h *Hold }

func newHolds(n *cluster.Node, root *actor.RootContext) *holds {
	return &holds{now: n.Now, all: map[*Hold]struct{}{}, tell: func(m loosened) {
		if pid, ok := n.Service(Name); ok {
			root.Send(pid, &m)
		}
	}}
}

// leased takes note of a lease. It costs the same however many Holds there are.
func (s *holds) leased(until time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = max(s.until, until)
	if s.came != nil && s.now() < s.until {
		close(s.came)
		s.came, s.armed = nil, false
		s.arm()
	}
}

// sure reports whether this node is a member for certain.
func (s *holds) sure() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now() < s.until
}

// add takes a Hold that was granted. If this node was idle, its lease may come later than the
// grant: the Hold waits for it.
func (s *holds) add(h *Hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.among = s
	if now := s.now(); now >= s.until {
		if s.came == nil {
			s.came = make(chan struct{})
		}
		h.leased, h.waits = s.came, now+idle.HoldFor
	}
	s.all[h] = struct{}{}
	s.arm()
}

// arm has the timer look when the lease may have ended. The caller holds mu.
func (s *holds) arm() {
	if s.armed || len(s.all) == 0 {
		return
	}
	s.armed = true
	now := s.now()
	at := s.until
	if now >= at {
		at = now + idle.HoldFor
		for h := range s.all {
			at = min(at, s.waits(h))
		}
	}
	wait := max(0, at-now)
	if s.timer == nil {
		s.timer = time.AfterFunc(wait, s.look)
	} else {
		s.timer.Reset(wait)
	}
}

// waits returns until when a Hold waits for a lease; 0: there was one.
func (s *holds) waits(h *Hold) time.Duration {
	if h.leased != nil && h.leased == s.came {
		return h.waits
	}
	return 0
}

// look ends all Holds if the lease has ended, except Holds that still wait for it.
func (s *holds) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = false
	if now := s.now(); now >= s.until {
		for h := range s.all {
			if now >= s.waits(h) {
				s.remove(h, h.lost(phalanx.ErrAborted, errUnsure))
				s.tell(loosened{h})
			}
		}
	}
	s.arm()
}

// drop ends a Hold. It reports whether there was one.
func (s *holds) drop(h *Hold, why error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remove(h, why)
}

func (s *holds) remove(h *Hold, why error) bool {
	if _, ok := s.all[h]; !ok {
		return false
	}
	delete(s.all, h)
	h.end(why)
	return true
}

// stop ends the timer, when no Hold is left.
func (s *holds) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
}

// lose ends the Hold of an entry, if it has one.
func (s *service) lose(by core.Holding, kind phalanx.Kind, why error) bool {
	h, _ := by.By.(*Hold)
	return h != nil && s.open.holds.drop(h, h.lost(kind, why))
}

// loosen releases the semaphore of a Hold.
func (s *service) loosen(c actor.Context, h *Hold) {
	if by, ok := s.open.held.Holder(h.b.key, h.entry); ok && by.By == h {
		s.let(c, by)
	}
}

// let releases a semaphore without waiting for the answer.
func (s *service) let(c actor.Context, by core.Holding) {
	s.ask(c, &asked{call: core.Call{Kind: core.CallRelease, Key: by.Key, Config: by.Config, Entry: by.Entry}, end: func(ending) {}})
}

// loseAll ends all Holds, and releases their semaphores: the node leaves, or has another
// incarnation.
func (s *service) loseAll(c actor.Context, why error) {
	for _, by := range s.open.held.Holders() {
		if s.lose(by, phalanx.ErrAborted, why) {
			s.let(c, by)
		}
	}
}

// holdsIn ends the Holds that a view ends.
func (s *service) holdsIn(c actor.Context, m cluster.Viewed) {
	self, ok := m.View.Member(m.Self)
	s.leaves = ok && self.Leaving
	if s.self != "" && s.self != m.Self {
		s.loseAll(c, errRemoved)
	}
	if s.leaves {
		s.loseAll(c, errLeaves)
	}
}
