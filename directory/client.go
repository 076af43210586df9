package directory

import (
	"errors"
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
	agenda  agenda // of what is in pending, but for reports that are held
	reports core.Reports
	givenUp core.GivenUp
	spoke   map[phalanx.NodeID]time.Duration // when each owner said anything
	next    time.Duration                    // when timer fires; 0: never
	timer   *time.Timer
}

type request struct {
	core.Request
	shard   int
	owner   phalanx.NodeID
	epoch   uint64                                      // of the shard, when it was last sent
	began   time.Duration                               // or when the owner last said that it waits
	again   time.Duration                               // when it is repeated
	times   int                                         // how often it was sent to this owner
	answers []func(owner phalanx.NodeID, r core.Result) // the caller's, and those of equal reports that have joined
	ready   func(core.Readiness)                        // of a watch
	watched core.Heard                                  // what a watch was told
	ackTo   phalanx.NodeID                              // the owner to which WatchAcked is sent; "": none
	ackAt   time.Duration
	held    bool // a report, behind another one about the same object

	heard      time.Duration        // when the owner said something, or there was a new one
	complained time.Duration        // when silent was called last
	silent     func(*phalanx.Error) // called if the owner says nothing; nil: nobody wants to know

	at   time.Duration // when something is to be done about it
	slot int           // in the agenda, from 1 on; 0: it is not there
}

// outgoing is what the client sends once it is unlocked.
type outgoing struct {
	owner phalanx.NodeID
	shard int
	core.Request
}

func (r *request) outgoing() outgoing { return outgoing{r.owner, r.shard, r.Request} }

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
	c.add(&request{Request: core.Request{From: c.self, Num: num, Object: id, Body: body}, shard: shard}, deliver)
}

// RequestShard is Request for a body that is about a whole shard.
func (c *Client) RequestShard(shard int, num uint64, body core.Body, deliver func(owner phalanx.NodeID, r core.Result)) {
	c.mu.Lock()
	c.add(&request{Request: core.Request{From: c.self, Num: num, Body: body}, shard: shard}, deliver)
}

// add takes the locked client and unlocks it: what is sent may come back at
// once.
func (c *Client) add(r *request, answer func(owner phalanx.NodeID, r core.Result)) {
	c.sent.Add(1)
	r.began = c.now()
	r.heard = r.began
	if answer != nil {
		r.answers = append(r.answers, answer)
	}
	if core.IsReport(r.Body) {
		now, joins := c.reports.Add(r.Object, r.Num, r.Body)
		if with := c.pending[joins]; with != nil {
			with.answers = append(with.answers, r.answers...)
			c.mu.Unlock()
			return
		}
		r.held = !now
	}
	c.pending[r.Num] = r
	send := false
	if !r.held {
		send = c.aim(r, r.began)
		c.book(r, r.began)
	}
	out := r.outgoing()
	c.mu.Unlock()
	if send {
		c.send(out)
	}
}

// deliver calls all answers with a result.
func deliver(answers []func(phalanx.NodeID, core.Result), owner phalanx.NodeID, r core.Result) {
	for _, answer := range answers {
		answer(owner, r)
	}
}

// send sends a request, which fails if it can never be sent.
func (c *Client) send(out outgoing) {
	err := c.to.Send(out.owner, out.shard, out.Request)
	if err == nil {
		return
	}
	c.mu.Lock()
	r := c.pending[out.Num]
	if r == nil {
		c.mu.Unlock()
		return
	}
	c.remove(r)
	c.mu.Unlock()
	res := core.Result{Kind: phalanx.ErrInternal, Text: err.Error()}
	var e *phalanx.Error
	if errors.As(err, &e) && e.Err != nil {
		res.Kind, res.Text = e.Kind, e.Err.Error()
	}
	if r.ready != nil && r.silent != nil { // a watch is not answered
		r.silent(&phalanx.Error{Object: out.Object, Node: out.owner, Kind: res.Kind, Err: errors.New(res.Text)})
		return
	}
	deliver(r.answers, out.owner, res)
}

// aim sets whom r goes to and when it is repeated; false if there is no owner yet.
// The caller books r.
func (c *Client) aim(r *request, now time.Duration) bool {
	r.again = now + min(repeatAfter<<min(r.times, 16), repeatMax)
	if len(c.view.Shards) == 0 {
		return false
	}
	if r.Object != "" {
		r.shard = r.Object.Shard(len(c.view.Shards))
	}
	s := c.view.Shards[r.shard]
	if s.Owner != r.owner || s.Epoch != r.epoch {
		r.heard, r.times, r.again = now, 0, now+repeatAfter
	}
	if r.told() {
		r.heard = now
	}
	r.times++
	r.owner, r.epoch, r.Epoch = s.Owner, s.Epoch, s.Epoch
	r.watched.Epoch = s.Epoch
	return r.owner != ""
}

// Forget ends the repetition of a request; it is not delivered any more. The
// owner hears of the end of a watch.
func (c *Client) Forget(num uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.pending[num]
	if r == nil {
		return
	}
	c.remove(r)
	if r.ready != nil {
		c.cancel(r)
	} else {
		c.givenUp.Add(num)
	}
}

// remove ends a request. If a report has waited for its end, that is due now, and remove
// returns it. It needs mu.
func (c *Client) remove(r *request) (next *request) {
	delete(c.pending, r.Num)
	c.unbook(r)
	if core.IsReport(r.Body) {
		next = c.pending[c.reports.Over(r.Object, r.Num)]
	}
	if next != nil {
		now := c.now()
		next.held, next.began, next.heard, next.again = false, now, now, now
		c.book(next, now)
	}
	return next
}

// cancel tells the owner that r has ended. It needs mu.
func (c *Client) cancel(r *request) {
	c.sent.Add(1)
	now := c.now()
	end := &request{Request: core.Request{From: c.self, Num: c.Nums(1), Object: r.Object, Body: core.Cancel{Num: r.Num}}, shard: r.shard,
		began: now, heard: now, again: now + calm}
	c.pending[end.Num] = end
	c.book(end, now)
}

// Replied takes an answer from node. One that does not own the shard any more, or that has
// lost and got it again since, is not believed: what it told has to come from its successor.
func (c *Client) Replied(from phalanx.NodeID, rep core.Reply) {
	c.mu.Lock()
	r := c.pending[rep.Num]
	if !rep.Result.NotOwner {
		c.spoke[from] = c.now()
	}
	if r == nil && rep.To == c.self && c.givenUp.Grants(rep) && len(c.view.Shards) > 0 {
		c.cancel(&request{Request: core.Request{Num: rep.Num, Object: rep.Object}, shard: rep.Object.Shard(len(c.view.Shards))})
	}
	if r == nil || rep.To != c.self || from != r.owner || r.ready != nil && !rep.Result.NotOwner {
		c.mu.Unlock()
		return
	}
	var out outgoing
	now := c.now()
	switch {
	case rep.Result.NotOwner || rep.Former(r.epoch): // one of us has an old view, or had one
		r.again = min(r.again, now+grain)
		c.book(r, now)
		c.mu.Unlock()
		return
	case rep.Result.Waiting:
		r.heard, r.times = now, 0
		r.began, r.again = now, now+waitingAfter
		c.book(r, now)
	default:
		c.givenUp.Answered(r.Num, r.Body, rep.Result)
		if next := c.remove(r); next != nil && c.aim(next, now) {
			out = next.outgoing()
			c.book(next, now)
		}
	}
	answers := r.answers
	c.mu.Unlock()
	if out.Num != 0 {
		c.send(out)
	}
	if from == c.self { // the owner's own bytes must stay good when this node's copy changes in memory
		rep.Result.Inline = slices.Clone(rep.Result.Inline)
	}
	deliver(answers, from, rep.Result)
}
