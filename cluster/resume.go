package cluster

import (
	"context"
	"errors"
	"slices"
	"syscall"
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

// way is how an incarnation comes into a cluster.
type way struct {
	seeds    []string
	known    []string // control addresses that are asked as well
	again    bool     // it was a member before, together with those
	waits    bool     // it begins no cluster, whoever is asked
	restarts uint64   // of a cluster that it begins
}

// resume is what a service decides about the node's way into a cluster. The node's lock guards it.
type resume struct {
	next  *way               // of the next incarnation; nil: none was ordered
	now   *way               // of the incarnation that comes into a cluster; nil: none does
	leave context.CancelFunc // ends its attempt
}

// firstWay returns how a node that starts comes into a cluster.
func (n *Node) firstWay() way {
	w := way{seeds: n.cfg.Seeds}
	for _, s := range n.cfg.Services {
		if s.Resume != nil {
			w.waits = true
			w.known = append(w.known, s.Resume.Addresses...)
		}
	}
	if w.waits && len(w.seeds)+len(w.known) == 0 {
		w.known = []string{n.ControlAddr()} // without any it would begin a cluster
	}
	return w
}

// nextWay returns the way that was ordered, or else w.
func (n *Node) nextWay(w way) way {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.resume.next != nil {
		w, n.resume.next = *n.resume.next, nil
	}
	return w
}

// enter brings an incarnation into a cluster, and reports whether another way was ordered meanwhile.
func (n *Node) enter(ctx context.Context, l *life, w way) (ordered bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n.mu.Lock()
	if n.resume.next != nil {
		cancel()
	}
	n.resume.now, n.resume.leave = &w, cancel
	n.mu.Unlock()
	err = l.join(ctx, w)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.resume.now, n.resume.leave = nil, nil
	return n.resume.next != nil, err
}

// Begin has the node begin a cluster anew, in place of the one that it waits for, or that it is in: then this
// incarnation ends. The views of the cluster have Restarts, and it knows no object of a cluster before. Only one node of those that were in a cluster may do so:
// a service decides it that has asked a majority of their disks.
func (n *Node) Begin(restarts uint64) { n.order(way{restarts: restarts}) }

// Enter has the node enter the cluster of the node at a control address, in place of the one that it waits for, or
// that it is in: then this incarnation ends.
func (n *Node) Enter(address string) {
	n.order(way{known: []string{address}, again: true, waits: true})
}

func (n *Node) order(w way) {
	n.mu.Lock()
	same := func(o *way) bool {
		return o != nil && o.restarts == w.restarts && o.waits == w.waits && (!w.waits || slices.Contains(slices.Concat(o.seeds, o.known), w.known[0]))
	}
	if n.leaving || same(n.resume.now) || same(n.resume.next) {
		n.mu.Unlock()
		return
	}
	n.resume.next = &w
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
