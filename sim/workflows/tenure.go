package workflows

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	lnode "github.com/phalanx-go/phalanx/node/ledger"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	"github.com/phalanx-go/phalanx/protocol/ledger"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// tenure is the right of this node's controller to append.
type tenure struct {
	h       *host
	epoch   uint64
	over    bool              // it has ended
	fenced  bool              // nothing is answered any more
	number  uint64            // of the last append that was taken
	appends map[uint64]*asked // by number
	read    uint64            // the number of the last read
	reads   map[uint64]*asked
	turn    uint64
	waiting map[*asked]bool
}

// asked is an append, or a question whether the tenure goes on if rows is nil.
type asked struct {
	turn uint64
	rows []ledger.Row
	done func(reply)
}

// reply answers what was asked of the ledger.
type reply int

const (
	fenced reply = iota
	good
	busy // a question is to be asked again
)

// ask has the keeper take what a controller asks.
func (t *tenure) ask(m *asked) {
	if t.fenced {
		t.h.post(func() { m.done(fenced) })
		return
	}
	t.turn++
	m.turn = t.turn
	t.waiting[m] = true
	t.h.post(func() { t.h.ask(t, m) })
}

func (t *tenure) answer(m *asked, r reply) {
	if t.waiting[m] {
		delete(t.waiting, m)
		m.done(r)
	}
}

// finish says that the tenure has ended. What was asked is answered still.
func (t *tenure) finish() {
	if t.over {
		return
	}
	t.over = true
	t.h.post(func() {
		if c := t.h.keeper.controller; c != nil && c.t == t {
			c.ends(false)
		}
	})
}

// beginTenure gives the node's controller a new tenure.
func (h *host) beginTenure(epoch uint64) {
	h.endTenure()
	t := &tenure{h: h, epoch: epoch, appends: map[uint64]*asked{}, reads: map[uint64]*asked{}, waiting: map[*asked]bool{}}
	h.keeper.tenure = t
	h.tracef("tenure %d begins", epoch)
	h.Met("tenure of the ledger")
	h.check.tenureBegan(h, epoch)
}

// serve begins the controller of a tenure.
func (h *host) serve(epoch uint64) {
	t := h.keeper.tenure
	if t == nil || t.epoch != epoch {
		return
	}
	h.soon(func() {
		if !t.over {
			h.lead(t)
		}
	})
}

// endTenure ends the tenure of this instance, if there is one, and answers all that waits.
func (h *host) endTenure() {
	t := h.keeper.tenure
	if t == nil {
		return
	}
	h.keeper.tenure = nil
	t.finish()
	t.fenced = true
	for _, m := range slices.SortedFunc(maps.Keys(t.waiting), func(a, b *asked) int { return cmp.Compare(a.turn, b.turn) }) {
		t.answer(m, fenced)
	}
}

// ask gives the core what a controller asks.
func (h *host) ask(t *tenure, m *asked) {
	if t != h.keeper.tenure {
		t.answer(m, fenced)
		return
	}
	if m.rows == nil {
		t.read++
		t.reads[t.read] = m
		h.ledger(lnode.ForReplica{Event: ledger.Read{ID: t.read}})
		return
	}
	t.number++
	t.appends[t.number] = m
	h.check.proposed(t.epoch, m.rows)
	h.ledger(lnode.ForReplica{Event: ledger.Append{Epoch: t.epoch, Number: t.number, Rows: m.rows}})
}

func (h *host) appended(epoch, number uint64, r reply) {
	t := h.keeper.tenure
	if t == nil || t.epoch != epoch || t.appends[number] == nil {
		return
	}
	m := t.appends[number]
	delete(t.appends, number)
	if r == good {
		h.check.durable(h, epoch, m.rows)
	}
	t.answer(m, r)
}

// refused answers an append of a tenure that has ended.
func (h *host) refused(e ledger.Refused) {
	if e.Reason != ledger.Fenced {
		h.Fail("a controller does not keep to the bounds of the ledger: %+v", e)
	}
	h.Met("append refused: fenced")
	h.appended(e.Epoch, e.Number, fenced)
}

func (h *host) readable(id uint64, is bool) {
	t := h.keeper.tenure
	if t == nil || t.reads[id] == nil {
		return
	}
	m := t.reads[id]
	delete(t.reads, id)
	switch {
	case t.over:
		t.answer(m, fenced)
	case !is:
		h.Met("ledger too busy to say whether a tenure goes on")
		t.answer(m, busy)
	default:
		t.answer(m, good)
	}
}

// controller is the actor of one tenure.
type controller struct {
	h      *host
	t      *tenure
	tenure *flow.Tenure
	out    bool // the tenure was given up
	over   bool // the actor has ended
}

// inputBudget is how many bytes of recorded outputs go with an order; executors get the others one by one.
const inputBudget = 300

// afterPanic is the pause before a controller that has ended by itself is followed by the next one.
const afterPanic = 500 * time.Millisecond

// lead begins the controller of a tenure.
func (h *host) lead(t *tenure) {
	c := &controller{h: h, t: t}
	c.tenure = flow.NewTenure(core.ControllerConfig{Ledger: ledgerOf(h.keeper.disk.Identity().Cluster), Epoch: t.epoch, Generation: ledger.GenerationOf(t.epoch)}, codec{}, h.p.Now())
	h.keeper.controller = c
	c.carryOut(c.tenure.Begin())
	c.step(flow.View{Members: h.view})
}

// ends ends the actor: with the tenure, or by itself.
func (c *controller) ends(panics bool) {
	h := c.h
	if c.over {
		return
	}
	if !panics {
		c.step(flow.Ended{})
	}
	c.over = true
	h.keeper.controller = nil
	if c.t.over {
		return
	}
	h.later(afterPanic, func() {
		if !c.t.over && h.keeper.tenure == c.t { // the next one needs a greater epoch: the replica begins anew
			h.Met("keeper begins anew after its controller")
			h.crashKeeper()
		}
	})
}

func (c *controller) step(ev flow.TenureEvent) {
	if !c.over {
		c.carryOut(c.tenure.Step(c.h.p.Now(), ev))
	}
}

// answered returns what takes the answer to what was asked of the ledger.
func (c *controller) answered(ev flow.TenureEvent) func(reply) {
	return func(r reply) {
		c.h.post(func() {
			switch a, asks := ev.(flow.Assured); {
			case r == fenced:
				c.step(flow.Ended{})
			case r == busy && asks:
				c.step(flow.Busy(a))
			default:
				c.step(ev)
			}
		})
	}
}

func (c *controller) carryOut(effects []flow.TenureEffect) {
	h := c.h
	for _, e := range effects {
		switch e := e.(type) {
		case flow.Append:
			c.t.ask(&asked{rows: e.Rows, done: c.answered(flow.Appended{Number: e.Number})})
		case flow.Look:
			h.soon(func() { c.step(h.look(e)) })
		case flow.AskSure:
			c.t.ask(&asked{done: c.answered(flow.Assured(e))})
		case flow.Tell:
			if o, is := e.Message.(core.Order); is {
				e.Message = messages.Fit(o, o.Of.(*messages.Graph), inputBudget, func(l core.Located) string { return core.OutputRow(o.ID.Run, l) })
			}
			h.send(e.To, e.Message)
		case flow.Respond:
			h.send(e.To, e.Reply)
		case flow.Publish:
			h.check.published(c.t.epoch, e.News)
		case flow.Sweep:
			c.sweep()
		case flow.GiveUp:
			h.check.givenUp(h, e.Why)
			if !c.out {
				c.out = true
				h.post(func() { c.ends(false) })
			}
		}
	}
}

// look reads rows.
func (h *host) look(l flow.Look) flow.Looked {
	answer := flow.Looked{Number: l.Number}
	for _, r := range l.Ranges {
		end, limit := r.End, r.Limit
		if end == "" {
			end, limit = r.Key+"\x00", 1
		}
		if err := h.keeper.disk.Range(r.Key, end, limit, func(row ledger.Row) bool {
			answer.Rows = append(answer.Rows, row)
			return true
		}); err != nil {
			answer.Failed = err.Error()
			return answer
		}
	}
	return answer
}

// have sends an executor the rows that it wants, as far as they are there.
func (c *controller) have(from phalanx.NodeID, w flow.WantRows) {
	answer := flow.HaveRows{Epoch: w.Epoch}
	for _, key := range w.Keys {
		l := c.h.look(flow.Look{Ranges: []flow.Range{{Key: key}}})
		if l.Failed != "" {
			c.step(flow.Unread{Why: l.Failed})
			return
		}
		for _, r := range l.Rows {
			v, err := messages.UnmarshalRow(r.Value, 0)
			b, is := v.(core.OutputBytes)
			if err != nil || !is {
				c.h.Fail("row %s is no output: %v", key, err)
			}
			answer.Rows = append(answer.Rows, flow.OutputRow{Key: key, Bytes: b.Bytes})
		}
	}
	c.h.send(from, answer)
}
