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
	past    map[uint64]past
	watches []*watch
	lines   map[phalanx.ObjectID][]*pending // reports about the own copy, one at a time
}

// past is what became of a request that is not pending any more.
type past struct {
	cancelled bool
}

type pending struct {
	req     directory.Request
	shard   int
	waiting bool
	sent    time.Duration
	report  bool
	done    func(from phalanx.NodeID, r directory.Result) // also called with Waiting
	heard   time.Duration                                 // when the owner said something, or there was a new one
	silent  func(*phalanx.Error)                          // called once if it says nothing
}

func newClient(n *node) *client {
	return &client{n: n, past: map[uint64]past{}, lines: map[phalanx.ObjectID][]*pending{}}
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

// report sends a request about the own copy. These are told in order, one after
// the other, since the last one counts.
func (c *client) report(object phalanx.ObjectID, body directory.Body, done func(phalanx.NodeID, directory.Result)) {
	p := c.pend(c.numbers(), object, body, done) // rising, whichever core it comes from
	p.report = true
	c.lines[object] = append(c.lines[object], p)
	if len(c.lines[object]) == 1 {
		c.pending = append(c.pending, p)
		c.transmit(p)
	}
}

func (c *client) transmit(p *pending) {
	p.sent = c.n.w.now
	if c.n.view.Number > 0 && c.n.view.Has(c.n.id) {
		s := c.n.view.Shards[p.shard]
		p.req.Epoch = s.Epoch
		c.n.w.send(c.n.id, s.Owner, toShard{p.shard, p.req})
	}
}

// forget ends the repetition of a request.
func (c *client) forget(num uint64) {
	c.pending = slices.DeleteFunc(c.pending, func(p *pending) bool { return p.req.Num == num })
	c.past[num] = past{cancelled: true}
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
	if r.Result.NotOwner {
		c.n.w.met["asked a node that does not own"]++
		return // its repetition goes to whoever owns by then
	}
	if r.Result.Waiting {
		p.waiting, p.heard = true, c.n.w.now
	} else {
		c.pending = slices.Delete(c.pending, i, i+1)
		c.past[r.Num] = past{}
		if p.report {
			c.lines[r.Object] = c.lines[r.Object][1:]
			if line := c.lines[r.Object]; len(line) > 0 {
				c.pending = append(c.pending, line[0])
				c.transmit(line[0])
			}
		}
	}
	p.done(from, r.Result)
}

// late looks at an answer that nobody expects: what it grants is given back.
func (c *client) late(r directory.Reply) {
	old, known := c.past[r.Num]
	if !known || r.Result.Kind != 0 || r.Result.NotOwner {
		return
	}
	f := c.n.fetches[r.Object]
	granted := r.Result.Lease != 0 && (f == nil || f.lease != r.Result.Lease)
	if old.cancelled && (granted || r.Result.Waiting || r.Result.State == directory.Begun) || granted {
		c.n.w.met["late grant given back"]++
		c.ask(c.numbers(), r.Object, directory.Cancel{Num: r.Num}, nil)
	}
}

// epoch returns the epoch of an object's shard in the view that this node knows.
func (c *client) epoch(id phalanx.ObjectID) uint64 {
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
			if p.shard == i {
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
		if c.n.w.now-p.sent >= every {
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
	num     uint64
	object  phalanx.ObjectID
	shard   int
	owner   phalanx.NodeID
	version uint64 // the last that this owner told
	sent    time.Duration
	told    bool
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
	if owner := c.n.view.Shards[w.shard].Owner; owner != w.owner {
		w.owner, w.version, w.told = owner, 0, false
	}
	c.n.w.send(c.n.id, w.owner, toShard{w.shard, directory.Request{From: c.n.id, Num: w.num, Object: w.object, Body: directory.Watch{}}})
}

// readiness hands on what the present owner tells, in the order of its versions.
func (c *client) readiness(from phalanx.NodeID, r directory.Readiness) {
	if !slices.ContainsFunc(c.watches, func(w *watch) bool { return w.num == r.Num }) {
		c.n.w.met["late watch ended"]++
		c.n.w.send(c.n.id, from, toShard{r.Object.Shard(c.n.w.shape.shards),
			directory.Request{From: c.n.id, Num: c.numbers(), Object: r.Object, Body: directory.Cancel{Num: r.Num}}})
		return
	}
	for _, w := range c.watches {
		if w.num == r.Num && w.owner == from && r.Version > w.version {
			w.version, w.told = r.Version, true
			c.n.reduces.readiness(r)
			return
		}
	}
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
