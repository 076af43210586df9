package directory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

const (
	repeatAfter  = 50 * time.Millisecond  // an unanswered request, then twice as late
	repeatMax    = 800 * time.Millisecond // at most: an owner with much to do must not get more of it
	waitingAfter = time.Second            // one that is queued at the owner
	watchAgain   = 5 * time.Second        // a watch that was told something, if nobody is impatient
	calm         = 20 * time.Millisecond  // until an owner hears that a watch has been told, or has ended: nobody waits for that
	giveUpAfter  = 10 * time.Minute       // half the life of a tombstone; not of what lasts
	grain        = 10 * time.Millisecond  // of those times: what is due is looked for no more often

	// silentAfter is how long an owner may say nothing, while no other takes over,
	// until callers are told; longer by as much as this node is late to notice that
	// another is silent. It outlasts a change of owners. One that answers others has
	// more time for a request: busyFor.
	silentAfter = 3 * time.Second
	busyFor     = 15 * time.Second
)

// Client sends requests to the owners of objects. Delivery is at most once, so
// it repeats each with the same number until it is answered, and at once when
// the object's shard has a new owner. It is safe for concurrent use.
type Client struct {
	self phalanx.NodeID
	to   Transport
	now  func() time.Duration
	late func() time.Duration

	nums    atomic.Uint64
	sent    atomic.Uint64
	mu      sync.Mutex
	view    view.View
	pending map[uint64]*request
	spoke   map[phalanx.NodeID]time.Duration // when each owner answered anything
	next    time.Duration                    // when timer fires; 0: never
	timer   *time.Timer
}

type request struct {
	core.Request
	shard   int
	owner   phalanx.NodeID
	epoch   uint64        // of the shard, when it was last sent
	began   time.Duration // or when the owner last said that it waits
	again   time.Duration // when it is repeated
	times   int           // how often it was sent to this owner
	deliver func(owner phalanx.NodeID, r core.Result)
	ready   func(core.Readiness) // of a watch
	version uint64               // the last that was delivered, of the present owner
	ackTo   phalanx.NodeID       // who is to hear that it was; "": nobody
	ackAt   time.Duration

	heard      time.Duration        // when the owner said something, or there was a new one
	complained time.Duration        // when silent was called last
	silent     func(*phalanx.Error) // called if the owner says nothing; nil: nobody wants to know
}

// NewClient returns a client without a view: requests wait for the first. late says
// by how much later than usual this node notices that another is silent.
func NewClient(self phalanx.NodeID, to Transport, now, late func() time.Duration) *Client {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &Client{self: self, to: to, now: now, late: late, pending: map[uint64]*request{}, spoke: map[phalanx.NodeID]time.Duration{}, timer: t}
}

// Nums returns the first of n request numbers that are nobody else's.
func (c *Client) Nums(n uint64) uint64 { return c.nums.Add(n) - n + 1 }

// Next returns the next number: those of all requests so far are smaller.
func (c *Client) Next() uint64 { return c.nums.Load() + 1 }

// Requests returns how many requests were sent, repeats not counted.
func (c *Client) Requests() uint64 { return c.sent.Load() }

// Request sends body to the owner of id. deliver is called with each Waiting
// and once with the answer, or with ErrUnavailable when it is given up. Who waits
// for the answer and does not want it any more has to Forget it.
func (c *Client) Request(id phalanx.ObjectID, num uint64, body core.Body, deliver func(owner phalanx.NodeID, r core.Result)) {
	c.mu.Lock()
	shard := 0
	if n := len(c.view.Shards); n > 0 {
		shard = id.Shard(n)
	}
	c.add(&request{Request: core.Request{From: c.self, Num: num, Object: id, Body: body}, shard: shard, deliver: deliver})
}

// List asks for a part of a shard's ids and calls done once, by the deadline.
func (c *Client) List(shard int, body core.List, deadline time.Duration, done func([]core.ObjectStat, error)) {
	num := c.Nums(1)
	var once sync.Once
	timer := time.AfterFunc(deadline, func() {
		c.Forget(num)
		once.Do(func() {
			done(nil, &phalanx.Error{Op: "list", Kind: phalanx.ErrDeadline, Err: fmt.Errorf("directory shard %d did not answer for %v", shard, deadline)})
		})
	})
	c.RequestShard(shard, num, body, func(owner phalanx.NodeID, r core.Result) {
		timer.Stop()
		once.Do(func() {
			if r.Kind != 0 {
				done(nil, &phalanx.Error{Op: "list", Node: owner, Kind: r.Kind, Err: errors.New(r.Text)})
				return
			}
			done(r.List, nil)
		})
	})
	c.Impatient(num, func(err *phalanx.Error) {
		timer.Stop()
		c.Forget(num)
		err.Op = "list"
		once.Do(func() { done(nil, err) })
	})
}

// Watch has the owner of id tell its readiness, now and whenever it changes,
// until Forget. deliver is called from another goroutine.
func (c *Client) Watch(id phalanx.ObjectID, num uint64, deliver func(core.Readiness)) {
	c.mu.Lock()
	c.add(&request{Request: core.Request{From: c.self, Num: num, Object: id, Body: core.Watch{}}, ready: deliver,
		deliver: func(phalanx.NodeID, core.Result) {}})
}

// Ready takes what an owner tells to a watch of this node.
func (c *Client) Ready(from phalanx.NodeID, r core.Readiness) {
	c.mu.Lock()
	w := c.pending[r.Num]
	known := w != nil && w.ready != nil && r.To == c.self && w.Object == r.Object
	fresh := known && (w.owner != from || r.Version > w.version)
	if known {
		now := c.now()
		w.heard, w.times, w.again = now, 0, now+watchAgain
		if w.silent != nil {
			w.again = now + waitingAfter
		}
		if w.ackTo != from {
			w.ackTo, w.ackAt = from, now+calm
		}
		c.arm(c.due(w), now)
	}
	if fresh {
		w.version = r.Version
	}
	shards := len(c.view.Shards)
	c.mu.Unlock()
	if fresh {
		w.ready(r)
	}
	if !known && shards > 0 {
		c.to.Send(from, r.Object.Shard(shards), core.Request{From: c.self, Num: c.Nums(1), Object: r.Object, Body: core.Cancel{Num: r.Num}})
	}
}

// RequestShard is Request for a body that is about a whole shard.
func (c *Client) RequestShard(shard int, num uint64, body core.Body, deliver func(owner phalanx.NodeID, r core.Result)) {
	c.mu.Lock()
	c.add(&request{Request: core.Request{From: c.self, Num: num, Body: body}, shard: shard, deliver: deliver})
}

// add takes the locked client and unlocks it: what is sent may come back at
// once.
func (c *Client) add(r *request) {
	c.sent.Add(1)
	r.began = c.now()
	r.heard = r.began
	c.pending[r.Num] = r
	send := c.aim(r, r.began)
	owner, shard, req := r.owner, r.shard, r.Request
	c.mu.Unlock()
	if send {
		c.to.Send(owner, shard, req)
	}
}

// aim sets whom r goes to and when it is repeated; false if there is no owner yet.
func (c *Client) aim(r *request, now time.Duration) bool {
	r.again = now + min(repeatAfter<<min(r.times, 16), repeatMax)
	defer func() { c.arm(c.due(r), now) }()
	if len(c.view.Shards) == 0 {
		return false
	}
	if r.Object != "" {
		r.shard = r.Object.Shard(len(c.view.Shards))
	}
	s := c.view.Shards[r.shard]
	if s.Owner != r.owner {
		r.version = 0
	}
	if s.Owner != r.owner || s.Epoch != r.epoch {
		r.heard, r.times, r.again = now, 0, now+repeatAfter
	}
	if r.told() {
		r.heard = now
	}
	r.times++
	r.owner, r.epoch, r.Epoch = s.Owner, s.Epoch, s.Epoch
	return r.owner != ""
}

// told reports whether r is a watch that has been told something, and not repeated
// since: it waits for nothing.
func (r *request) told() bool { return r.ready != nil && r.times == 0 }

// Forget ends the repetition of a request; it is not delivered any more. The
// owner hears of the end of a watch.
func (c *Client) Forget(num uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.pending[num]
	delete(c.pending, num)
	if r != nil && r.ready != nil {
		c.cancel(r)
	}
}

// cancel tells the owner that r has ended. It needs mu.
func (c *Client) cancel(r *request) {
	c.sent.Add(1)
	now := c.now()
	end := &request{Request: core.Request{From: c.self, Num: c.Nums(1), Object: r.Object, Body: core.Cancel{Num: r.Num}}, shard: r.shard,
		began: now, heard: now, again: now + calm, deliver: func(phalanx.NodeID, core.Result) {}}
	c.pending[end.Num] = end
	c.arm(end.again, now)
}

// lasts reports whether r goes on until it is answered or forgotten. What binds or
// deletes must not, unless it waits at the owner: once the tombstone has ended it
// would do so anew. Nor does a report, for whose answer nobody waits.
func (r *request) lasts() bool {
	switch b := r.Body.(type) {
	case core.Locate, core.AwaitCopies, core.Final, core.Abort, core.Restart, core.Evict, core.Watch, core.Stat, core.List:
		return true
	case core.PutInline: // of a generation that was begun
		return !b.Gen.IsZero()
	}
	return false
}

// giveUp ends the requests that have gone on for too long, and returns what is to
// be delivered. It needs mu, the calls must not have it.
func (c *Client) giveUp(now time.Duration) []func() {
	var out []func()
	for num, r := range c.pending {
		if now-r.began <= giveUpAfter || r.lasts() {
			continue
		}
		delete(c.pending, num)
		switch r.Body.(type) {
		case core.Begin, core.PutInline: // it may have bound what nobody would finish
			c.cancel(r)
		}
		owner, err := r.owner, c.unavailable(r, now-r.heard)
		out = append(out, func() { r.deliver(owner, core.Result{Kind: err.Kind, Text: err.Err.Error()}) })
	}
	return out
}

// Impatient has silent called, from another goroutine, whenever the owner has not
// answered request num for some seconds: others may wait for it by then. The
// request goes on until it is forgotten.
func (c *Client) Impatient(num uint64, silent func(*phalanx.Error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.pending[num]; r != nil {
		r.silent = silent
		c.arm(c.due(r), c.now())
	}
}

// unavailable returns the error of a request whose owner is silent.
func (c *Client) unavailable(r *request, quiet time.Duration) *phalanx.Error {
	e := &phalanx.Error{Object: r.Object, Node: r.owner, Kind: phalanx.ErrUnavailable}
	switch r.owner {
	case "":
		e.Node, e.Err = c.self, errors.New("this node knows of no owner of the object's directory shard")
	case c.self:
		e.Err = fmt.Errorf("this node owns directory shard %d, but it cannot reach a majority of the voters or the shard's backup", r.shard)
	default:
		e.Err = fmt.Errorf("it owns directory shard %d, and has not answered for %v; the change may still take effect", r.shard, quiet.Round(100*time.Millisecond))
	}
	return e
}

// Owner returns the node that owns id in the present view, or "".
func (c *Client) Owner(id phalanx.ObjectID) phalanx.NodeID {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.view.Shards) == 0 {
		return ""
	}
	return c.view.Shards[id.Shard(len(c.view.Shards))].Owner
}

// Epoch returns the epoch of id's shard in the present view, or 0.
func (c *Client) Epoch(id phalanx.ObjectID) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.view.Shards) == 0 {
		return 0
	}
	return c.view.Shards[id.Shard(len(c.view.Shards))].Epoch
}

// Tell sends an event about id to node's replica of its shard.
func (c *Client) Tell(node phalanx.NodeID, id phalanx.ObjectID, ev core.Event) {
	c.mu.Lock()
	n := len(c.view.Shards)
	c.mu.Unlock()
	if n > 0 {
		c.to.Send(node, id.Shard(n), ev)
	}
}

// Replied takes an answer from node. One that does not own the shard any more
// is not believed: what it told has to come from its successor.
func (c *Client) Replied(from phalanx.NodeID, rep core.Reply) {
	c.mu.Lock()
	r := c.pending[rep.Num]
	if !rep.Result.NotOwner {
		c.spoke[from] = c.now()
	}
	if r == nil || rep.To != c.self || from != r.owner || r.ready != nil && !rep.Result.NotOwner {
		c.mu.Unlock()
		return
	}
	switch {
	case rep.Result.NotOwner: // one of us has an old view
		now := c.now()
		r.again = min(r.again, now+grain)
		c.arm(r.again, now)
		c.mu.Unlock()
		return
	case rep.Result.Waiting:
		r.heard, r.times = c.now(), 0
		r.began, r.again = r.heard, r.heard+waitingAfter
	default:
		delete(c.pending, rep.Num)
	}
	c.mu.Unlock()
	r.deliver(from, rep.Result)
}

// Learn takes a new view: requests go at once to owners that are new, or that
// have lost and got the shard since.
func (c *Client) Learn(v view.View) {
	c.mu.Lock()
	c.view = v
	maps.DeleteFunc(c.spoke, func(n phalanx.NodeID, _ time.Duration) bool { return !v.Has(n) })
	now := c.now()
	c.flush(func(r *request) bool { return r.owner != v.Shards[r.shard].Owner || r.epoch != v.Shards[r.shard].Epoch }, now)
}

// due returns when something is to be done about r.
func (c *Client) due(r *request) time.Duration {
	at := r.again
	if r.silent != nil && !r.told() {
		at = min(at, max(r.heard, r.complained)+c.silence()+1)
	}
	if r.ackTo != "" {
		at = min(at, r.ackAt)
	}
	return at
}

// arm has Run look when at is due. It needs mu.
func (c *Client) arm(at, now time.Duration) {
	if at = max(at, now+grain); c.next == 0 || at < c.next {
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
		}
		c.mu.Lock()
		now := c.now()
		c.next = 0
		tell := append(c.giveUp(now), c.complaints(now)...)
		var acks []addressed
		for _, r := range c.pending {
			if r.ackTo != "" && r.ackAt <= now {
				acks = append(acks, addressed{r.ackTo, r.shard, core.WatchAcked{From: c.self, Num: r.Num, Object: r.Object, Version: r.version}})
				r.ackTo = ""
			}
			if r.again > now {
				c.arm(c.due(r), now)
			}
		}
		c.flush(func(r *request) bool { return r.again <= now }, now)
		for _, a := range acks {
			c.to.Send(a.to, a.shard, a.what)
		}
		for _, call := range tell {
			call()
		}
	}
}

// silence returns how long an owner may now say nothing.
func (c *Client) silence() time.Duration { return silentAfter + c.late() }

// complaints returns what the callers of silent owners are to be told. It needs
// mu, the calls must not have it.
func (c *Client) complaints(now time.Duration) []func() {
	var out []func()
	silence := c.silence()
	for _, r := range c.pending {
		quiet := now - r.heard
		if silent := r.silent; silent != nil && !r.told() && quiet > silence && (quiet > busyFor || now-c.spoke[r.owner] > silence) && now-r.complained > silence {
			err := c.unavailable(r, quiet)
			r.complained = now
			out = append(out, func() { silent(err) })
		}
	}
	return out
}

// flush takes the locked client, sends the requests that are due, in the order
// of their numbers, and unlocks it.
func (c *Client) flush(due func(*request) bool, now time.Duration) {
	var out []*request
	for _, r := range c.pending {
		if due(r) && c.aim(r, now) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *request) int { return int(int64(a.Num) - int64(b.Num)) })
	sends := make([]addressed, len(out))
	for i, r := range out {
		sends[i] = addressed{r.owner, r.shard, r.Request}
	}
	c.mu.Unlock()
	for _, s := range sends {
		c.to.Send(s.to, s.shard, s.what)
	}
}

type addressed struct {
	to    phalanx.NodeID
	shard int
	what  any
}
