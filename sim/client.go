package sim

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

const (
	repeatUnanswered = 50 * time.Millisecond
	repeatWaiting    = time.Second
	silentAfter      = 3 * time.Second
)

// client brings requests to the owners of their shards, with the same number
// until they are answered.
type client struct {
	n       *node
	lease   time.Duration // until when the node's replicas may answer
	block   uint64        // the next free numbers
	pending []*pending    // in the order of their numbers' first use
	givenUp directory.GivenUp
	watches []*watch
	reports directory.Reports
}

type pending struct {
	req     directory.Request
	shard   int
	waiting bool
	sent    time.Duration
	held    bool                                          // a report, behind another one about the same object
	done    func(from phalanx.NodeID, r directory.Result) // also called with Waiting
	heard   time.Duration                                 // when the owner said something, or there was a new one
	silent  func(*phalanx.Error)                          // called once if it says nothing
}

func newClient(n *node) *client {
	return &client{n: n}
}

// numbers returns the first of many numbers that nobody else uses.
func (c *client) numbers() uint64 {
	c.block++
	return c.block << 20
}

func (c *client) pend(num uint64, object phalanx.ObjectID, body directory.Body, done func(phalanx.NodeID, directory.Result)) *pending {
	if done == nil {
		done = func(phalanx.NodeID, directory.Result) {}
	}
	return &pending{req: directory.Request{From: c.n.id, Num: num, Object: object, Body: body},
		shard: object.Shard(c.n.w.shape.shards), done: done, heard: c.n.w.now}
}

// ask sends a request.
func (c *client) ask(num uint64, object phalanx.ObjectID, body directory.Body, done func(phalanx.NodeID, directory.Result)) {
	p := c.pend(num, object, body, done)
	c.pending = append(c.pending, p)
	c.transmit(p)
}

// impatient has silent called whenever the owner has not answered for some seconds.
func (c *client) impatient(num uint64, silent func(*phalanx.Error)) {
	for _, p := range c.pending {
		if p.req.Num == num {
			p.silent = silent
		}
	}
}

// report sends a request about the own copy, as directory.Reports says.
func (c *client) report(object phalanx.ObjectID, body directory.Body, done func(phalanx.NodeID, directory.Result)) {
	p := c.pend(c.numbers(), object, body, done) // rising, whichever core it comes from
	now, joins := c.reports.Add(object, p.req.Num, body)
	if i := slices.IndexFunc(c.pending, func(q *pending) bool { return joins != 0 && q.req.Num == joins }); i >= 0 {
		c.n.w.met["report joins another"]++
		first := c.pending[i].done
		c.pending[i].done = func(from phalanx.NodeID, r directory.Result) { first(from, r); p.done(from, r) }
		return
	}
	c.pending = append(c.pending, p)
	if p.held = !now; now {
		c.transmit(p)
	} else {
		c.n.w.met["report waits for another"]++
	}
}

func (c *client) transmit(p *pending) {
	p.sent = c.n.w.now
	if c.n.view.Number > 0 && c.n.view.Has(c.n.id) {
		s := c.n.view.Shards[p.shard]
		p.req.Epoch = s.Epoch
		c.n.post(s.Owner, toShard{p.shard, p.req})
	}
}

// forget ends the repetition of a request.
func (c *client) forget(num uint64) {
	c.pending = slices.DeleteFunc(c.pending, func(p *pending) bool { return p.req.Num == num })
	c.givenUp.Add(num)
}

// cancel withdraws a request.
func (c *client) cancel(num uint64, object phalanx.ObjectID) {
	c.forget(num)
	c.ask(c.numbers(), object, directory.Cancel{Num: num}, nil)
}

func (c *client) answered(from phalanx.NodeID, r directory.Reply) {
	i := slices.IndexFunc(c.pending, func(p *pending) bool { return p.req.Num == r.Num })
	if i < 0 {
		c.late(r)
		return
	}
	p := c.pending[i]
	if from != c.n.view.Shards[p.shard].Owner {
		// What an owner that was replaced says may be in nobody's records by now:
		// this node's holdings went to the next one before. That one was asked too.
		c.n.w.met["answer of a former owner"]++
		return
	}
	if r.Former(p.req.Epoch) {
		c.n.w.met["answer of a former epoch"]++
		return
	}
	if r.Result.NotOwner {
		c.n.w.met["asked a node that does not own"]++
		return // its repetition goes to whoever owns by then
	}
	if r.Result.Waiting {
		p.waiting, p.heard = true, c.n.w.now
	} else {
		c.givenUp.Answered(r.Num, p.req.Body, r.Result)
		c.pending = slices.Delete(c.pending, i, i+1)
		if directory.IsReport(p.req.Body) {
			next := c.reports.Over(r.Object, r.Num)
			if i := slices.IndexFunc(c.pending, func(q *pending) bool { return next != 0 && q.req.Num == next }); i >= 0 {
				c.pending[i].held = false
				c.transmit(c.pending[i])
			}
		}
	}
	p.done(from, r.Result)
}

// late looks at an answer that nobody expects: what it grants is given back.
func (c *client) late(r directory.Reply) {
	if c.givenUp.Grants(r) {
		c.n.w.met["late grant given back"]++
		c.ask(c.numbers(), r.Object, directory.Cancel{Num: r.Num}, nil)
	}
}

// epoch returns the epoch of an object's shard in the view that this node knows, or 0.
func (c *client) epoch(id phalanx.ObjectID) uint64 {
	if len(c.n.view.Shards) == 0 {
		return 0
	}
	return c.n.view.Shards[id.Shard(len(c.n.view.Shards))].Epoch
}

// learn sends what is pending for a shard to its new owner, or to the old one if
// that has lost and got it again.
func (c *client) learn(old, v view.View) {
	for i, s := range v.Shards {
		if i < len(old.Shards) && old.Shards[i].Owner == s.Owner && old.Shards[i].Epoch == s.Epoch {
			continue
		}
		if i < len(old.Shards) && old.Shards[i].Owner != s.Owner {
			c.n.w.met["shard moved"]++
		}
		for _, p := range c.pending {
			if p.shard == i && !p.held {
				p.waiting, p.heard = false, c.n.w.now
				c.transmit(p)
			}
		}
		for _, w := range c.watches {
			if w.shard == i {
				c.renew(w)
			}
		}
	}
}

func (c *client) tick() {
	c.tickWatches()
	for _, p := range slices.Clone(c.pending) {
		every := repeatUnanswered
		if p.waiting {
			every = repeatWaiting
		}
		if !p.held && c.n.w.now-p.sent >= every {
			c.n.w.met["request repeated"]++
			c.transmit(p)
		}
		if silent := p.silent; silent != nil && c.n.w.now-p.heard > silentAfter {
			p.heard = c.n.w.now // others may wait for it by then
			c.n.w.met["owner says nothing: ErrUnavailable"]++
			silent(errorf(phalanx.ErrUnavailable, p.req.Object, "its owner has not answered for %v", silentAfter))
		}
	}
}

// watch is a subscription to the readiness of an object. It has to be made
// again with each new owner.
type watch struct {
	num    uint64
	object phalanx.ObjectID
	shard  int
	owner  phalanx.NodeID
	heard  directory.Heard
	last   directory.Readiness // that counted
	sent   time.Duration
	told   bool // since there was another owner, or another epoch
}

func (c *client) watch(num uint64, object phalanx.ObjectID) {
	w := &watch{num: num, object: object, shard: object.Shard(c.n.w.shape.shards)}
	c.watches = append(c.watches, w)
	c.renew(w)
}

func (c *client) unwatch(num uint64, object phalanx.ObjectID) {
	c.watches = slices.DeleteFunc(c.watches, func(w *watch) bool { return w.num == num })
	c.cancel(num, object)
}

func (c *client) renew(w *watch) {
	w.sent = c.n.w.now
	if s := c.n.view.Shards[w.shard]; s.Owner != w.owner || s.Epoch != w.heard.Epoch {
		w.owner, w.heard.Epoch, w.told = s.Owner, s.Epoch, false
	}
	c.n.post(w.owner, toShard{w.shard, directory.Request{From: c.n.id, Num: w.num, Object: w.object, Body: directory.Watch{}}})
}

// readiness hands on what an owner tells, in the order of its versions. It says
// whether that counts.
func (c *client) readiness(from phalanx.NodeID, r directory.Readiness) bool {
	i := slices.IndexFunc(c.watches, func(w *watch) bool { return w.num == r.Num })
	if i < 0 {
		c.n.w.met["late watch ended"]++
		c.n.post(from, toShard{r.Object.Shard(c.n.w.shape.shards),
			directory.Request{From: c.n.id, Num: c.numbers(), Object: r.Object, Body: directory.Cancel{Num: r.Num}}})
		return false
	}
	w := c.watches[i]
	counts, news := w.heard.Take(r)
	if !counts {
		c.n.w.met["readiness of a former owner"]++
		return false
	}
	w.told = true
	if news {
		c.n.w.audit.watched(c.n, w, r)
		w.last = r
		c.n.reduces.readiness(r)
	}
	return true
}

func (c *client) tickWatches() {
	for _, w := range c.watches {
		every := repeatWaiting
		if !w.told {
			every = repeatUnanswered
		}
		if c.n.w.now-w.sent >= every {
			c.renew(w)
		}
	}
}
