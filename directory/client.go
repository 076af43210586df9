package directory

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/node/ask"
	core "github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Client sends requests to the owners of objects: it hosts ask.Requests behind a mutex. It
// is safe for concurrent use.
type Client struct {
	to   Transport
	self phalanx.NodeID
	now  func() time.Duration
	nums atomic.Uint64

	mu    sync.Mutex
	core  *ask.Requests
	alarm *actors.Alarm
}

// NewClient returns a client without a view: requests wait for the first. late says
// by how much later than usual this node notices that another is silent.
func NewClient(self phalanx.NodeID, to Transport, now, late func() time.Duration) *Client {
	c := &Client{to: to, self: self, now: now, alarm: actors.NewAlarm(now)}
	c.core = ask.NewRequests(ask.Config{Self: self, Nums: func() uint64 { return c.Nums(1) }, Late: late})
	return c
}

// Nums returns the first of n request numbers that no other caller gets.
func (c *Client) Nums(n uint64) uint64 { return c.nums.Add(n) - n + 1 }

// Next returns the next number: all requests so far have smaller ones.
func (c *Client) Next() uint64 { return c.nums.Load() + 1 }

// Request sends body to the owner of id. deliver is called with each Waiting
// and once with the answer, or with ErrUnavailable when it is given up. A caller that
// does not want the answer any more has to Forget it.
func (c *Client) Request(id phalanx.ObjectID, num uint64, body core.Body, deliver func(owner phalanx.NodeID, r core.Result)) {
	c.ask(ask.Ask{Num: num, Object: id, Body: body}, deliver)
}

// RequestShard is Request for a body that is about a whole shard.
func (c *Client) RequestShard(shard int, num uint64, body core.Body, deliver func(owner phalanx.NodeID, r core.Result)) {
	c.ask(ask.Ask{Num: num, Shard: shard, Body: body}, deliver)
}

func (c *Client) ask(a ask.Ask, deliver func(owner phalanx.NodeID, r core.Result)) {
	if deliver != nil { // an interface with a nil function is not nil
		a.By = deliver
	}
	c.step(a)
}

// Watch has the owner of id tell its readiness, now and whenever it changes,
// until Forget. deliver is called from another goroutine.
func (c *Client) Watch(id phalanx.ObjectID, num uint64, deliver func(core.Readiness)) {
	c.step(ask.Ask{Num: num, Object: id, Body: core.Watch{}, By: deliver})
}

// Impatient has silent called, from another goroutine, whenever the owner has not
// answered request num for some seconds: others may wait for it by then. The
// request goes on until it is forgotten.
func (c *Client) Impatient(num uint64, silent func(*phalanx.Error)) {
	c.step(ask.Impatient{Num: num, By: silent})
}

// Forget ends the repetition of a request; it is not delivered any more. The
// owner hears of the end of a watch.
func (c *Client) Forget(num uint64) { c.step(ask.Forget{Num: num}) }

// Replied takes an answer from node.
func (c *Client) Replied(from phalanx.NodeID, rep core.Reply) {
	c.step(ask.Replied{From: from, Reply: rep})
}

// Ready takes an owner's message to a watch of this node.
func (c *Client) Ready(from phalanx.NodeID, r core.Readiness) {
	c.step(ask.Told{From: from, Readiness: r})
}

// Learn takes a new view: requests go at once to owners that are new, or that
// have lost and got the shard since.
func (c *Client) Learn(v view.View) { c.step(ask.Learn{View: v}) }

// Run repeats requests until ctx ends. Nothing wakes it while none is due.
func (c *Client) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			c.mu.Lock()
			c.alarm.Stop()
			c.mu.Unlock()
			return
		case <-c.alarm.C():
			c.mu.Lock()
			c.alarm.Rang()
			c.mu.Unlock()
			c.step(ask.Tick{})
		}
	}
}

// step carries out the effects of ev. An answer may come back at once, so it sends without
// the mutex.
func (c *Client) step(ev ask.Event) {
	c.mu.Lock()
	effects := c.core.Step(c.now(), ev)
	c.alarm.Set(c.core.Due())
	c.mu.Unlock()
	for _, e := range effects {
		c.do(e)
	}
}

func (c *Client) do(e ask.Effect) {
	switch e := e.(type) {
	case ask.Send:
		c.send(e)
	case ask.Answer:
		if e.From == c.self { // the owner's own bytes must stay good when this node's copy changes in memory
			e.Result.Inline = slices.Clone(e.Result.Inline)
		}
		e.By.(func(phalanx.NodeID, core.Result))(e.From, e.Result)
	case ask.Ready:
		e.By.(func(core.Readiness))(e.Readiness)
	case ask.Silent:
		e.By.(func(*phalanx.Error))(e.Err)
	}
}

// send sends a request, which fails if it can never be sent. Other messages need no answer:
// the owner repeats unacknowledged messages.
func (c *Client) send(s ask.Send) {
	err := c.to.Send(s.To, s.Shard, s.What)
	r, ok := s.What.(core.Request)
	if err == nil || !ok {
		return
	}
	why := ask.Unsendable{Num: r.Num, To: s.To, Kind: phalanx.ErrInternal, Why: err}
	var e *phalanx.Error
	if errors.As(err, &e) && e.Err != nil {
		why.Kind, why.Why = e.Kind, e.Err
	}
	c.step(why)
}
