package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
)

func (w *world) join(disk string) {
	w.names++
	if disk == "" {
		disk = fmt.Sprintf("disk%d", len(w.disks))
	}
	id := phalanx.MakeNodeID(fmt.Sprintf("n%d", w.names), uint64(w.names))
	offer := Offer{Slots: 1 + w.r.IntN(3), Functions: []Function{{"f", 1}, {"g", 1}}}
	if w.r.IntN(4) > 0 || w.calm {
		offer.Disk = disk
	}
	if w.disks[disk] == nil {
		w.disks[disk] = map[Blob]uint64{}
	}
	if w.names > 1 && w.r.IntN(4) == 0 && !w.calm {
		offer.Functions = offer.Functions[:1]
	}
	w.nodes[id] = &machine{id: id, disk: disk, x: NewExecutor(offer), inView: true, store: map[Blob]uint64{}, jobs: map[AttemptID]*task{}}
	w.changeView()
}

func (w *world) changeView() {
	v := Members{View: ViewNumber{w.boot, uint64(len(w.views) + 1)}}
	for _, n := range w.sorted() {
		if n.inView {
			v.Nodes = append(v.Nodes, n.id)
		}
	}
	w.views = append(w.views, v)
	w.lookForCopies()
}

func (w *world) sorted() []*machine {
	return slices.SortedFunc(maps.Values(w.nodes), func(a, b *machine) int { return strings.Compare(string(a.id), string(b.id)) })
}

// lookForCopies has the store find outputs that no member has any more.
func (w *world) lookForCopies() {
	for _, b := range slices.SortedFunc(maps.Keys(w.copies), Blob.compare) {
		has := false
		for _, n := range w.nodes {
			_, is := n.store[b]
			has = has || is && n.inView
		}
		if !has {
			delete(w.copies, b)
			w.gone = append(w.gone, b)
		}
	}
}

// kill ends a process.
func (w *world) kill(n *machine) {
	if n.dead {
		return
	}
	n.dead, n.jobs, n.saves = true, map[AttemptID]*task{}, nil
	if !n.inView {
		delete(w.nodes, n.id)
	}
}

// remove takes a node out of the view, whether it lives or not.
func (w *world) remove(n *machine) {
	n.inView = false
	if n.dead {
		delete(w.nodes, n.id)
	} else {
		w.met["node removed that lives"]++
		w.executor(n, Leased{Until: w.now + 1})
	}
	w.changeView()
}

func (w *world) executor(n *machine, ev ExecutorEvent) {
	if n.dead {
		return
	}
	w.trace("%v %s <- %T %+v", w.now, n.id, ev, ev)
	for _, e := range n.x.Step(w.now, ev) {
		w.trace("    %T %+v", e, e)
		switch e := e.(type) {
		case RunAttempt:
			if n.jobs[e.Order.ID] != nil {
				w.fail("%s begins %v twice", n.id, e.Order.ID)
			}
			n.jobs[e.Order.ID] = &task{o: e.Order}
			w.checkLimit(taskOf(e.Order).Limit)
		case CancelAttempt:
			if j := n.jobs[e.ID]; j != nil {
				j.ends = true
			}
		case ToController:
			w.send(n.id, e.To, e.Message)
		case SaveBlob:
			n.saves = append(n.saves, e)
		case Free:
			for _, r := range e.Runs {
				for b := range n.store {
					if b.Run == r.Run {
						delete(n.store, b)
						delete(w.copies, b)
					}
				}
				for b := range w.disks[n.disk] {
					if b.Run == r.Run && r.Results {
						delete(w.disks[n.disk], b)
					}
				}
			}
		case EndProcess:
			w.met["process ends itself"]++
			w.kill(n)
			return
		}
	}
}

func (w *world) send(from, to phalanx.NodeID, m Message) {
	times := 1
	if !w.calm {
		times = []int{0, 1, 1, 1, 1, 1, 1, 1, 2, 2}[w.r.IntN(10)]
	}
	for range times {
		delay := time.Duration(w.r.IntN(40)) * time.Millisecond
		if w.r.IntN(15) == 0 && !w.calm {
			delay *= 40
		}
		w.net = append(w.net, packet{w.now + delay, from, to, m})
	}
}

// deliver brings one message whose time has come.
func (w *world) deliver() bool {
	for i, p := range w.net {
		if n := w.nodes[p.to]; p.at > w.now || n != nil && n.hangs > w.now {
			continue
		}
		w.net = slices.Delete(w.net, i, i+1)
		if n := w.nodes[p.to]; n != nil {
			w.executor(n, Heard{p.from, p.m})
			return true
		}
		for _, t := range w.tenures {
			if t.name == p.to {
				w.control(t, Heard{p.from, p.m})
			}
		}
		return true
	}
	return false
}
