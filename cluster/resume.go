package cluster

import (
	"context"
	"errors"
	"syscall"

	"github.com/phalanx-go/phalanx/node/member"
)

// Resume belongs to a service whose disk remembers a cluster.
type Resume struct {
	Addresses []string // control addresses of nodes to ask besides Config.Seeds
}

// Refused tells a service with a Resume that the host of a control address has refused a connection: no process
// listens there.
type Refused struct{ Address string }

// refused tells services why a connection could not be made.
func (n *Node) refused(address string, why error) {
	if !errors.Is(why, syscall.ECONNREFUSED) {
		return
	}
	for _, s := range n.cfg.Services {
		if s.Resume != nil {
			n.system.Root.Send(n.system.NewLocalPID(s.Name), Refused{address})
		}
	}
}

// resume is what a service decides about the node's way into a cluster. The node's lock guards it.
type resume struct {
	ways  member.Ways
	leave context.CancelFunc // ends the attempt of the incarnation that comes into a cluster
}

// firstWay returns how a node that starts comes into a cluster.
func (n *Node) firstWay() member.Way {
	resumes := false
	var known []string
	for _, s := range n.cfg.Services {
		if s.Resume != nil {
			resumes = true
			known = append(known, s.Resume.Addresses...)
		}
	}
	return member.FirstWay(n.ControlAddr(), n.cfg.Seeds, known, resumes)
}

// nextWay returns the way that was ordered, or else w.
func (n *Node) nextWay(w member.Way) member.Way {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.resume.ways.Take(w)
}

// enter brings an incarnation into a cluster, and reports whether another way was ordered meanwhile.
func (n *Node) enter(ctx context.Context, l *life, w member.Way) (ordered bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n.mu.Lock()
	if n.resume.ways.Ordered() {
		cancel()
	}
	n.resume.ways.Begin(w)
	n.resume.leave = cancel
	n.mu.Unlock()
	err = l.join(ctx, w)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.resume.ways.End()
	n.resume.leave = nil
	return n.resume.ways.Ordered(), err
}

// Begin has the node begin a cluster anew, in place of the one that it waits for, or that it is in: then this
// incarnation ends. The views of the cluster have Restarts, and it knows no object of a cluster before. Only one node of those that were in a cluster may do so:
// a service decides it that has asked a majority of their disks. A Leave that is under way ends with ErrFenced, or without an
// error if the node has handed over or no other member stays.
func (n *Node) Begin(restarts uint64) { n.order(member.BeginWay(restarts)) }

// Enter has the node enter the cluster of the node at a control address, in place of the one that it waits for, or
// that it is in: then this incarnation ends, and a Leave as with Begin.
func (n *Node) Enter(address string) { n.order(member.EnterWay(address)) }

// order has the next incarnation go a way. A node that is about to leave goes it too: its view may be dead for good, and then
// it could never leave that, and no other node may be able to begin the cluster.
func (n *Node) order(w member.Way) {
	select {
	case <-n.done:
		return
	default:
	}
	n.mu.Lock()
	if !n.resume.ways.Order(w) {
		n.mu.Unlock()
		return
	}
	leave := n.resume.leave
	n.mu.Unlock()
	if leave != nil {
		leave()
		return
	}
	n.life.Load().renew()
}

// renew ends an incarnation that is a member, for another cluster.
func (l *life) renew() {
	l.renews.Store(true)
	l.log.Warn("the node leaves its cluster, which was begun anew without it")
	l.onFenced()
}
