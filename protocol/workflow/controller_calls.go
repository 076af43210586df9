package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
)

// call is a call that has no answer yet.
type call struct {
	caller Caller
	what   Call
	run    UID  // it waits for the end of this run; zero: it waits for something else
	full   bool // the ledger's disk was nearly full
	over   bool
}

func (k *call) waits() string {
	if !k.run.IsZero() {
		return "the run has not ended yet"
	}
	return "the ledger has not answered in time"
}

// called takes a call.
func (c *Controller) called(ev Called) {
	if _, is := c.calls[ev.Caller]; is {
		return
	}
	k := &call{caller: ev.Caller, what: ev.Call, full: ev.Full}
	_, awaits := ev.Call.(AwaitResult)
	if len(c.calls) >= MaxCalls || awaits && len(c.calls) >= MaxAwaits {
		c.emit(Answer{Caller: ev.Caller, Err: failure(phalanx.ErrUnavailable, "%d calls wait: %w", len(c.calls), ErrBusy)})
		return
	}
	c.calls[ev.Caller] = k
	wait := ev.Patience
	if wait <= 0 || wait > mostPatience {
		wait = mostPatience
	}
	c.patience.Set(k, c.now+wait)
	if c.loading {
		c.fail(k, failure(phalanx.ErrUnavailable, "the controller takes over: try again soon"))
		return
	}
	switch w := ev.Call.(type) {
	case StartRun:
		c.start(k, w)
	case AttachRun:
		c.find(k, w.ID, func(h *hosted, u UID, _ *Name) { c.whenDurable(h, func() { c.answer(k, Answer{Run: u}) }) })
	case AwaitResult:
		c.find(k, w.ID, func(h *hosted, u UID, n *Name) { c.awaitResult(k, u, n) })
	case GetStatus:
		c.lately(func() { c.lookup(w.ID, func(h *hosted, n *Name) { c.status(k, w, h, n) }) })
	case ReadRun:
		c.lately(func() { c.lookup(w.ID, func(h *hosted, n *Name) { c.readRun(k, w, h, n) }) })
	case ListRuns:
		c.lately(func() { c.list(k, w) })
	case CancelRun:
		c.change(k, w.ID, func(h *hosted) { c.after(k, h, Abort{Cause: cut(w.Cause)}) })
	case ResumeRun:
		c.change(k, w.ID, func(h *hosted) { c.resume(k, h, w) })
	case SignalRun:
		c.change(k, w.ID, func(h *hosted) { c.signal(k, h, w) })
	case GetLedger:
		c.fail(k, failure(phalanx.ErrUnavailable, "this node cannot say where the ledger is"))
	case ForgetRun:
		c.forget(k, w.ID)
	}
}

func (c *Controller) sortedCalls() []*call { return slices.SortedFunc(maps.Values(c.calls), earlier) }

func earlier(a, b *call) int { return order(uint64(a.caller), uint64(b.caller)) }

// dropCall forgets a call that is answered, or that nobody waits for.
func (c *Controller) dropCall(k *call) {
	k.over = true
	delete(c.calls, k.caller)
	c.patience.Cancel(k)
	if all, is := c.watchers[k.run]; is {
		if delete(all, k); len(all) == 0 {
			delete(c.watchers, k.run)
		}
	}
}

func (c *Controller) answer(k *call, a Answer) {
	if k.over {
		return
	}
	c.dropCall(k)
	a.Caller = k.caller
	c.emit(a)
}

func (c *Controller) fail(k *call, err error) { c.answer(k, Answer{Err: err}) }

// find calls then with the run of an id, once it is certain that no later controller knows better.
func (c *Controller) find(k *call, id string, then func(h *hosted, u UID, n *Name)) {
	if err := CheckID(id); err != nil {
		c.fail(k, err)
		return
	}
	c.confirmThen(func() {
		c.lookup(id, func(h *hosted, n *Name) {
			switch {
			case k.over:
			case h != nil:
				then(h, h.uid, nil)
			case n == nil:
				c.fail(k, failure(phalanx.ErrNotFound, "there is no run %q", id))
			case n.State == Forgotten:
				c.fail(k, failure(phalanx.ErrDeleted, "run %q was forgotten", id))
			default:
				then(nil, n.Run, n)
			}
		})
	})
}

// whenDurable calls f once the start of a run is durable; nil: it is.
func (c *Controller) whenDurable(h *hosted, f func()) {
	if h == nil || h.durable {
		f()
		return
	}
	h.attach = append(h.attach, f)
}

// start begins a run, or attaches to that of the id.
func (c *Controller) start(k *call, s StartRun) {
	if err := CheckID(s.ID); err != nil {
		c.fail(k, err)
		return
	}
	if s.Work == nil || len(s.Key) > phalanx.MaxIDBytes {
		c.fail(k, invalid("there is no workflow, or the caller's key has more than %d bytes", phalanx.MaxIDBytes))
		return
	}
	if s.Work.events == nil {
		if err := s.Work.Check(); err != nil {
			c.fail(k, &phalanx.Error{Op: "workflow", Kind: phalanx.ErrInvalid, Err: err})
			return
		}
	}
	c.lookup(s.ID, func(h *hosted, n *Name) {
		switch {
		case k.over:
		case h == nil && n == nil:
			c.begin(k, s)
		case h == nil && n.State == Forgotten:
			c.fail(k, failure(phalanx.ErrDeleted, "run %q was forgotten less than %d minutes ago", s.ID, tombstone))
		case h != nil && h.work.Digest == s.Work.Digest:
			c.whenDurable(h, func() { c.attached(k, h.uid, h.key == s.Key && s.Key != "") })
		case h != nil:
			c.mismatch(k, s, h.work)
		case n.Digest == s.Work.Digest:
			c.attached(k, n.Run, n.Key == s.Key && s.Key != "")
		default:
			c.read(runKey(n.Run, "start"), "", 1, func(rows []Row) {
				if len(rows) == 0 {
					c.fail(k, failure(phalanx.ErrUnavailable, "run %q was just forgotten: try again", s.ID))
					return
				}
				c.mismatch(k, s, rows[0].Value.(Started).Work)
			})
		}
	})
}

func (c *Controller) attached(k *call, u UID, fresh bool) {
	c.confirmThen(func() { c.answer(k, Answer{Run: u, Fresh: fresh}) })
}

func (c *Controller) mismatch(k *call, s StartRun, recorded *Work) {
	c.fail(k, failure(phalanx.ErrMismatch, "run %q has another workflow: %s", s.ID, s.Work.difference(recorded)))
}

// begin begins a run. Its workflow is written in parts, behind a row by which the next controller deletes them if
// the rest is not written.
func (c *Controller) begin(k *call, s StartRun) {
	if c.full() {
		c.fail(k, failure(phalanx.ErrUnavailable, "%d bytes are not on disks yet: %w", c.bytes, ErrBusy))
		return
	}
	if k.full {
		c.fail(k, failure(phalanx.ErrNoSpace, "the disk of the node that leads the ledger is nearly full, and no run begins: free some of it, or put its folder (--dir) on a larger one. Runs that have begun go on"))
		return
	}
	events, err := s.Work.take()
	if err != nil {
		c.fail(k, &phalanx.Error{Op: "workflow", Kind: phalanx.ErrInvalid, Err: err})
		return
	}
	c.index++
	u := UID{c.cfg.Ledger, c.cfg.Epoch, c.index}
	work := *s.Work
	parts := work.Parts
	work.Parts = nil
	h := &hosted{uid: u, id: s.ID, key: s.Key, work: &work, run: NewRun(c.cfg.Run, events, nil)}
	c.register(h)
	if len(parts) > 1 {
		c.add(nil, Row{Key: activeKey(u), Value: Active{}})
	}
	var rows []Row
	for i, p := range parts {
		r := Row{Key: partKey(u, i), Value: Part{p}}
		if len(parts) > 1 {
			c.add(nil, r)
		} else {
			rows = append(rows, r)
		}
	}
	rows = append(rows, Row{Key: activeKey(u), Value: Active{}}, Row{Key: runKey(u, "start"), Value: Started{Run: u, ID: s.ID, Key: s.Key, Work: &work}},
		Row{Key: idKey(s.ID), Value: h.name()})
	c.add(func() {
		h.durable = true
		c.publish(RunStarted{Run: u, ID: s.ID})
		c.answer(k, Answer{Run: u, Fresh: true})
		for _, f := range h.attach {
			f()
		}
		h.attach = nil
		c.step(h, Tick{}, nil) // it may only wait
	}, rows...)
	c.step(h, Tick{}, nil)
}

// awaitResult answers once a run has ended.
func (c *Controller) awaitResult(k *call, u UID, n *Name) {
	if n == nil || n.State != Finished {
		k.run = u
		if c.watchers[u] == nil {
			c.watchers[u] = map[*call]struct{}{}
		}
		c.watchers[u][k] = struct{}{}
		return
	}
	c.read(runKey(u, "result/"), runKey(u, "result0"), 0, func(rows []Row) {
		if len(rows) == 0 {
			c.fail(k, failure(phalanx.ErrDeleted, "the run was just forgotten"))
			return
		}
		r := Result{Failed: rows[0].Value.(Result).Failed}
		for _, row := range rows {
			r.Outputs = append(r.Outputs, row.Value.(Result).Outputs...)
		}
		c.answer(k, Answer{Run: u, Result: &r})
	})
}

// change calls then with a run that has not ended.
func (c *Controller) change(k *call, id string, then func(*hosted)) {
	c.find(k, id, func(h *hosted, u UID, n *Name) {
		switch {
		case h != nil && h.closing:
			c.whenClosed(k, h)
		case h != nil:
			then(h)
		case n.State == Finished:
			c.fail(k, failure(phalanx.ErrClosed, "run %q has ended", id))
		case n.State == Waiting:
			c.load(id, n, func(h *hosted) {
				if h == nil {
					c.fail(k, failure(phalanx.ErrInternal, "run %q cannot be read", id))
					return
				}
				then(h)
			})
		default:
			c.fail(k, failure(phalanx.ErrInternal, "this version cannot go on with run %q", id))
		}
	})
}

// whenClosed answers ErrClosed once the end of a run is durable: once a Write behind it is.
func (c *Controller) whenClosed(k *call, h *hosted) {
	c.add(func() { c.fail(k, failure(phalanx.ErrClosed, "run %q has ended", h.id)) }, c.clock())
}

// after has a run take an event, and answers once what follows from it is durable: once a Write behind that is.
func (c *Controller) after(k *call, h *hosted, ev RunEvent) {
	c.step(h, ev, func(bool) {
		c.place.again(h) // after a Resume its functions may be others
		c.limits.changeOf(h)
		if state, _ := h.run.state(); h.closing && state == Open { // it has ended before it took the event
			c.whenClosed(k, h)
			return
		}
		c.add(func() { c.answer(k, Answer{Run: h.uid}) }, c.clock())
	})
}

// resume goes on with what is stuck.
func (c *Controller) resume(k *call, h *hosted, w ResumeRun) {
	if n := len(w.With) + len(h.run.versions); n > MaxVersions {
		c.fail(k, invalid("%d versions are given, more than %d", n, MaxVersions))
		return
	}
	for _, f := range w.With {
		if len(f.Name) > phalanx.MaxIDBytes {
			c.fail(k, invalid("a function's name has %d bytes, more than %d", len(f.Name), phalanx.MaxIDBytes))
			return
		}
	}
	c.after(k, h, Resume{Versions: w.With, AcceptLoss: w.AcceptLoss})
}

// clock is a row that says nothing new: a Write of it shows that the tenure goes on, and all before it is durable.
func (c *Controller) clock() Row { return Row{Key: "clock", Value: Clock{c.minutes}} }

// status answers how a run stands.
func (c *Controller) status(k *call, w GetStatus, h *hosted, n *Name) {
	switch {
	case h == nil && (n == nil || n.State == Forgotten):
		c.fail(k, failure(phalanx.ErrNotFound, "there is no run %q", w.ID))
		return
	case h == nil:
		c.answer(k, Answer{Run: n.Run, Status: &Status{State: n.State, Why: n.Why, Lost: n.Lost}})
		return
	}
	if h.status == nil || c.now >= h.statusAt+time.Second {
		h.status, h.statusAt = c.statusOf(h), c.now
	}
	s := *h.status
	if w.Tasks {
		s.Work = h.atWork()
	}
	c.answer(k, Answer{Run: h.uid, Status: &s})
}

// statusOf says how a run stands now.
func (c *Controller) statusOf(h *hosted) *Status {
	s := &Status{Running: len(h.flights), Ready: h.ready}
	s.Tasks, s.Ended = h.run.count()
	if s.State, s.Why = h.run.state(); h.why != "" {
		s.Why = h.why
	}
	if h.held != nil { // what members have of it is not known yet
		return s
	}
	s.Lost = h.lost()
	seen := map[Function]bool{}
	for v := range h.want {
		if !h.wants(v) {
			continue
		}
		if f := h.function(v); !seen[f] {
			if seen[f] = true; !c.place.offered(f) && len(s.Lacks) < mostListed {
				s.Lacks = append(s.Lacks, f)
			}
		}
	}
	return s
}

// list answers which runs there are.
func (c *Controller) list(k *call, l ListRuns) {
	limit := l.Limit
	if limit <= 0 || limit > mostListed {
		limit = mostListed
	}
	from := idKey(l.Prefix)
	if l.After >= l.Prefix && l.After != "" {
		from = idKey(l.After) + "\x00"
	}
	c.read(from, prefixEnd(idKey(l.Prefix)), limit, func(rows []Row) {
		a := Answer{}
		for _, r := range rows {
			n := r.Value.(Name)
			if h := c.runs[n.Run]; h != nil && h.held == nil {
				n.State, n.Why = h.run.state()
				if h.why != "" {
					n.Why = h.why
				}
			}
			a.List = append(a.List, Listed{ID: strings.TrimPrefix(r.Key, "id/"), Name: n})
		}
		c.answer(k, a)
	})
}

// prefixEnd returns the first key after all with a prefix.
func prefixEnd(prefix string) string {
	b := []byte(prefix)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] < 0xff {
			b[i]++
			return string(b[:i+1])
		}
	}
	panic(fmt.Sprintf("no key follows %q", prefix))
}
