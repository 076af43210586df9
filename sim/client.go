package sim

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/ask"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/node/owner"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// client hosts a node's requests to the owners of shards, and its lists for new owners.
type client struct {
	n     *node
	core  *ask.Requests
	owing *ask.Owing
	lease time.Duration // the node's replicas may answer until then
	block uint64        // the last block of numbers that numbers gave out
}

func newClient(n *node) *client {
	c := &client{n: n, owing: ask.NewOwing(n.id)}
	c.core = ask.NewRequests(ask.Config{Self: n.id, Nums: c.numbers, Late: func() time.Duration { return 0 }})
	return c
}

// numbers returns the first of 2^20 unused numbers.
func (c *client) numbers() uint64 {
	c.block++
	return c.block << 20
}

// ask sends a request.
func (c *client) ask(num uint64, object phalanx.ObjectID, body directory.Body, done func(phalanx.NodeID, directory.Result)) {
	a := ask.Ask{Num: num, Object: object, Body: body}
	if done != nil {
		a.By = done
	}
	c.step(a)
}

// impatient has silent called whenever the owner has not answered for some seconds.
func (c *client) impatient(num uint64, silent func(*phalanx.Error)) {
	c.step(ask.Impatient{Num: num, By: silent})
}

// report sends something that only the table hears the answer of: mostly about the node's own copy.
func (c *client) report(object phalanx.ObjectID, body directory.Body, done func(phalanx.NodeID, directory.Result)) {
	if gen := copies.Reported(body); !gen.IsZero() {
		done = func(_ phalanx.NodeID, r directory.Result) { c.n.heard(object, gen, r) }
	}
	before, num := len(c.reports(object)), c.numbers()
	c.ask(num, object, body, done)
	switch after := len(c.reports(object)); {
	case !ask.IsReport(body):
	case after == before:
		c.n.w.met["report joins another"]++
	case before > 0:
		c.n.w.met["report waits for another"]++
	}
}

// message sends m to the owner of an object. Only the table hears the answer.
func (n *node) message(id phalanx.ObjectID, m owner.Message) {
	switch m.How {
	case owner.Withdraw:
		n.client.forget(m.Num)
		n.client.report(id, m.Body, nil)
	case owner.Unkeep:
		n.reportDrop(id, m.Gen)
	default:
		n.client.report(id, m.Body, nil)
	}
}

// reports returns the unanswered reports about an object.
func (c *client) reports(object phalanx.ObjectID) (out []directory.Request) {
	for r := range c.core.Unanswered() {
		if r.Object == object && ask.IsReport(r.Body) {
			out = append(out, r)
		}
	}
	return out
}

// forget ends a request, or a watch.
func (c *client) forget(num uint64) { c.step(ask.Forget{Num: num}) }

// cancel withdraws a request.
func (c *client) cancel(num uint64, object phalanx.ObjectID) {
	c.forget(num)
	c.ask(c.numbers(), object, directory.Cancel{Num: num}, nil)
}

// watch calls told for each readiness of an object.
func (c *client) watch(num uint64, object phalanx.ObjectID, told func(directory.Readiness)) {
	var last directory.Readiness
	c.step(ask.Ask{Num: num, Object: object, Body: directory.Watch{}, By: func(r directory.Readiness) {
		c.n.w.audit.watched(c.n, last, r)
		last = r
		told(r)
	}})
}

func (c *client) answered(from phalanx.NodeID, r directory.Reply) {
	s, _, _ := c.core.Shard(r.Object)
	if req, ok := c.core.Request(r.Num); ok {
		switch {
		case from != s.Owner:
			c.n.w.met["answer of a former owner"]++
		case r.Former(req.Epoch):
			c.n.w.met["answer of a former epoch"]++
		case r.Result.NotOwner:
			c.n.w.met["asked a node that does not own"]++
		}
	}
	asked := c.core.Asked()
	effects := c.core.Step(c.n.clock(), ask.Replied{From: from, Reply: r})
	if c.core.Asked() > asked {
		c.n.w.met["late grant given back"]++
	}
	c.do(effects)
}

func (c *client) readiness(from phalanx.NodeID, r directory.Readiness) {
	if s, _, ok := c.core.Shard(r.Object); ok && r.Version>>32 < s.Epoch {
		c.n.w.met["readiness of a former owner"]++
	}
	effects := c.core.Step(c.n.clock(), ask.Told{From: from, Readiness: r})
	for _, e := range effects {
		if _, ends := e.(ask.Send); ends {
			c.n.w.met["late watch ended"]++
		}
	}
	c.do(effects)
}

// epoch returns the epoch of an object's shard in this node's view, or 0.
func (c *client) epoch(id phalanx.ObjectID) uint64 {
	s, _, _ := c.core.Shard(id)
	return s.Epoch
}

func (c *client) learn(v view.View) {
	for i, s := range c.core.View().Shards {
		if v.Shards[i].Owner != s.Owner {
			c.n.w.met["shard moved"]++
		}
	}
	c.step(ask.Learn{View: v})
}

func (c *client) tick() {
	if at, ok := c.core.Due(); ok && at <= c.n.clock() {
		effects := c.core.Step(c.n.clock(), ask.Tick{})
		for _, e := range effects {
			if s, ok := e.(ask.Send); ok {
				if _, ok := s.What.(directory.Request); ok {
					c.n.w.met["request repeated"]++
				}
			}
		}
		c.do(effects)
	}
	c.tell()
}

// tell lists this node's copies to the new owners of shards until they acknowledge the list.
func (c *client) tell() {
	if at, ok := c.owing.Due(); !ok || at > c.n.clock() {
		return
	}
	for _, l := range c.owing.Step(c.n.clock(), ask.Tell{Next: c.block<<20 + 1}) {
		c.list(l, c.n.holdings(l.Shard))
	}
}

// list sends all holdings in parts, with pauses in which the node does other work.
func (c *client) list(l ask.List, all []directory.Holding) {
	c.n.after(c.n.w.draw(20*time.Millisecond), func() {
		const chunk = 2
		k := min(chunk, len(all))
		h := l.Head
		h.Holdings, h.End = all[:k:k], k == len(all)
		c.n.post(l.To, toShard{l.Shard, h})
		if l.Head.Part++; !h.End {
			c.list(l, all[k:])
		}
	})
}

func (c *client) step(ev ask.Event) { c.do(c.core.Step(c.n.clock(), ev)) }

func (c *client) do(effects []ask.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case ask.Send:
			c.n.post(e.To, toShard{e.Shard, e.What})
		case ask.Answer:
			e.By.(func(phalanx.NodeID, directory.Result))(e.From, e.Result)
		case ask.Ready:
			e.By.(func(directory.Readiness))(e.Readiness)
		case ask.Silent:
			c.n.w.met["owner says nothing: ErrUnavailable"]++
			e.By.(func(*phalanx.Error))(e.Err)
		}
	}
}
