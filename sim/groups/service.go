package groups

import (
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	node "github.com/phalanx-go/phalanx/node/member"
	"github.com/phalanx-go/phalanx/protocol/group"
	"github.com/phalanx-go/phalanx/sim"
)

const ms = time.Millisecond

// Kind is the groups as a service of a run.
var Kind = sim.Kind{Name: "groups", Crowded: true, New: func(w *sim.World) sim.Service {
	s := &service{World: w, cores: map[*sim.Process]*group.Core{}, cruel: w.Alone && w.R.IntN(2) == 0}
	s.check = newChecker(s)
	s.work = newWorkload(s)
	return s
}}

// service hosts the cores as package group does.
type service struct {
	*sim.World
	cores map[*sim.Process]*group.Core
	cruel bool         // coordinators die while they tell a decision, or propose a group to nodes that do not know it
	deaf  *sim.Process // its actor panics over the next message
	work  *workload
	check *checker
}

// Learned gives a core its view.
func (s *service) Learned(p *sim.Process) {
	if s.cores[p] == nil {
		s.cores[p] = group.NewCore(group.Config{})
	}
	s.step(p, node.ForGroups(Kind.Name, p.Self, p.View))
}

// Leased does nothing: a group needs no lease.
func (s *service) Leased(*sim.Process, time.Duration) {}

// Encode returns a message as nodes send it.
func (s *service) Encode(from, to phalanx.NodeID, m any) ([]byte, error) {
	return proto.Marshal(messages.GroupToProto(from, to, m.(group.Message)))
}

// Decode is the inverse of Encode.
func (s *service) Decode(b []byte) (any, error) {
	var l messages.GroupLetter
	if err := proto.Unmarshal(b, &l); err != nil {
		return nil, err
	}
	_, _, m, err := messages.GroupFromProto(&l)
	return m, err
}

// Heard gives a core a message.
func (s *service) Heard(p *sim.Process, from phalanx.NodeID, m any) {
	if s.deaf == p {
		s.deaf = nil
		s.Learned(p)
		return
	}
	s.step(p, group.Heard{From: from, Message: m.(group.Message)})
}

// Due returns when a core wants to be ticked.
func (s *service) Due(p *sim.Process) (time.Duration, bool) { return s.cores[p].Due() }

// Tick tells a core that time has passed.
func (s *service) Tick(p *sim.Process) { s.step(p, group.Tick{}) }

// Panics makes a node's actor panic over the next message, which gets lost. The core survives.
func (s *service) Panics(p *sim.Process) bool {
	s.deaf = p
	return true
}

// Remains returns false: members leave, and hand over nothing.
func (s *service) Remains(*sim.Process) bool { return false }

// Gone ends the members on a node.
func (s *service) Gone(p *sim.Process) { s.work.gone(p) }

// step gives a core an event, and carries out its outputs.
func (s *service) step(p *sim.Process, e group.Event) {
	for _, o := range s.cores[p].Step(p.Now(), e) {
		if p.Dead { // the process died during this step
			return
		}
		switch o := o.(type) {
		case group.Send:
			s.send(p, o)
		case group.Done:
			s.work.done(p, o)
		case group.GivenUp:
			s.work.givenUp(p, o)
		case group.Revoked:
			s.check.revoked(p, o)
		case group.Failed:
			s.check.failed(p, o)
		}
	}
	s.Wake(p)
}

// crucial reports whether the death of a coordinator matters before it has sent the message to all:
// the message is a decision, or names a group that its receiver may not know.
func crucial(m group.Message) bool {
	switch m := m.(type) {
	case group.Decide:
		return true
	case group.Propose:
		return m.Roster != nil
	}
	return false
}

// send sends a message. In a cruel run the node may die before.
func (s *service) send(p *sim.Process, o group.Send) {
	if s.cruel && crucial(o.Message) && s.R.IntN(30) == 0 && s.Well(p) && s.Crash(p) {
		s.Met("fault: crash of a coordinator of a group")
		return
	}
	s.Send(p, o.To, o.Message)
}
