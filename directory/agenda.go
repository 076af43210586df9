package directory

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/directory"
)

const (
	grain  = 10 * time.Millisecond // the least time between two looks at the agenda
	atOnce = 1000                  // requests that one look handles: an owner must not be flooded
)

// agenda is a heap of requests by when they are due, so that the cost of one message or
// one repeat hardly depends on how many requests are open.
type agenda []*request

var _ heap.Interface = (*agenda)(nil)

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(a[i].at, a[j].at), byNum(a[i], a[j])) < 0
}
func (a agenda) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].slot, a[j].slot = i+1, j+1
}
func (a *agenda) Push(x any) {
	r := x.(*request)
	*a = append(*a, r)
	r.slot = len(*a)
}
func (a *agenda) Pop() any {
	last := len(*a) - 1
	r := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	r.slot = 0
	return r
}

// byNum orders requests as they were made.
func byNum(a, b *request) int { return cmp.Compare(a.Num, b.Num) }

// due returns when something is to be done about r.
func (c *Client) due(r *request) time.Duration {
	at := r.again
	if up, ok := r.givenUpAt(); ok {
		at = min(at, up)
	}
	if complains, ok := c.complainsAt(r); ok {
		at = min(at, complains)
	}
	if r.ackTo != "" {
		at = min(at, r.ackAt)
	}
	return at
}

// book puts r, which is pending, where it belongs in the agenda. Each change of a field
// that due looks at is followed by book. It needs mu.
func (c *Client) book(r *request, now time.Duration) {
	r.at = c.due(r)
	if r.slot == 0 {
		heap.Push(&c.agenda, r)
	} else {
		heap.Fix(&c.agenda, r.slot-1)
	}
	c.arm(now)
}

// unbook removes r from the agenda. It needs mu.
func (c *Client) unbook(r *request) {
	if r.slot != 0 {
		heap.Remove(&c.agenda, r.slot-1)
	}
}

// arm sets the timer to when the first request is due. It needs mu.
func (c *Client) arm(now time.Duration) {
	if len(c.agenda) == 0 {
		return
	}
	if at := max(c.agenda[0].at, now+grain); c.next == 0 || at < c.next {
		c.next = at
		c.timer.Reset(at - now)
	}
}

// Run repeats requests until ctx ends. Nothing wakes it while none is due.
func (c *Client) Run(ctx context.Context) {
	defer c.timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.timer.C:
			c.attend()
		}
	}
}

// work is what a pass over the agenda found, to be done without mu.
type work struct {
	out  []outgoing
	acks []acknowledgement
	tell []func()
}

// acknowledgement is a WatchAcked that is to be sent.
type acknowledgement struct {
	to    phalanx.NodeID
	shard int
	core.WatchAcked
}

// attend does what is due: the requests go out in the order of their numbers.
func (c *Client) attend() {
	var w work
	c.mu.Lock()
	now := c.now()
	c.next = 0
	for range atOnce {
		if len(c.agenda) == 0 || c.agenda[0].at > now {
			break
		}
		c.attendTo(c.agenda[0], now, &w)
	}
	c.arm(now)
	c.mu.Unlock()
	slices.SortFunc(w.out, func(a, b outgoing) int { return cmp.Compare(a.Num, b.Num) })
	for _, o := range w.out {
		c.send(o)
	}
	for _, a := range w.acks {
		_ = c.to.Send(a.to, a.shard, a.WatchAcked) // the owner tells again what is not acknowledged
	}
	for _, call := range w.tell {
		call()
	}
}

// attendTo does what is due about r. Afterwards r is due later, or removed.
func (c *Client) attendTo(r *request, now time.Duration, w *work) {
	if up, ok := r.givenUpAt(); ok && up <= now {
		w.tell = append(w.tell, c.giveUp(r, now))
		return
	}
	if complains, ok := c.complainsAt(r); ok && complains <= now {
		w.tell = append(w.tell, c.complain(r, now))
	}
	if r.ackTo != "" && r.ackAt <= now {
		w.acks = append(w.acks, acknowledgement{r.ackTo, r.shard, core.WatchAcked{From: c.self, Num: r.Num, Object: r.Object, Version: r.watched.Version()}})
		r.ackTo = ""
	}
	if r.again <= now && c.aim(r, now) {
		w.out = append(w.out, r.outgoing())
	}
	c.book(r, now)
}
