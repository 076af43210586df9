package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/leave"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// leaver hosts the core of a node that leaves, in the goroutine that calls Leave.
type leaver struct {
	l    *life
	core *leave.Core
	nums map[leave.Copy]uint64 // of the requests to owners
	wake chan struct{}         // capacity 1
	end  leave.Effect          // Left or Failed

	mu    sync.Mutex
	inbox []leave.Event
}

// smallObject is the size in bytes below which handing an object over takes as long as the
// round trip to its owner.
const smallObject = 64 << 10

func newLeaver(l *life, ctx context.Context) *leaver {
	deadline, _ := ctx.Deadline()
	return &leaver{l: l, core: leave.New(leave.Config{Deadline: l.n.clock() + time.Until(deadline)}), nums: map[leave.Copy]uint64{},
		wake: make(chan struct{}, 1)}
}

// tell brings an event to the core.
func (lv *leaver) tell(ev leave.Event) {
	lv.mu.Lock()
	lv.inbox = append(lv.inbox, ev)
	lv.mu.Unlock()
	select {
	case lv.wake <- struct{}{}:
	default:
	}
}

func (lv *leaver) take() []leave.Event {
	lv.mu.Lock()
	defer lv.mu.Unlock()
	all := lv.inbox
	lv.inbox = nil
	return all
}

// run steps the core until it is over, and returns its last effect, or nil if the node is
// closed meanwhile.
func (lv *leaver) run(ctx context.Context) leave.Effect {
	lv.step(lv.viewed())
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

// answer and waits are an owner's answers to request num.
type (
	answer struct {
		leave.Answered
		num uint64
	}
	waits struct {
		leave.Waits
		num uint64
	}
)

// heard takes an event. An answer to a request that was taken back says nothing about the
// request after it.
func (lv *leaver) heard(ev leave.Event) {
	switch ev := ev.(type) {
	case answer:
		if lv.nums[ev.Copy] == ev.num {
			delete(lv.nums, ev.Copy)
			lv.step(ev.Answered)
		}
	case waits:
		if lv.nums[ev.Copy] == ev.num {
			lv.step(ev.Waits)
		}
	default:
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
	lv.nums[e.Copy] = num
	d.Request(e.Object, num, directory.AwaitCopies{Gen: e.Gen, Leaving: e.View}, func(owner phalanx.NodeID, r directory.Result) {
		if r.Waiting {
			lv.tell(waits{leave.Waits{Copy: e.Copy, Node: owner}, num})
		} else {
			lv.tell(answer{leave.Answered{Copy: e.Copy, Kind: r.Kind, Node: owner, Text: r.Text}, num})
		}
	})
}

// forget takes a request back.
func (lv *leaver) forget(e leave.Forget) {
	d := lv.l.client
	num := lv.nums[e.Copy]
	delete(lv.nums, e.Copy)
	d.Forget(num)
	d.Request(e.Object, d.Nums(1), directory.Cancel{Num: num}, func(phalanx.NodeID, directory.Result) {})
}

// viewed gives the core the present view of this node.
func (lv *leaver) viewed() leave.Viewed {
	v := lv.l.view.Load()
	ev := leave.Viewed{Number: v.Number, Left: v.Left, Member: v.Has(lv.l.id), Shards: v.Held(lv.l.id)}
	for _, s := range v.Shards {
		ev.Owners = append(ev.Owners, s.Owner)
	}
	for _, m := range v.Members {
		switch {
		case m.ID == lv.l.id:
			ev.Marked = m.Leaving
		case m.Leaving:
			ev.Others++
		default:
			ev.Others++
			ev.Stay++
		}
	}
	return ev
}
