package workflow

import (
	"fmt"
	"maps"
	"slices"
)

// want has an attempt wait for a slot.
func (c *Controller) want(h *hosted, d Dispatch) {
	if more := len(h.run.tasks) - len(h.want); more > 0 {
		h.want = append(h.want, make([]bool, more)...)
	}
	if !h.want[d.Task] {
		h.want[d.Task] = true
		h.ready++
	}
	if by, is := h.limitOf(d.Task); is && c.limits.waits(by) {
		c.limits.add(h, d.Task, by)
		return
	}
	c.place.add(h, d.Task, h.function(d.Task))
}

func (h *hosted) wants(v int) bool { return !h.gone && v < len(h.want) && h.want[v] }

func (h *hosted) unwant(v int) {
	h.want[v] = false
	h.ready--
}

// dispatch places what can be placed. Nothing is while the ledger is stalled.
func (c *Controller) dispatch() {
	if c.loading {
		return
	}
	for !c.stalled() {
		h, v, m, ok := c.place.next(c.now, (*hosted).wants, (*hosted).prefers)
		if !ok {
			if !c.callLimited() {
				return
			}
			continue
		}
		if by, is := h.limitOf(v); is {
			if !c.knowsLimits() || !c.limits.begins(by) {
				c.limits.add(h, v, by)
				continue
			}
			c.limits.left(h, v, by)
		}
		c.send(h, v, m)
	}
}

// callLimited has an attempt that waits for its limit look for a slot; false: there is none that may begin.
func (c *Controller) callLimited() bool {
	if !c.knowsLimits() {
		return false
	}
	h, v, ok := c.limits.next((*hosted).wants, func(h *hosted, v int) bool { return c.place.offered(h.function(v)) })
	if ok {
		c.place.add(h, v, h.function(v))
	}
	return ok
}

// knowsLimits reports whether the controller knows which attempts run: each member that an earlier one may have sent
// attempts has told, or has left.
func (c *Controller) knowsLimits() bool { return len(c.recorded) == 0 }

// prefers returns the member that has the largest input of a task, if that is large.
func (h *hosted) prefers(v int) (m *member) {
	largest := int64(largeInput - 1)
	for _, p := range h.run.x.parents(v) {
		o := h.run.located(int(p)).Output
		if size := max(o.Size, o.Weight); size > largest {
			if has := h.holder(int(p)); has != nil && !has.left {
				m, largest = has, size
			}
		}
	}
	return m
}

// send sends the attempt of a task to a member.
func (c *Controller) send(h *hosted, v int, m *member) {
	h.unwant(v)
	t := &h.run.tasks[v]
	inputs := h.run.x.inputs(v)
	if inputs == nil && h.run.x.Tasks[v].Needs > 0 {
		c.step(h, Outcome{Task: v, Attempt: t.running, Kind: t.kind, Lost: true, Failed: "inputs were lost before it began"}, nil)
		return
	}
	work, local := h.workOf(v)
	o := Order{Epoch: c.cfg.Epoch, ID: AttemptID{h.uid, v, t.running}, Gen: t.gen, Kind: t.kind, Generation: c.cfg.Generation,
		Made: t.running, Function: h.function(v), Attempts: t.retries, Local: local, Of: work.Of,
		Off: !h.run.x.saves(v), Result: h.run.isResult(v)}
	base := h.run.x.scope(v).base
	for _, p := range inputs {
		o.Inputs, o.From = append(o.Inputs, h.locate(int(p))), append(o.From, int(p)-base)
	}
	switch t.kind {
	case Do:
		o.Progress = h.progressOf(v)
	case TakeBack:
		o.Fence = t.fence
	case Remake:
		o.Made = t.made
	case MakeUp:
		l := h.locate(v)
		o.Output = &l
	}
	if n := o.inputs(); n > c.mostInputs {
		c.step(h, Outcome{Task: v, Attempt: t.running, Kind: t.kind, Final: true, Failed: fmt.Sprintf(
			"what a node has to know of its %d inputs takes %d bytes, more than %d: have tasks in between read a part of them each", len(o.Inputs), n, c.mostInputs)}, nil)
		return
	}
	m.serial++
	o.Serial = m.serial
	f := &flight{run: h, id: o.ID, kind: o.Kind, to: m, serial: o.Serial, slot: true}
	c.place.use(m, 1)
	h.fly(f)
	c.limits.count(m, f.id, h.run.x.Tasks[v].Limit)
	f.msg = c.sendUntil(m, o)
}

// inputs returns about how many bytes the inputs take in a message.
func (o Order) inputs() (n int) {
	for _, in := range o.Inputs {
		n += in.size()
	}
	return n
}

// recall ends an attempt that a run has canceled.
func (c *Controller) recall(h *hosted, e Cancel) {
	if f := h.flights[e.Task]; f != nil && f.id.Attempt == e.Attempt {
		c.giveUp(f)
		return
	}
	if h.wants(e.Task) {
		h.unwant(e.Task)
		if by, is := h.limitOf(e.Task); is {
			c.limits.left(h, e.Task, by)
		}
		c.step(h, Outcome{Task: e.Task, Attempt: e.Attempt, Kind: h.run.tasks[e.Task].kind, Failed: "it was canceled before it began"}, nil)
	}
}

// giveUp asks a member to end an attempt. Its slot is free once it has.
func (c *Controller) giveUp(f *flight) {
	if f.canceled || f.to.left {
		return
	}
	f.canceled = true
	c.stop(f.msg)
	f.msg = c.sendUntil(f.to, Recall{Epoch: c.cfg.Epoch, Serial: f.serial, ID: f.id})
}

// reported takes how an attempt has ended, if it is one of which that counts. The executor keeps the report until
// what follows from it is durable.
func (c *Controller) reported(m *member, r Report) {
	c.limits.uncount(m, r.ID)
	if s, is := m.foreign[r.ID]; is {
		c.stop(s)
		delete(m.foreign, r.ID)
		c.place.use(m, -1)
	}
	h := c.runs[r.ID.Run]
	if h != nil && h.held != nil {
		c.reportedHeld(m, h, r)
		return
	}
	f := m.flights[r.ID]
	switch {
	case f == nil && c.unacked[r.ID], c.full(): // it comes again
		return
	case f == nil:
		c.acknowledge(m, r.ID)
		if h == nil { // it has ended meanwhile
			c.stray(m, r.ID.Run)
		} else {
			h.uses(m)
		}
		return
	}
	c.landed(f)
	c.place.hold(m, false)
	if f.run.gone {
		c.acknowledge(m, r.ID)
		c.stray(m, r.ID.Run)
		return
	}
	v := r.ID.Task
	if f.kind == Do && r.Failed == "" {
		c.setProgress(h, v, nil)
	} else if f.kind == Do && r.Progress != nil {
		c.setProgress(h, v, r.Progress)
	}
	r.Failed, r.Output.Error = cut(r.Failed), "" // a Run makes errors outputs
	if r.Output.Names = sound(r.Output.Names); !f.run.run.isResult(v) {
		r.Output.Names = nil
	}
	if len(r.Output.Bytes) > MaxRecorded || r.Output.Refs > 0 {
		r.Output.Recorded = false
	}
	if !r.Output.Recorded {
		r.Output.Bytes = nil
	}
	if r.Failed == "" && r.Work == nil && (f.kind == Do || f.kind == Remake) {
		f.run.setAt(v, m)
	}
	o := Outcome{Task: v, Attempt: r.ID.Attempt, Kind: f.kind, Failed: r.Failed, Final: r.Final, Lost: r.Lost && r.Failed != "", Output: r.Output}
	if r.Failed == "" && r.Work != nil {
		c.returned(r.Work, &o)
	}
	for _, b := range r.Missing {
		c.gone(b)
		o.Lost = true // it did not begin
	}
	for _, b := range r.Unsaved {
		c.unsaved(b)
		o.Lost = true
	}
	c.step(f.run, o, func(wrote bool) {
		if !wrote { // nothing follows from it
			c.acknowledge(m, r.ID)
			return
		}
		c.unacked[r.ID] = true
		last := &c.units[len(c.units)-1]
		then := last.then
		last.then = func() {
			then()
			delete(c.unacked, r.ID)
			c.acknowledge(m, r.ID)
		}
	})
}

// landed takes that an attempt does not go on.
func (c *Controller) landed(f *flight) {
	c.stop(f.msg)
	f.run.land(f)
	if f.slot && !f.to.left {
		c.place.use(f.to, -1)
	}
}

// lost takes that the node of an attempt has left the view.
func (c *Controller) lost(f *flight) {
	c.landed(f)
	if f.run.gone {
		return
	}
	c.publish(AttemptLost{Run: f.run.uid, Task: f.run.taskName(f.id.Task), Node: f.to.node})
	c.step(f.run, Outcome{Task: f.id.Task, Attempt: f.id.Attempt, Kind: f.kind, Lost: true}, nil)
}

func sortedTasks[V any](m map[int]V) []int { return slices.Sorted(maps.Keys(m)) }
