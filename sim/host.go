package sim

import (
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
)

// host is a machine with an address of its own. It runs one life of a node after the other.
type host struct {
	w       *world
	name    string
	lives   uint64        // how many have begun here
	process *Process      // nil while it does not run
	life    *node         // nil while no process listens
	next    func()        // begins the next life in the process of the last one; nil if that process is gone
	hung    bool          // the machine handles nothing and keeps messages that come
	frozen  []func()      // the events that it kept
	off     bool          // without power: the machine does not even refuse connections
	retired bool          // it never comes back
	slow    time.Duration // the machine handles everything late, by up to this time

	troubled time.Duration // a fault strikes the machine until then
}

// newHost adds a machine to the world.
func (w *world) newHost() *host {
	h := &host{w: w, name: hostName(len(w.hosts))}
	w.hosts = append(w.hosts, h)
	return h
}

// alive returns the running lives, in the order of their hosts.
func (w *world) alive() []*node {
	var out []*node
	for _, h := range w.hosts {
		if h.life != nil {
			out = append(out, h.life)
		}
	}
	return out
}

// after has the node do something d from now, if it is alive then.
func (n *node) after(d time.Duration, do func()) {
	if n.host.slow > 0 {
		d += n.w.draw(n.host.slow)
	}
	n.w.after(d, func() { n.run(do) })
}

// run handles an event of the node: now, when the machine resumes, or never.
func (n *node) run(do func()) {
	switch {
	case n.over:
	case n.host.hung:
		n.host.frozen = append(n.host.frozen, func() { n.run(do) })
	default:
		do()
	}
}

// hang stops a machine in the middle of everything, as SIGSTOP does.
func (h *host) hang() { h.hung = true }

// resume lets the machine go on: it handles at once everything that came meanwhile.
func (h *host) resume() {
	h.hung = false
	frozen := h.frozen
	h.frozen = nil
	for _, do := range frozen {
		do()
	}
}

// crash ends the process. Its peers notice at once, unless the machine lost its power.
func (h *host) crash(power bool) {
	n := h.life
	if n != nil && n.w.durable && !n.w.alone && !n.w.decides(func(o *node) bool { return !o.over && o.host != h }) {
		return // the store's oracle cannot follow a cluster that is begun anew
	}
	h.off, h.hung, h.frozen, h.slow, h.next = power, false, nil, 0, nil
	if h.process != nil {
		h.process.end()
	}
	if n == nil {
		return
	}
	h.life = nil
	n.end(nil)
	n.w.deaths++
	n.w.lost = n.w.lost || !n.w.durable && !n.w.decidable()
	if !power {
		n.disconnect(true)
	}
}

// disconnect tells all peers that their connections with n broke and that its actors have ended.
// The connections for actors' messages outlive a life that was removed.
func (n *node) disconnect(control bool) {
	for _, o := range n.w.alive() {
		if o == n || !n.w.linked(n.host, o.host) {
			continue
		}
		o.after(time.Millisecond+n.w.draw(3*time.Millisecond), func() {
			o.broken(n.id, control)
			o.reduces.connectionBroke(n.id) // its actors have ended
			n.w.step(o, "connection broken")
		})
	}
}

// restart starts the process again if it has ended. A process whose life was removed goes on by
// itself, with its copies.
func (h *host) restart() {
	if h.retired {
		return
	}
	h.off = false
	if h.life == nil && h.next == nil {
		h.begin(nil, nil)
	}
}

// end ends a life and everything that it does. Its callers get err; with nil they are gone too.
func (n *node) end(err *phalanx.Error) {
	n.over = true
	n.w.ended++
	for _, c := range n.w.calls {
		if c.node != n || c.ended {
			continue
		}
		if err == nil {
			n.w.vanish(c)
			continue
		}
		n.w.end(c, errorf(err.Kind, c.object, "%v", err.Err), phalanx.Generation{}, nil)
	}
}

// fenced hears that the others have removed this life. The process ends all roles, keeps its
// complete copies and joins as a new incarnation.
func (n *node) fenced() {
	w, h := n.w, n.host
	if n.member {
		w.met["fenced node rejoins"]++
	}
	kept := map[phalanx.ObjectID]*copied{}
	for _, c := range n.wholes() {
		k := n.copyFor(copies.Copy{Object: c.Object, Gen: c.Gen, Meta: c.Meta, Digest: c.Digest, Pinned: c.Pinned, Lore: c.Lore})
		k.flipped, k.small, k.bytes = c.flipped, c.small, c.bytes
		k.fill(c.bytes)
		k.room, k.born = c.room, w.now
		kept[c.Object] = k
	}
	n.process.ways.End()
	n.end(&phalanx.Error{Kind: phalanx.ErrFenced, Err: fmt.Errorf("the cluster has removed %s", n.id)})
	h.life = nil
	n.disconnect(false)
	known := n.joining.known
	if n.member {
		known = []string{}
		for _, m := range n.view.Members {
			if m.ID != n.id {
				known = append(known, m.ID.Name())
			}
		}
	}
	h.next = func() { h.begin(kept, known) }
	w.after(50*time.Millisecond+w.draw(50*time.Millisecond), func() {
		h.later(func() {
			if h.next != nil && h.lives == n.life {
				h.next()
			}
		})
	})
}

// later does something in a process that has no life at the moment.
func (h *host) later(do func()) {
	if h.hung {
		h.frozen = append(h.frozen, do)
		return
	}
	do()
}

// The network between machines.

// linked reports whether messages get from one machine to the other.
func (w *world) linked(from, to *host) bool { return from == to || w.cut[[2]*host{from, to}] == 0 }

// reaches reports whether a machine is linked, in both directions, with most others, of which those
// count that do not hang.
func (w *world) reaches(h *host) bool {
	cut := 0
	for _, o := range w.hosts {
		if o != h && o.hung || !w.linked(h, o) || !w.linked(o, h) {
			cut++
		}
	}
	return 2*cut < len(w.hosts)
}

// cutOff cuts or mends the way from one machine to another.
func (w *world) cutOff(from, to *host, cut bool) {
	if cut {
		w.cut[[2]*host{from, to}]++
	} else {
		w.cut[[2]*host{from, to}]--
	}
}

// untouched reports whether all machines run and reach each other.
func (w *world) untouched() bool {
	for _, n := range w.cut {
		if n > 0 {
			return false
		}
	}
	for _, h := range w.hosts {
		if h.hung || h.slow > 0 {
			return false
		}
	}
	return true
}
