package workflow

import "slices"

// stepRun has a run take an event, and does what it wants.
func (c *Controller) stepRun(s step) {
	h := s.run
	h.queued--
	switch {
	case h.gone || h.parking:
		if s.then != nil {
			s.then(false)
		}
		return
	case h.held != nil:
		switch s.event.(type) {
		case Abort, Resume:
			h.held.later = append(h.held.later, s)
		}
		return
	}
	if _, is := s.event.(Resume); is {
		h.why = ""
	}
	pending := h.pending
	for _, e := range h.run.Step(c.now, s.event) {
		switch e := e.(type) {
		case Append:
			c.record(h, e)
		case Dispatch:
			c.want(h, e)
		case Cancel:
			c.recall(h, e)
		case Save:
			c.save(h, e)
		case Stuck:
			h.why = e.Why
			c.publish(RunStuck{Run: h.uid, ID: h.id, Task: h.taskName(e.Task), Why: e.Why})
		case Failed:
			if _, is := s.event.(Checkpointed); is {
				c.publish(CheckpointFailed{Run: h.uid, Task: h.taskName(e.Task), Why: e.Why, Again: e.Again})
			} else {
				c.publish(AttemptFailed{Run: h.uid, Task: h.taskName(e.Task), Why: e.Why, Again: e.Again})
			}
		}
	}
	if s.then != nil {
		s.then(h.pending > pending)
	}
	if at, ok := h.run.Due(); ok {
		c.timers.Set(h, at)
	} else {
		c.timers.Cancel(h)
	}
	switch {
	case h.run.Closed():
		c.closed(h)
	case h.run.idle() && len(h.flights) == 0 && h.ready == 0 && h.saves == 0 && h.pending == 0 && h.queued == 0 && h.durable && !h.closing:
		c.park(h)
	}
}

// record writes what has happened in a run: large outputs go first, in rows that mean nothing without the records.
// Records that do not fit into one Write are several batches, which mean nothing without the last one.
func (c *Controller) record(h *hosted, a Append) {
	batch := Batch{Epoch: c.cfg.Epoch}
	size := 0
	var made []Ended // that are in rows of their own
	var closes []Row
	row := func() Row {
		h.logs++
		return Row{Key: logKey(h.uid, h.logs), Value: batch}
	}
	for _, r := range a.Records {
		switch rec := r.(type) {
		case Ended:
			if len(rec.Output.Bytes) > keptBytes {
				c.add(nil, Row{Key: outKey(h.uid, rec.Task, rec.Attempt), Value: OutputBytes{rec.Output.Bytes}})
				made = append(made, rec)
				rec.Output.Bytes = nil
				r = rec
			}
		case Recovering:
			c.recovering(h, rec)
		case Undone:
			c.publish(TaskUndone{Run: h.uid, Task: h.taskName(rec.Task)})
		case Closed:
			closes = c.closingRows(h, rec)
		}
		if n := recordSize(r); size+n > MaxWrite/2 && len(batch.Records) > 0 {
			batch.More = true
			c.add(nil, row())
			batch, size = Batch{Epoch: c.cfg.Epoch}, n
		} else {
			size += n
		}
		batch.Records = append(batch.Records, r)
	}
	h.pending++
	c.add(func() {
		h.pending--
		for _, e := range made {
			h.run.trim(e.Task, e.Attempt)
		}
		c.step(h, Durable{a.Number}, nil)
	}, append([]Row{row()}, closes...)...)
}

func (c *Controller) recovering(h *hosted, r Recovering) {
	n := RecoveryBegan{Run: h.uid, Count: len(r.Set)}
	for _, v := range r.Set[:min(10, len(r.Set))] {
		n.Tasks = append(n.Tasks, h.taskName(v))
	}
	c.publish(n)
}

// closingRows are what is written as a run ends: it is not active any more, and its id has its result for some
// time.
func (c *Controller) closingRows(h *hosted, r Closed) []Row {
	h.closing = true
	result := Result{Failed: r.Failed}
	if r.Failed == "" {
		for _, l := range h.run.results() {
			l = h.locate(l.Task)
			result.Outputs = append(result.Outputs, l)
		}
	}
	h.result = &result
	stored := Result{Failed: r.Failed, Outputs: slices.Clone(result.Outputs)}
	for i := range stored.Outputs {
		if o := &stored.Outputs[i]; len(o.Output.Bytes) > keptBytes {
			o.Row, o.Output.Bytes = outKey(h.uid, o.Task, o.Made), nil
		}
	}
	c.add(nil, Row{Key: runKey(h.uid, "result"), Value: stored})
	n := h.name()
	n.State, n.Why, n.Until = Finished, r.Failed, c.minutes+c.cfg.Retention
	return []Row{{Key: activeKey(h.uid)}, {Key: idKey(h.id), Value: n}, {Key: untilKey(n.Until, h.id), Value: Active{}}}
}

// closed takes that the end of a run is durable.
func (c *Controller) closed(h *hosted) {
	c.publish(RunClosed{Run: h.uid, ID: h.id, Failed: h.result.Failed})
	waiting := c.watchers[h.uid]
	delete(c.watchers, h.uid)
	for _, call := range waiting {
		c.answer(call, Answer{Run: h.uid, Result: h.result})
	}
	c.forgetRun(h)
	for _, m := range h.users {
		c.free(m, Released{Run: h.uid})
	}
}

// forgetRun drops a run from memory.
func (c *Controller) forgetRun(h *hosted) {
	h.gone = true
	delete(c.runs, h.uid)
	delete(c.ids, h.id)
	c.timers.Cancel(h)
	c.place.drop(h)
	for _, v := range sortedTasks(h.flights) { // their outcomes are of no use
		f := h.flights[v]
		c.giveUp(f)
	}
}

// park has a run that only waits leave the memory: it is not active any more.
func (c *Controller) park(h *hosted) {
	h.parking = true
	c.lock(h.id)
	n := h.name()
	n.State, n.Why = Waiting, h.why
	c.add(func() {
		c.forgetRun(h)
		c.unlock(h.id)
	}, Row{Key: activeKey(h.uid)}, Row{Key: waitingKey(h.uid), Value: Active{}}, Row{Key: idKey(h.id), Value: n})
}

// load brings a run that only waits back to memory, and then calls f. Members are asked what they have of it.
func (c *Controller) load(id string, u UID, f func(*hosted)) {
	c.lock(id)
	c.read(runKey(u, ""), runEnd(u), 0, func(rows []Row) {
		h, err := c.rebuild(rows)
		if h == nil || err != nil {
			c.unlock(id)
			f(nil)
			return
		}
		c.register(h)
		c.add(nil, Row{Key: waitingKey(u)}, Row{Key: activeKey(u), Value: Active{}}, Row{Key: idKey(id), Value: h.name()})
		c.heldRuns = append(c.heldRuns, h)
		for _, m := range c.sortedMembers() {
			h.held.asks++
			c.ask(m, u, func() {
				h.held.asks--
				c.release()
			})
		}
		c.unlock(id)
		f(h)
		c.release()
	})
}

// gone takes that nobody has an output any more.
func (c *Controller) gone(b Blob) {
	h := c.runs[b.Run]
	if h == nil || !h.hasTask(b.Task) || !h.run.has(b) {
		return
	}
	if h.at != nil {
		h.at[b.Task] = nil
	}
	if h.held != nil {
		delete(h.held.holders, b.Task)
		h.run.lose(b.Task)
		return
	}
	c.step(h, Gone{Task: b.Task, Gen: b.Gen}, nil)
}
