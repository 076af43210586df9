package ask

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/agenda"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/retry"
	"github.com/phalanx-go/phalanx/protocol/view"
)

const (
	repeatAfter  = 50 * time.Millisecond  // an unanswered request, then twice as late
	repeatMax    = 800 * time.Millisecond // at most: a busy owner must not get more work
	waitingAfter = time.Second            // a request that waits at the owner
	watchAgain   = 5 * time.Second        // an answered watch, if no caller is impatient
	calm         = 20 * time.Millisecond  // before a node acknowledges a readiness or cancels a request: no caller waits for that
	grain        = 10 * time.Millisecond  // the least time between two ticks
	atOnce       = 1000                   // requests that one tick handles: it must not flood an owner
)

// Config has the settings of Requests.
type Config struct {
	Self phalanx.NodeID
	Nums func() uint64 // returns a new request number
	// Late returns by how much later than usual this node notices now that another one is silent.
	Late func() time.Duration
}

// Requests has the requests of a node to the owners of objects. Messages can get lost, so it
// repeats each request with the same number until the owner answers, and at once when the
// object's shard has a new owner.
type Requests struct {
	cfg     Config
	now     time.Duration
	ticked  time.Duration
	view    view.View
	pending map[uint64]*request
	agenda  agenda.Agenda[uint64] // of the numbers in pending, without held reports
	reports reports
	givenUp givenUp
	spoke   map[phalanx.NodeID]time.Duration // when each owner last said anything
	asked   uint64
	out     []Effect
}

// NewRequests returns Requests without a view. Requests wait for the first one.
func NewRequests(cfg Config) *Requests {
	return &Requests{cfg: cfg, pending: map[uint64]*request{}, spoke: map[phalanx.NodeID]time.Duration{}, ticked: -grain}
}

// Step takes an event and returns the effects.
func (c *Requests) Step(now time.Duration, ev Event) []Effect {
	c.now = now
	switch ev := ev.(type) {
	case Ask:
		c.ask(ev)
	case Forget:
		c.forget(ev.Num)
	case Impatient:
		c.expect(ev)
	case Replied:
		c.replied(ev.From, ev.Reply)
	case Told:
		c.told(ev.From, ev.Readiness)
	case Learn:
		c.learn(ev.View)
	case Unsendable:
		c.unsendable(ev)
	case Tick:
		c.tick()
	}
	out := c.out
	c.out = nil
	return out
}

func (c *Requests) emit(e Effect) { c.out = append(c.out, e) }

func (c *Requests) send(r *request) { c.emit(Send{To: r.owner, Shard: r.shard, What: r.Request}) }

func (c *Requests) ask(a Ask) {
	c.asked++
	_, watch := a.Body.(directory.Watch)
	r := &request{Request: directory.Request{From: c.cfg.Self, Num: a.Num, Object: a.Object, Body: a.Body},
		by: a.By, watch: watch, shard: a.Shard, began: c.now, heard: c.now}
	if IsReport(a.Body) {
		now, joins := c.reports.Add(a.Object, a.Num, a.Body)
		if with := c.pending[joins]; with != nil {
			with.joined = append(with.joined, a.By)
			return
		}
		r.held = !now
	}
	c.pending[a.Num] = r
	if r.held {
		return
	}
	if c.aim(r) {
		c.send(r)
	}
	c.book(r)
}

// aim sets the owner that gets r and when r is repeated; false if there is no owner yet. The
// caller books r.
func (c *Requests) aim(r *request) bool {
	r.again = c.now + retry.Pauses{First: repeatAfter, Most: repeatMax}.After(r.times+1)
	if len(c.view.Shards) == 0 {
		return false
	}
	if r.Object != "" {
		r.shard = r.Object.Shard(len(c.view.Shards))
	}
	s := c.view.Shards[r.shard]
	if s.Owner != r.owner || s.Epoch != r.epoch {
		r.heard, r.times, r.again = c.now, 0, c.now+repeatAfter
	}
	if r.content() {
		r.heard = c.now
	}
	r.times++
	r.owner, r.epoch, r.Epoch = s.Owner, s.Epoch, s.Epoch
	r.watched.Epoch = s.Epoch
	return r.owner != ""
}

func (c *Requests) forget(num uint64) {
	r := c.pending[num]
	if r == nil {
		return
	}
	c.remove(r)
	if r.watch {
		c.cancel(r.Object, r.shard, num)
	} else {
		c.givenUp.Add(num)
	}
}

// remove ends a request. If a report has waited for that, it is due now, and remove returns
// it.
func (c *Requests) remove(r *request) (next *request) {
	delete(c.pending, r.Num)
	c.agenda.Cancel(r.Num)
	if !IsReport(r.Body) {
		return nil
	}
	if next = c.pending[c.reports.Over(r.Object, r.Num)]; next != nil {
		next.held, next.began, next.heard, next.again = false, c.now, c.now, c.now
		c.book(next)
	}
	return next
}

// cancel tells the owner, soon, that request num has ended.
func (c *Requests) cancel(id phalanx.ObjectID, shard int, num uint64) {
	c.asked++
	end := &request{Request: directory.Request{From: c.cfg.Self, Num: c.cfg.Nums(), Object: id, Body: directory.Cancel{Num: num}},
		shard: shard, began: c.now, heard: c.now, again: c.now + calm}
	c.pending[end.Num] = end
	c.book(end)
}

// unsendable fails a request. A watch gets no answer.
func (c *Requests) unsendable(ev Unsendable) {
	r := c.pending[ev.Num]
	if r == nil {
		return
	}
	c.remove(r)
	switch {
	case !r.watch:
		c.answer(r, ev.To, directory.Result{Kind: ev.Kind, Text: ev.Why.Error()})
	case r.impatient != nil:
		c.emit(Silent{By: r.impatient, Err: &phalanx.Error{Object: r.Object, Node: ev.To, Kind: ev.Kind, Err: ev.Why}})
	}
}
