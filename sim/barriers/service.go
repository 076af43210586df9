package barriers

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/node/member"
	"github.com/phalanx-go/phalanx/protocol/barrier"
	"github.com/phalanx-go/phalanx/protocol/leave"
	"github.com/phalanx-go/phalanx/sim"
)

const ms = time.Millisecond

const (
	managers = 3
	keep     = 3 * time.Second // longer than any message takes
	part     = 400             // bytes of a part: tiny here
	longest  = 1600            // bytes that the network takes: part of a state, the changes after it, and their headers
)

// Kind is the barriers as a service of a run.
var Kind = sim.Kind{Name: "barriers", Managed: true, New: func(w *sim.World) sim.Service {
	s := &service{World: w, hosts: map[*sim.Process]*host{}}
	s.check = newChecker(s)
	s.work = &workload{w: s, open: map[uint64]*call{}, watched: map[barrier.Key]bool{}}
	return s
}}

// service hosts the cores as package barrier does.
type service struct {
	*sim.World
	hosts    map[*sim.Process]*host
	work     *workload
	check    *checker
	restarts uint64 // of actors
}

// host is the service's part of a process.
type host struct {
	number uint64
	as     phalanx.NodeID
	past   barrier.Past
	core   *barrier.Core
	held   barrier.Holdings // by a *call; the service knows them outside of its actor
	late   barrier.Batch    // messages since the core's last step
}

// begin gives a process a new core.
func (s *service) begin(h *host) {
	h.late = nil
	h.core = barrier.NewCore(barrier.CoreConfig{Managers: managers, Keep: keep, Linger: time.Minute, Part: part, Window: 1 + int(s.Seed()%3), Past: &h.past,
		Attempts: h.number<<32 + s.restarts<<20})
}

// Learned gives a core its view.
func (s *service) Learned(p *sim.Process) {
	if s.hosts[p] == nil {
		s.hosts[p] = &host{number: uint64(len(s.hosts))}
		s.begin(s.hosts[p])
	}
	if m, _ := p.View.Member(p.Self); m.Leaving || s.hosts[p].as != p.Self {
		s.work.loseAll(p)
	}
	s.hosts[p].as = p.Self
	s.step(p, member.ForBarriers(Kind.Name, p.Self, p.View))
}

// Leased tells a core of its lease. It asks for the next lease if a call waits.
func (s *service) Leased(p *sim.Process, until time.Duration) {
	s.step(p, barrier.Leased{Until: until})
	if s.work.busy(p) || !s.hosts[p].core.Idle() {
		p.Want()
	}
}

// Encode returns a message as nodes send it.
func (s *service) Encode(from, to phalanx.NodeID, m any) ([]byte, error) {
	b, err := proto.Marshal(messages.BarrierToProto(from, to, m.(barrier.Message)))
	if err == nil && len(b) > longest {
		err = fmt.Errorf("it has %d bytes, at most %d can be sent", len(b), longest)
	}
	return b, err
}

// Decode is the inverse of Encode.
func (s *service) Decode(b []byte) (any, error) {
	var l messages.BarrierLetter
	if err := proto.Unmarshal(b, &l); err != nil {
		return nil, err
	}
	_, _, m, err := messages.BarrierFromProto(&l)
	return m, err
}

// Heard gives a core a message, together with others that come within a moment.
func (s *service) Heard(p *sim.Process, from phalanx.NodeID, m any) {
	p.Want()
	h := s.hosts[p]
	if h.late = append(h.late, barrier.Heard{From: from, Message: m.(barrier.Message)}); len(h.late) > 1 {
		return
	}
	s.After(s.Upto(ms), func() {
		s.To(p, func() {
			if len(h.late) > 0 {
				s.step(p, barrier.Batch{})
			}
		})
	})
}

// Due returns when a core wants a tick.
func (s *service) Due(p *sim.Process) (time.Duration, bool) { return s.hosts[p].core.Due() }

// Tick tells a core that time has passed.
func (s *service) Tick(p *sim.Process) { s.ask(p, barrier.Tick{}) }

// Remains reports whether the node still has barriers to hand over.
func (s *service) Remains(p *sim.Process) bool {
	view, left := s.hosts[p].core.Remains()
	return leave.Service{View: view, Left: left}.Remains(p.View.Number)
}

// Gone tells the checker that a process has gone.
func (s *service) Gone(p *sim.Process) {
	s.check.nodeGone(p)
	if p.Dead {
		s.work.nodeGone(p)
	}
}

// ask gives a core an event that takes a lease.
func (s *service) ask(p *sim.Process, e barrier.Event) {
	p.Want()
	s.step(p, e)
}

// step gives a core an event, after the messages that came before it, and carries out its outputs.
func (s *service) step(p *sim.Process, e barrier.Event) {
	h := s.hosts[p]
	if p.Dead {
		return
	}
	if batch := h.late; len(batch) > 0 {
		h.late = nil
		e = append(batch, e)
	}
	for _, o := range h.core.Step(p.Now(), e) {
		switch o := o.(type) {
		case barrier.Send:
			s.Send(p, o.To, o.Message)
		case barrier.Done:
			s.work.done(p, o)
		case barrier.GivenUp:
			s.work.givenUp(p, o)
		case barrier.Freed:
			h.held.Freed(o)
		case barrier.Callback:
			s.After(s.Upto(5*ms), func() {
				s.To(p, func() {
					s.ask(p, s.work.reply(o))
				})
			})
		default:
			s.check.saw(p, o)
		}
		s.check.holders()
	}
	s.Wake(p)
}

// massacre crashes all managers of a barrier at once.
func (s *service) massacre() string {
	gone := barrier.ManagersOf(member.ForBarriers(Kind.Name, "", s.View()), "b0")
	all := slices.DeleteFunc(s.Live(), func(p *sim.Process) bool { return !slices.Contains(gone, p.Self) })
	if s.restarts > 0 || !s.Crash(all...) { // another manager may still lack the state
		return "the managers of b0 are needed"
	}
	s.restarts++
	s.Met("fault: crash of all managers of a barrier")
	return "fault: crash of all managers of b0"
}
