package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/phalanx-go/phalanx"
	nleave "github.com/phalanx-go/phalanx/node/leave"
	"github.com/phalanx-go/phalanx/node/member"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Service is a protocol that the nodes host beside the store: its core on each node, the
// applications that use it, and a checker of its promises. One value serves a whole run.
type Service interface {
	// Plan draws the applications' actions, each at a time after the workload has begun. The
	// actions come within over.
	Plan(over time.Duration, add func(at time.Duration, do func() string))
	// Learned gives the core of a process its view, in which Self is a member. The first call
	// begins the core.
	Learned(p *Process)
	// Leased tells how long the process is surely a member, by its clock.
	Leased(p *Process, until time.Duration)
	// Encode encodes a message as real nodes do; Decode is the inverse.
	Encode(from, to phalanx.NodeID, m any) ([]byte, error)
	Decode(b []byte) (any, error)
	// Heard gives the core a message.
	Heard(p *Process, from phalanx.NodeID, m any)
	// Due returns when the core wants a tick, by the process's clock.
	Due(p *Process) (at time.Duration, ok bool)
	// Tick tells the core that time has passed.
	Tick(p *Process)
	// Panics replaces the core's actor. It reports whether the run's bounds allow it.
	Panics(p *Process) bool
	// Gone hears that a process has ended, or that the cluster has removed Self: the service no
	// longer counts on it.
	Gone(p *Process)
	// Remains reports whether a leaving process still has something to hand over.
	Remains(p *Process) bool
	// Missing names a promise that must hold after the faults but does not yet, or returns "".
	Missing() string
	// GiveUp ends the waiting calls. It reports whether the service must send nothing from now on.
	GiveUp() (silent bool)
}

// Resumer is a Service with a part that is there before its node is a member, such as a disk, and that decides how the node
// comes into a cluster.
type Resumer interface {
	// Started begins the service's part of a process, before its node joins. resumes says that a disk of the process belongs
	// to a cluster, and known are addresses of other nodes of that.
	Started(p *Process) (known []string, resumes bool)
	// NoLease tells that the process hears of no majority of the voters, and gets no lease.
	NoLease(p *Process)
	// Posted gives the service a message to its address.
	Posted(p *Process, from string, m any)
	// Quiet reports whether a node sends m also while there is nothing to do.
	Quiet(m any) bool
	// State describes the service's part of the nodes, for the report of a run that does not come to its end.
	State() string
}

// Kind is a service that a run can have.
type Kind struct {
	Name    string // of the feature in the view
	New     func(*World) Service
	Crowded bool // alone: a fault does not wait for the last one to end
	Managed bool // alone: some runs have more nodes, and many of them die at once
	Durable bool // it has disks: after the faults all machines run again, and a cluster that has ended is begun anew
}

// World is a service's access to a run.
type World struct {
	R     *rand.Rand // of the service
	Alone bool       // no caller uses the store, and there is no other service
	cruel bool       // many nodes may die at once, so that the cluster may lose all that it knows of something

	w       *world
	number  int
	service Service
	resumer Resumer // the same; nil: it is none
	silent  bool    // the service must send nothing
}

// newServices begins the services of a run.
func (w *world) newServices(kinds []Kind) {
	for i, k := range kinds {
		s := &World{R: rand.New(rand.NewPCG(w.seed, 0x5be0cd19137e2179+uint64(i))), Alone: w.alone, cruel: w.shape.faults == excessive || w.alone && k.cruel(w.seed), w: w, number: i}
		s.service = k.New(s)
		s.resumer, _ = s.service.(Resumer)
		w.durable = w.durable || k.Durable
		w.services = append(w.services, s)
		w.features = append(w.features, k.Name)
	}
}

// Cruel reports whether the cluster may lose all that it knows of something: many nodes may die at
// once, or so many have died that an operator formed the cluster anew.
func (s *World) Cruel() bool {
	return s.cruel || s.w.met["cluster formed anew"] > 0 || s.AllLeave()
}

// AllLeave reports whether no member stays: the last ones hand nothing over.
func (s *World) AllLeave() bool { return s.w.audit.noneStays() }

// Seed returns the run's seed.
func (s *World) Seed() uint64 { return s.w.seed }

// Now returns the time.
func (s *World) Now() time.Duration { return s.w.now }

// View returns the newest view.
func (s *World) View() view.View { return s.w.audit.newest }

// Member reports whether the newest view has a node.
func (s *World) Member(id phalanx.NodeID) bool { return s.w.audit.newest.Has(id) }

// Upto returns a random time of less than d.
func (s *World) Upto(d time.Duration) time.Duration { return time.Duration(s.R.Int64N(int64(d))) }

// After calls f after d.
func (s *World) After(d time.Duration, f func()) { s.w.after(d, f) }

// Met counts a thing that the run has met.
func (s *World) Met(what string) { s.w.met[what]++ }

// Tracef writes a line to the trace.
func (s *World) Tracef(format string, args ...any) { s.w.trace.say(s.w.now, "", format, args...) }

// Traced reports whether the trace has a reader.
func (s *World) Traced() bool { return s.w.trace.out != nil }

// Failf ends the run, unless it lost a majority of the voters: then the service promises nothing.
func (s *World) Failf(format string, args ...any) {
	if s.w.lost || s.w.shape.faults == crowded && !s.w.decidable() {
		s.w.met["service fails without a majority"]++
		return
	}
	s.w.fail(format, args...)
}

// Fail ends the run, also one that lost a majority of the voters: the service promises more than that.
func (s *World) Fail(format string, args ...any) { s.w.fail(format, args...) }

// Well reports whether a process works, and is a member.
func (s *World) Well(p *Process) bool {
	return !p.Dead && !p.host.hung && s.Member(p.Self) && s.w.reaches(p.host)
}

// Live returns the processes that are well.
func (s *World) Live() []*Process {
	var all []*Process
	for _, h := range s.w.hosts {
		if p := h.process; p != nil && s.Well(p) {
			all = append(all, p)
		}
	}
	return all
}

// Find returns the process whose services know it by this incarnation, or nil.
func (s *World) Find(id phalanx.NodeID) *Process {
	if n := s.w.byID[id]; n != nil && n.process.Self == id {
		return n.process
	}
	return nil
}

// Join adds a node, and calls then when it is a member.
func (s *World) Join(then func()) {
	n, latest := s.w.newHost().begin(nil, nil), s.w.now+time.Second
	var look func()
	look = func() {
		if s.Well(n.process) || s.w.now > latest {
			then()
			return
		}
		s.w.after(time.Millisecond, look)
	}
	look()
}

// Crash ends processes at once, if the run's bounds allow it, and reports whether they do.
func (s *World) Crash(all ...*Process) bool {
	hosts := make([]*host, len(all))
	for i, p := range all {
		if hosts[i] = p.host; p.host.life == nil { // its process has ended already
			return false
		}
	}
	if s.w.calmed || !s.w.dispensable(hosts...) {
		return false
	}
	s.w.paired = s.w.paired || len(hosts) > 1
	for _, h := range hosts {
		s.w.kill(s.R, h, false)
	}
	return true
}

// Blackout has all machines lose their power at once, as soon as the run's bounds allow it. Each comes back within back, and
// comes says which do.
func (s *World) Blackout(back time.Duration, comes func(name string) bool) {
	w := s.w
	w.strike(func() {
		for _, h := range w.hosts {
			if h.process == nil && h.life == nil {
				continue
			}
			h.struck(w.now)
			h.crash(true)
			if !comes(h.name) {
				w.mends = append(w.mends, h.spared)
				continue
			}
			w.over(s.Upto(back), func() {
				h.spared()
				h.restart()
			})
		}
	})
}

// Retire ends a process for good: its machine never comes back. It reports whether the run's bounds allow that.
func (s *World) Retire(p *Process) bool {
	h := p.host
	if s.w.calmed || !s.w.dispensable(h) || s.w.running() < 4 {
		return false
	}
	h.retired = true
	h.struck(s.w.now)
	h.crash(true)
	return true
}

// Owes has the machine of a process come back after the process has left: it has something that nobody has taken.
func (s *World) Owes(p *Process) {
	if n := p.host.life; n != nil {
		n.owes = true
	}
}

// Reboot ends a process, which begins again after a while, as a supervisor does with one that has ended itself.
func (s *World) Reboot(p *Process) {
	h := p.host
	h.crash(false)
	s.After(s.Upto(500*time.Millisecond), h.restart)
}

// Seeds returns the seeds of a process.
func (s *World) Seeds(p *Process) []string { return s.w.seeds(p.host) }

// To has a process do something, later if it hangs.
func (s *World) To(p *Process, f func()) { p.run(f) }

// letter is a message of a service.
type letter struct {
	service int
	message any
}

func (s *World) encode(from, to phalanx.NodeID, m letter) (encoded, error) {
	b, err := s.service.Encode(from, to, m.message)
	return encoded{b, -1, s.service.Decode}, err
}

// Send sends a message to a member of the process's view. It goes to the process that is at the
// member's address by then, which takes messages for its own incarnation.
func (s *World) Send(p *Process, to phalanx.NodeID, m any) {
	if !p.View.Has(to) {
		return
	}
	w, from, dest := s.w, p.Self, s.w.byID[to].host
	w.overhear(from, to, letter{s.number, m})
	if w.trace.out != nil {
		w.trace.say(w.now, string(from), "-> %s %T%+v", to, m, m)
	}
	decode := w.encode(from, to, letter{s.number, m})
	w.weathered(func() {
		q := dest.process
		if q == nil || !w.linked(p.host, dest) {
			w.met["message cut off"]++
			return
		}
		q.hear(func() {
			if q.Self == to {
				s.service.Heard(q, from, decode())
				w.happened(q, "letter")
			}
		})
	})
}

// Post sends a message to the service at an address, whichever process is there by then.
func (s *World) Post(p *Process, to string, m any) {
	w, from, dest := s.w, p.host, s.w.named(to)
	if dest == nil {
		return
	}
	w.overhear(phalanx.NodeID(from.name), phalanx.NodeID(to), letter{s.number, m})
	if w.trace.out != nil {
		w.trace.say(w.now, from.name, "-> %s %T%+v", to, m, m)
	}
	decode := func() any { return m }
	if !w.bare() || !s.resumer.Quiet(m) {
		decode = w.encode(phalanx.NodeID(from.name), phalanx.NodeID(to), letter{s.number, m})
	}
	receiver := dest.process
	w.weathered(func() {
		q := dest.process
		// The queue of a message is with the processes on both ends: it outlives one of them, not both.
		gone := from.process != p && dest.process != receiver
		if q == nil || gone || !w.linked(from, dest) {
			w.met["message cut off"]++
			return
		}
		q.hear(func() {
			s.resumer.Posted(q, from.name, decode())
			w.happened(q, "letter")
		})
	})
}

// Process is a program on a machine. It runs one life of a node after the other, and the services,
// which outlive a removal from the cluster.
type Process struct {
	Self phalanx.NodeID // the incarnation that the services know; "": none yet
	View view.View      // the last view that contains Self
	Dead bool

	w     *world
	host  *host
	born  time.Duration   // its clock starts here
	ticks []time.Duration // when each service gets its next tick; 0: never
	idle  int             // successive ticks at the same time

	ways     member.Ways
	features []string // besides the names of the services
	known    []string // nodes of the cluster that a disk of it belongs to
	resumes  bool     // there is such a disk

	leaves func(*node) // what the next incarnation does once it is a member, since the one before was to leave; nil: nothing
}

// Name returns the name of the process's machine, which is its address.
func (p *Process) Name() string { return p.host.name }

// Refuses reports whether the store of the process takes no objects: the node is leaving.
func (p *Process) Refuses() bool { return p.host.life != nil && p.host.life.refuses }

// Offer says, as the process starts, that its incarnations have a feature besides those of the services.
func (p *Process) Offer(feature string) { p.features = append(p.features, feature) }

// Begin has the node begin a cluster anew, in place of the one that it is in or waits for.
func (p *Process) Begin(restarts uint64) { p.order(member.BeginWay(restarts)) }

// Enter has the node enter the cluster of the node at an address, in place of the one that it is in or waits for.
func (p *Process) Enter(address string) { p.order(member.EnterWay(address)) }

// order has the process's next incarnation go a way. This one ends. If it leaves, the process ends with it, or the next one leaves.
func (p *Process) order(w member.Way) {
	p.w.after(0, func() {
		p.run(func() {
			n := p.host.life
			if !p.ways.Order(w) || n == nil {
				return
			}
			if p.w.met["incarnation ends for another cluster"]++; n.leaver != nil {
				p.w.met["leave: the cluster is begun anew meanwhile"]++
				n.leaver.step(nleave.Fenced(n.id, n.view))
				return
			}
			n.fenced()
		})
	})
}

// leavesAgain has an incarnation that is a member leave if the one before did.
func (p *Process) leavesAgain(n *node) {
	if leaves := p.leaves; leaves != nil {
		p.leaves = nil
		n.after(0, func() { leaves(n) })
	}
}

// started begins the services' parts of a process.
func (p *Process) started() {
	for _, s := range p.w.services {
		if s.resumer != nil {
			known, resumes := s.resumer.Started(p)
			p.known, p.resumes = append(p.known, known...), p.resumes || resumes
		}
	}
}

// Now returns the time by the process's clock.
func (p *Process) Now() time.Duration { return p.w.now - p.born }

// Want says that the node needs a lease.
func (p *Process) Want() {
	if n := p.host.life; n != nil {
		n.want()
	}
}

// end ends the process, with its applications.
func (p *Process) end() {
	p.Dead, p.host.process = true, nil
	p.gone()
}

func (p *Process) gone() {
	for _, s := range p.w.services {
		s.service.Gone(p)
	}
}

// run has the process do something: now, when its machine resumes, or never.
func (p *Process) run(do func()) {
	switch {
	case p.Dead:
	case p.host.hung:
		p.host.frozen = append(p.host.frozen, func() { p.run(do) })
	default:
		do()
	}
}

// hear has the process handle a message.
func (p *Process) hear(do func()) {
	if p.host.slow > 0 {
		p.w.after(p.w.draw(p.host.slow), func() { p.run(do) })
		return
	}
	p.run(do)
}

// removed tells the services which processes the newest view has removed.
func (w *world) removed(old, v view.View) {
	for _, m := range old.Members {
		if p := w.byID[m.ID].process; !v.Has(m.ID) && p.Self == m.ID && !p.Dead {
			p.gone()
		}
	}
}

// learned gives the services the view of a life.
func (p *Process) learned(n *node) {
	p.Self, p.View = n.id, n.view
	for _, s := range p.w.services {
		s.service.Learned(p)
	}
}

// leased tells the services the lease of a life.
func (p *Process) leased(n *node, until time.Duration) {
	if p.Self != n.id {
		return
	}
	for _, s := range p.w.services {
		s.service.Leased(p, until+n.born-p.born)
	}
}

// noLease tells the services that a life finds no majority.
func (p *Process) noLease(n *node) {
	for _, s := range p.w.services {
		if s.resumer != nil && p.Self == n.id {
			s.resumer.NoLease(p)
		}
	}
}

// Wake plans the next tick of a process's core. The service calls it after each step.
func (s *World) Wake(p *Process) {
	due, ok := s.service.Due(p)
	if !ok || p.Dead {
		return
	}
	at, set := max(due+p.born, s.w.now), p.ticks[s.number]
	if at > s.w.now {
		p.idle = 0
	} else if p.idle++; p.idle > 1000 {
		s.w.fail("%s asks for a tick again after every tick", p.Self)
	}
	if set != 0 && set <= at && set > s.w.now {
		return
	}
	p.ticks[s.number] = at
	s.w.after(at-s.w.now, func() {
		if p.ticks[s.number] == at {
			p.ticks[s.number] = 0
		}
		p.hear(func() { s.service.Tick(p); s.w.happened(p, "tick") })
	})
}

// happened notes an event of a service.
func (w *world) happened(p *Process, what string) {
	if w.steps++; w.steps > mostSteps {
		w.fail("(22) the run has not ended after %d steps", w.steps)
	}
	w.trace.add(uint64(w.now))
	w.trace.text(string(p.Self))
	w.trace.text(what)
}

// panicsService replaces the actor of a service on some node.
func (w *world) panicsService(r *rand.Rand) string {
	s := w.services[r.IntN(len(w.services))]
	live := s.Live()
	if len(live) == 0 {
		return "no service panics"
	}
	p := live[r.IntN(len(live))]
	if !s.service.Panics(p) {
		return "no service may panic"
	}
	w.met["panic: "+w.features[s.number]]++
	return fmt.Sprintf("the %s of %s panic", w.features[s.number], p.Self)
}

// servicesEnd waits until all promises of the services hold.
func (w *world) servicesEnd() {
	for _, s := range w.services {
		var missing string
		if !w.until(w.now+settled, func() bool { missing = s.service.Missing(); return missing == "" }) {
			if s.resumer != nil {
				missing += s.resumer.State()
			}
			s.Failf("%s", missing)
		}
		s.silent = s.service.GiveUp()
	}
}
