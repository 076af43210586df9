package cluster

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/idle"
	"github.com/phalanx-go/phalanx/protocol/leave"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Service is an actor that runs on a node as long as the node does, and that the
// same actor on other members talks to. Members say in the view which services they
// have. It is told each view and each lease of the node.
type Service struct {
	Name  string // of the actor, and of the feature in the view
	Actor func(*Node) *actor.Props

	// Features are more features that members with this service have in the view.
	Features []string

	// NoLease says that the actor is told NoLease.
	NoLease bool

	// Durable says that what Remains is on a disk, and that the service can begin the cluster anew (Node.Begin). A node that leaves waits for
	// members whose processes have ended: they may start again over their disks.
	Durable bool

	// With are services that this one needs: they start before it, as if they stood before it in Config.Services.
	With []Service

	// Resume, if it is set, says that a disk of this node belongs to a cluster, of which all nodes may have been
	// stopped. Then Join begins no cluster: it enters that of Seeds or of the nodes at these addresses, if there is one,
	// or does as the service says (Node.Begin, Node.Enter).
	Resume *Resume
}

// withNeeded returns services with those that they need, each behind these.
func withNeeded(services []Service) (all []Service) {
	for _, s := range services {
		all = append(append(all, withNeeded(s.With)...), s)
	}
	return all
}

// Viewed tells a service a new view, and as which incarnation the node is in it.
type Viewed struct {
	Self phalanx.NodeID
	View view.View
}

// Leased tells a service until when, by Node.Now, the node is surely a member.
type Leased struct{ Until time.Duration }

// NoLease tells a service with NoLease that the node hears of no majority of the voters: it wants a lease, and gets none. The
// next Leased ends that.
type NoLease struct{}

// tellNoLease tells the services that want to know.
func (n *Node) tellNoLease() {
	for i, pid := range n.services {
		if n.cfg.Services[i].NoLease {
			n.system.Root.Send(pid, NoLease{})
		}
	}
}

// startServices starts the actors of the services, if they have not been.
func (n *Node) startServices() error {
	for _, s := range n.cfg.Services[len(n.services):] {
		pid, err := n.spawner(n.restarting)(s.Actor(n), s.Name)
		if err != nil {
			return err
		}
		n.services = append(n.services, pid)
	}
	return nil
}

// tellServices sends every service a message.
func (n *Node) tellServices(message any) {
	for _, pid := range n.services {
		n.system.Root.Send(pid, message)
	}
}

func (n *Node) stopServices() {
	for _, pid := range n.services {
		_ = n.system.Root.StopFuture(pid).Wait()
	}
}

// Holds counts what a service holds against the node's memory cap: bytes in all, in place of
// the last count. The node cannot refuse a service memory that others have accepted for it:
// it evicts copies for it, and Puts wait. The count of a service ends with the node.
func (n *Node) Holds(service string, bytes int64) {
	n.mu.Lock()
	if n.held == nil {
		n.held = map[string]int64{}
	}
	more := bytes - n.held[service]
	n.held[service] = bytes
	n.mu.Unlock()
	switch {
	case more > 0:
		n.budget.Force(more)
	case more < 0:
		n.budget.Release(-more)
	}
	n.budget.Last(0, more)
}

// Remains says how much a service has to hand over yet before the node may leave, as of a view. A
// service that has called it calls it for each view that it is told: Leave waits until nothing remains
// as of the present one. Others need not.
func (n *Node) Remains(service string, view uint64, left int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.remains == nil {
		n.remains = map[string]leave.Service{}
	}
	n.remains[service] = leave.Service{View: view, Left: left}
}

// notHandedOver returns the services of which something remains as of a view, or may remain.
func (n *Node) notHandedOver(view uint64) (all []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, s := range n.remains {
		if s.Remains(view) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// anyDurable reports whether one of the named services is Durable.
func (n *Node) anyDurable(names []string) bool {
	return slices.ContainsFunc(n.cfg.Services, func(s Service) bool { return s.Durable && slices.Contains(names, s.Name) })
}

// heldByServices is the memory of all services, in bytes.
func (n *Node) heldByServices() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	sum := int64(0)
	for _, bytes := range n.held {
		sum += bytes
	}
	return sum
}

// features are the names of the services.
func (n *Node) features() []string {
	var names []string
	for _, s := range n.cfg.Services {
		names = append(append(names, s.Name), s.Features...)
	}
	return names
}

// Log is the node's logger, which drops lines that repeat too often.
func (n *Node) Log() logrus.FieldLogger { return n.log }

// Now is the node's clock, which starts with it.
func (n *Node) Now() time.Duration { return n.clock() }

// ServiceOn returns the actor of a service on a member; ok is false if id is no
// member or has no such service.
func (n *Node) ServiceOn(id phalanx.NodeID, name string) (pid *actor.PID, ok bool) {
	m, ok := n.View().Member(id)
	if !ok || !m.Has(name) {
		return nil, false
	}
	return n.remote.PID(m.Control, name), true
}

// Service returns the actor of a service on this node; ok is false if there is none.
func (n *Node) Service(name string) (pid *actor.PID, ok bool) {
	for i, s := range n.cfg.Services {
		if s.Name == name {
			return n.services[i], true
		}
	}
	return nil, false
}

// WantLease has this node keep a lease (Leased) for the next two seconds. A service calls
// it whenever it is asked for something, and with each Leased for as long as it answers for
// something: a node without such calls has no lease.
func (n *Node) WantLease() {
	if l := n.life.Load(); l != nil {
		l.want()
	}
}

// idleAfter is how long a node keeps its lease after the last request that needs one.
const idleAfter = 2 * time.Second

// want notes a request that needs a lease. It is called for every such request.
func (l *life) want() {
	now, last := l.n.clock(), l.wanted.Load()
	if !idle.Wants(now, time.Duration(last), time.Duration(l.leasedUntil.Load()), idleAfter) {
		return
	}
	if m := l.agreeing.Load(); m != nil && l.wanted.CompareAndSwap(last, int64(max(now, 1))) {
		m.Want()
	}
}

// leased takes note of a lease.
func (l *life) leased(until time.Duration) {
	l.leasedUntil.Store(int64(until))
	l.host.Leased(until)
	l.n.tellServices(Leased{Until: until})
}
