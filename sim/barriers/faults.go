package barriers

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// fault does something bad to a node that is well. Of a barrier's managers one is
// left: the next fault waits until the last one is over and noticed.
func (w *world) fault() {
	live := w.live()
	if len(live) < 2 {
		return
	}
	n := live[w.r.IntN(len(live))]
	switch w.r.IntN(6) {
	case 0, 1:
		w.crash(n)
	case 2:
		w.tracef("%s hangs", n.id)
		n.hangs = true
		w.silent(n, func() { w.resume(n) })
	case 3:
		w.tracef("%s is cut off", n.id)
		n.cut = true
		w.silent(n, func() { n.cut = false })
	case 4:
		w.tracef("%s leaves", n.id)
		w.change(func(v *barrier.Viewed) { v.Leaving = append(v.Leaving, n.id) })
		w.after(time.Duration(50+w.r.IntN(300))*ms, func() { w.remove(n); w.kill(n) })
	case 5:
		w.join()
	}
}

func (w *world) crash(n *node) {
	w.tracef("%s crashes", n.id)
	w.kill(n)
	w.after(time.Duration(10+w.r.IntN(50))*ms, func() { w.remove(n) })
	if w.r.IntN(2) == 0 {
		w.after(time.Duration(100+w.r.IntN(500))*ms, func() { w.join() })
	}
}

// massacre kills all managers of a barrier at once.
func (w *world) massacre() {
	gone := barrier.ManagersOf(w.view, "b0")
	for _, n := range w.live() {
		if slices.Contains(gone, n.id) {
			w.crash(n)
		}
	}
	w.run(w.now + 2*time.Second)
}

func (w *world) kill(n *node) {
	n.dead, n.inbox = true, nil
	w.check.nodeGone(n)
	w.work.nodeGone(n)
}

// silent has a node that says nothing be removed when its lease has ended, or be
// itself again before.
func (w *world) silent(n *node, heal func()) {
	if w.r.IntN(2) == 0 {
		w.after(time.Duration(w.r.IntN(400))*ms, heal)
		return
	}
	w.after(leaseFor+time.Duration(200+w.r.IntN(400))*ms, func() {
		w.remove(n)
		// It finds that it was removed, when it finds anything.
		w.after(time.Duration(w.r.IntN(500))*ms, func() {
			heal()
			w.after(time.Duration(w.r.IntN(50))*ms, func() { w.kill(n) })
		})
	})
}

func (w *world) resume(n *node) {
	n.hangs = false
	inbox := n.inbox
	n.inbox = nil
	for _, f := range inbox {
		if !n.dead {
			f()
		}
	}
}

// remove takes a node out of the view.
func (w *world) remove(n *node) {
	if !slices.Contains(w.view.Members, n.id) {
		return
	}
	if len(w.view.Members) == 1 {
		w.join()
	}
	w.check.removed(n)
	w.change(func(v *barrier.Viewed) {
		v.Members = slices.DeleteFunc(v.Members, func(id phalanx.NodeID) bool { return id == n.id })
		v.Leaving = slices.DeleteFunc(v.Leaving, func(id phalanx.NodeID) bool { return id == n.id })
	})
}
