package stage

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// SilentFor is how long a member may be silent before it is removed: for as long its
// lease lasts.
const SilentFor = 300 * ms

// Fault does something bad to a node that is well.
func (s *Stage) Fault() {
	live := s.Live()
	if len(live) < 2 {
		return
	}
	n := live[s.R.IntN(len(live))]
	switch s.R.IntN(6) {
	case 0, 1:
		s.Crash(n)
	case 2:
		s.Tracef("%s hangs", n.ID)
		n.hangs = true
		s.silent(n, func() { s.resume(n) })
	case 3:
		s.Tracef("%s is cut off", n.ID)
		n.cut = true
		s.silent(n, func() { n.cut = false })
	case 4:
		s.Tracef("%s leaves", n.ID)
		s.Change(func(v *View) { v.Leaving = append(v.Leaving, n.ID) })
		s.After(50*ms+s.Upto(300*ms), func() { s.remove(n); s.Kill(n) })
	case 5:
		s.Join()
	}
}

// Crash ends a node, which the others notice soon.
func (s *Stage) Crash(n *Node) {
	s.Tracef("%s crashes", n.ID)
	s.Kill(n)
	s.After(10*ms+s.Upto(50*ms), func() { s.remove(n) })
	if s.R.IntN(2) == 0 {
		s.After(100*ms+s.Upto(500*ms), func() { s.Join() })
	}
}

// Kill ends a node.
func (s *Stage) Kill(n *Node) {
	n.Dead, n.inbox = true, nil
	s.play.Gone(n)
}

// silent has a node that says nothing be removed when its lease has ended, or be
// itself again before.
func (s *Stage) silent(n *Node, heal func()) {
	if s.R.IntN(2) == 0 {
		s.After(s.Upto(400*ms), heal)
		return
	}
	s.After(SilentFor+200*ms+s.Upto(400*ms), func() {
		s.remove(n)
		// It finds that it was removed, when it finds anything.
		s.After(s.Upto(500*ms), func() {
			heal()
			s.After(s.Upto(50*ms), func() {
				if s.Rejoin && s.R.IntN(2) == 0 && !n.Dead {
					s.Tracef("%s joins again", n.ID)
					s.enter(n, n.ID.Name())
					return
				}
				s.Kill(n)
			})
		})
	})
}

func (s *Stage) resume(n *Node) {
	n.hangs = false
	inbox := n.inbox
	n.inbox = nil
	for _, f := range inbox {
		if !n.Dead {
			f()
		}
	}
}

// remove takes a node out of the view.
func (s *Stage) remove(n *Node) {
	if !slices.Contains(s.View.Members, n.ID) {
		return
	}
	if len(s.View.Members) == 1 {
		s.Join()
	}
	s.play.Gone(n)
	s.Change(func(v *View) {
		v.Members = slices.DeleteFunc(v.Members, func(id phalanx.NodeID) bool { return id == n.ID })
		v.Leaving = slices.DeleteFunc(v.Leaving, func(id phalanx.NodeID) bool { return id == n.ID })
	})
}

// Quiet ends the losses of messages.
func (s *Stage) Quiet(d time.Duration) {
	s.Faulty = false
	s.Run(d)
}
