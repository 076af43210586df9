package stage

import (
	"cmp"
	"container/heap"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/wire"
)

const ms = time.Millisecond

// Core is what a node runs.
type Core interface {
	// Due returns when the node wants to be ticked, by its own clock.
	Due() (at time.Duration, ok bool)
}

// Play is what is simulated.
type Play interface {
	// NewCore returns what the i-th node runs.
	NewCore(i int) Core
	// Learned hears that a node has learned its View.
	Learned(n *Node)
	// Encode returns a message as it crosses between real nodes.
	Encode(from, to phalanx.NodeID, m any) ([]byte, error)
	// Decode is the inverse of Encode.
	Decode(b []byte) (m any, err error)
	// Heard takes a message to a node.
	Heard(n *Node, from phalanx.NodeID, m any)
	// Tick tells a node that time has passed.
	Tick(n *Node)
	// Gone hears that a node has died, or was removed: what it has is not counted on.
	Gone(n *Node)
}

// View is who is a member.
type View struct {
	Number           uint64
	Members, Leaving []phalanx.NodeID
}

// Node is one process.
type Node struct {
	ID   phalanx.NodeID // of the present incarnation
	As   phalanx.NodeID // which it takes itself for
	Core Core
	View View // that it knows
	Dead bool

	offset time.Duration // of its clock
	hangs  bool
	cut    bool
	inbox  []func() // what waits while it hangs
	tick   time.Duration
	idle   int // ticks in a row that changed nothing
}

// Stage is the whole cluster.
type Stage struct {
	Seed   uint64
	R      *rand.Rand
	Now    time.Duration
	Nodes  []*Node // all that ever were
	View   View
	Faulty bool // messages are lost and doubled
	Rejoin bool // who was removed and lives joins again
	Err    error

	play  Play
	trace io.Writer
	queue events
	seq   uint64
	names uint64
}

// New returns a stage without nodes; trace may be nil.
func New(seed uint64, play Play, trace io.Writer) *Stage {
	return &Stage{Seed: seed, R: rand.New(rand.NewPCG(seed, 11)), play: play, trace: trace}
}

// event is something that happens at a time.
type event struct {
	at  time.Duration
	seq uint64
	do  func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(e[i].at, e[j].at), cmp.Compare(e[i].seq, e[j].seq)) < 0
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}

func (s *Stage) at(t time.Duration, f func()) {
	s.seq++
	heap.Push(&s.queue, event{max(t, s.Now), s.seq, f})
}

// After has f done after d.
func (s *Stage) After(d time.Duration, f func()) { s.at(s.Now+d, f) }

// Upto returns a random time of less than d.
func (s *Stage) Upto(d time.Duration) time.Duration { return time.Duration(s.R.Int64N(int64(d))) }

// Tracef says what happens.
func (s *Stage) Tracef(format string, args ...any) {
	if s.trace != nil {
		fmt.Fprintf(s.trace, "%10.3f "+format+"\n", append([]any{float64(s.Now) / float64(ms)}, args...)...)
	}
}

// Failf notes what is wrong, once: the simulation ends.
func (s *Stage) Failf(format string, args ...any) {
	if s.Err == nil {
		s.Err = fmt.Errorf("seed %d, at %v: "+format, append([]any{s.Seed, s.Now}, args...)...)
		s.Tracef("%v", s.Err)
	}
}

// Run goes on for d, or until something is wrong.
func (s *Stage) Run(d time.Duration) {
	until := s.Now + d
	for s.Err == nil && len(s.queue) > 0 && s.queue[0].at <= until {
		e := heap.Pop(&s.queue).(event)
		s.Now = e.at
		e.do()
	}
	s.Now = max(s.Now, until)
}

// Clock returns the time as a node has it.
func (s *Stage) Clock(n *Node) time.Duration { return s.Now + n.offset }

// Join adds a node.
func (s *Stage) Join() *Node {
	n := &Node{offset: s.Upto(1000 * ms), Core: s.play.NewCore(len(s.Nodes))}
	s.Nodes = append(s.Nodes, n)
	s.enter(n, fmt.Sprint("n", len(s.Nodes)-1))
	return n
}

// enter gives a node a new incarnation, and has it join.
func (s *Stage) enter(n *Node, name string) {
	s.names++
	n.ID = phalanx.MakeNodeID(name, s.names)
	s.Change(func(v *View) { v.Members = append(v.Members, n.ID) })
}

// Change decides a view, which every node learns at a time of its own.
func (s *Stage) Change(f func(*View)) {
	v := s.View
	v.Number++
	v.Members, v.Leaving = slices.Clone(v.Members), slices.Clone(v.Leaving)
	f(&v)
	s.View = v
	s.Tracef("view %d: %v, leaving %v", v.Number, v.Members, v.Leaving)
	for _, n := range s.Nodes {
		s.learn(n, v, s.Upto(20*ms))
	}
}

// learn has a node learn a view, once it can be reached.
func (s *Stage) learn(n *Node, v View, in time.Duration) {
	s.After(in, func() {
		if n.Dead || v.Number <= n.View.Number || !slices.Contains(v.Members, n.ID) {
			return
		}
		if n.cut {
			s.learn(n, v, 50*ms)
			return
		}
		s.To(n, func() {
			if v.Number > n.View.Number && slices.Contains(v.Members, n.ID) {
				n.View, n.As = v, n.ID
				s.play.Learned(n)
				s.Wake(n)
			}
		})
	})
}

// To has a node do something, later if it hangs.
func (s *Stage) To(n *Node, f func()) {
	if n.hangs {
		n.inbox = append(n.inbox, f)
		return
	}
	if !n.Dead {
		f()
	}
}

// Wake has a node ticked when it wants to be.
func (s *Stage) Wake(n *Node) {
	due, ok := n.Core.Due()
	if !ok {
		return
	}
	at := max(due-n.offset, s.Now)
	if at == s.Now {
		if n.idle++; n.idle > 1000 {
			s.Failf("%s wants to be ticked again and again", n.ID)
		}
	} else {
		n.idle = 0
	}
	if n.tick != 0 && n.tick <= at && n.tick > s.Now {
		return
	}
	n.tick = at
	s.at(at, func() {
		if n.tick == at {
			n.tick = 0
		}
		s.To(n, func() { s.play.Tick(n) })
	})
}

// Find returns the node of an incarnation, or nil.
func (s *Stage) Find(id phalanx.NodeID) *Node {
	i := slices.IndexFunc(s.Nodes, func(n *Node) bool { return n.ID == id })
	if i < 0 {
		return nil
	}
	return s.Nodes[i]
}

// Send brings a message to a node, or does not.
func (s *Stage) Send(from *Node, to phalanx.NodeID, m any) {
	n := s.Find(to)
	if n == nil {
		return
	}
	copies := 1
	if s.Faulty {
		switch s.R.IntN(20) {
		case 0:
			copies = 0
		case 1:
			copies = 2
		}
	}
	if from.cut != n.cut || from.cut && from != n {
		copies = 0
	}
	s.Tracef("%s -> %s %T%+v copies %d", from.ID, to, m, m, copies)
	sender := from.As
	decode := s.encode(sender, to, m)
	for range copies {
		delay := 100*time.Microsecond + s.Upto(900*time.Microsecond)
		if s.Faulty && s.R.IntN(10) == 0 {
			delay = s.Upto(400 * ms)
		}
		s.After(delay, func() {
			s.To(n, func() {
				if n.ID == to {
					s.play.Heard(n, sender, decode())
				}
			})
		})
	}
}

// encode returns what brings m to a node: each call decodes it anew. What a real
// connection would not take ends the simulation.
func (s *Stage) encode(from, to phalanx.NodeID, m any) (decode func() any) {
	b, err := s.play.Encode(from, to, m)
	if err == nil && len(b) > wire.MaxControl {
		err = fmt.Errorf("it has %d bytes, at most %d can be sent", len(b), wire.MaxControl)
	}
	if err != nil {
		s.Failf("%s cannot send a %T to %s: %v", from, m, to, err)
	}
	return func() any {
		got, err := s.play.Decode(b)
		if err != nil {
			s.Failf("%s cannot read a %T of %s: %v", to, m, from, err)
			return m
		}
		return got
	}
}

// Well reports whether a node is a member that works.
func (s *Stage) Well(n *Node) bool {
	return !n.Dead && !n.hangs && !n.cut && slices.Contains(s.View.Members, n.ID)
}

// Live are the nodes that are members and work.
func (s *Stage) Live() []*Node {
	var all []*Node
	for _, n := range s.Nodes {
		if s.Well(n) {
			all = append(all, n)
		}
	}
	return all
}
