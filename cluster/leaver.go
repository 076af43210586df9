package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	nleave "github.com/phalanx-go/phalanx/node/leave"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/leave"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// leaver hosts the core of a node that leaves, in the goroutine that calls Leave.
type leaver struct {
	l    *life
	core *leave.Core
	nums nleave.Requests
	wake chan struct{} // capacity 1
	end  leave.Effect  // Left or Failed

	mu    sync.Mutex
	inbox []any // leave.Event or answer
}

// smallObject is the size in bytes below which handing an object over takes as long as the
// round trip to its owner.
const smallObject = 64 << 10

func newLeaver(l *life, ctx context.Context) *leaver {
	deadline, _ := ctx.Deadline()
	return &leaver{l: l, core: leave.New(leave.Config{Deadline: l.n.clock() + time.Until(deadline), Awaits: l.awaits}), nums: nleave.Requests{},
		wake: make(chan struct{}, 1)}
}

// tell brings an event to the core.
func (lv *leaver) tell(ev any) {
	lv.mu.Lock()
	lv.inbox = append(lv.inbox, ev)
	lv.mu.Unlock()
	select {
	case lv.wake <- struct{}{}:
	default:
	}
}

func (lv *leaver) take() []any {
	lv.mu.Lock()
	defer lv.mu.Unlock()
	all := lv.inbox
	lv.inbox = nil
	return all
}

// run steps the core until it is over, and returns its last effect, or nil if the node is
// closed meanwhile.
func (lv *leaver) run(ctx context.Context) leave.Effect {
	lv.step(nleave.Viewed(lv.l.id, *lv.l.view.Load()))
	lv.step(lv.l.lost())
	lv.step(leave.Start{})
	canceled := ctx.Done()
	for lv.end == nil {
		var timer <-chan time.Time
		if at, ok := lv.core.Due(); ok {
			timer = time.After(at - lv.l.n.clock())
		}
		select {
		case <-lv.wake:
			for _, ev := range lv.take() {
				lv.heard(ev)
			}
		case <-timer:
			lv.step(leave.Tick{})
		case <-canceled:
			canceled = nil // a deadline is the core's
			if errors.Is(ctx.Err(), context.Canceled) {
				lv.step(leave.Cancel{})
			}
		case <-lv.l.n.done:
			return nil
		}
	}
	return lv.end
}

// answer is an owner's answer to request num.
type answer struct {
	of    leave.Copy
	num   uint64
	owner phalanx.NodeID
	directory.Result
}

// heard takes what was told.
func (lv *leaver) heard(told any) {
	ev, ok := told.(leave.Event)
	if a, answered := told.(answer); answered {
		ev, ok = lv.nums.Answered(a.of, a.num, a.owner, a.Result)
	}
	if ok {
		lv.step(ev)
	}
}

func (lv *leaver) step(ev leave.Event) {
	for _, e := range lv.core.Step(lv.l.n.clock(), ev) {
		lv.do(e)
	}
}

func (lv *leaver) do(e leave.Effect) {
	l := lv.l
	switch e := e.(type) {
	case leave.Refuse:
		l.store.Leave()
	case leave.Mark:
		l.members.Propose(view.Leaving{Node: l.id})
	case leave.Stay:
		l.store.Stay()
		l.members.Propose(view.Leaving{Node: l.id, Stays: true})
	case leave.Look:
		lv.tell(leave.Saw{Here: lv.here(e.All)})
	case leave.Ask:
		lv.ask(e)
	case leave.Forget:
		lv.forget(e)
	case leave.GiveUp:
		if len(e.Services) > 0 {
			l.log.WithField("services", e.Services).Warn("the node leaves although members have not taken over what these services have")
		}
		l.store.GiveUp()
		l.places.GiveUp()
		l.reduces.GiveUp()
	case leave.Remove:
		l.members.Propose(view.RemoveMember{Node: l.id, HandedOver: e.View})
	case leave.Left, leave.Failed:
		lv.end = e
	}
}

// here reports the node's copies and work.
func (lv *leaver) here(all bool) leave.Here {
	l := lv.l
	h := leave.Here{All: all, Reduces: l.reduces.Targets(), Places: l.places.Targets(), Services: l.n.notHandedOver(l.view.Load().Number)}
	h.Durable = l.n.anyDurable(h.Services)
	h.Puts, h.Making = l.store.Runs() // after the places, whose roots are among them for longer
	if all {
		shards := len(l.view.Load().Shards)
		for _, info := range l.store.Table.Complete() {
			h.Copies = append(h.Copies, leave.Copy{Object: info.Object, Gen: info.Gen, Shard: info.Object.Shard(shards), Small: info.Meta.Size < smallObject})
		}
	}
	return h
}

// ask has the owner of a copy see that others keep it.
func (lv *leaver) ask(e leave.Ask) {
	d := lv.l.client
	num := d.Nums(1)
	d.Request(e.Object, num, lv.nums.Ask(e, num), func(owner phalanx.NodeID, r directory.Result) {
		lv.tell(answer{e.Copy, num, owner, r})
	})
}

// forget takes a request back.
func (lv *leaver) forget(e leave.Forget) {
	d := lv.l.client
	num := lv.nums.Forget(e.Copy)
	d.Forget(num)
	d.Request(e.Object, d.Nums(1), directory.Cancel{Num: num}, func(phalanx.NodeID, directory.Result) {})
}
