package workflow

import (
	"maps"
	"slices"
)

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
		case Abort, Resume, Signal, Unsaved:
			h.held.later = append(h.held.later, s)
		case Tick:
			c.releaseRun(h)
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
		case SignalTaken:
			c.signalled(h, e)
		case Stuck:
			h.why = e.Why
			h.hitch(e.Task, e.Why)
			c.publish(RunStuck{Run: h.uid, ID: h.id, Task: h.taskName(e.Task), Why: e.Why})
		case Failed:
			if _, is := s.event.(Checkpointed); is {
				c.publish(CheckpointFailed{Run: h.uid, Task: h.taskName(e.Task), Why: e.Why, Again: e.Again})
			} else {
				h.hitch(e.Task, e.Why)
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
	case h.run.idle(c.now+parkAfter) && len(h.flights) == 0 && h.ready == 0 && h.saves == 0 && h.pending == 0 && h.queued == 0 && h.durable && !h.closing:
		c.park(h)
	}
}

// record writes what has happened in a run: large outputs go first, in rows that mean nothing without the records.
// Records that do not fit into one Write are several batches, which mean nothing without the last one.
func (c *Controller) record(h *hosted, a Append) {
	batch := c.batch()
	size := 0
	var made []Ended  // that are in rows of their own
	var grown []*Work // whose recorded form is in the batch
	var closes []Row
	row := func() Row {
		h.logs++
		return Row{Key: logKey(h.uid, h.logs), Value: batch}
	}
	put := func(r Record) {
		if n := recordSize(r); size+n > MaxWrite/2 && len(batch.Records) > 0 {
			batch.More = true
			c.add(nil, row())
			batch, size = c.batch(), n
		} else {
			size += n
		}
		batch.Records = append(batch.Records, r)
	}
	for _, r := range a.Records {
		switch rec := r.(type) {
		case Ended:
			delete(h.hitches, rec.Task)
			if len(rec.Output.Bytes) > keptBytes {
				c.add(nil, Row{Key: outKey(h.uid, rec.Task, rec.Attempt), Value: OutputBytes{rec.Output.Bytes}})
				made = append(made, rec)
				rec.Output.Bytes = nil
				r = rec
			}
		case Recovering:
			c.recovering(h, rec)
			pieces := slices.Collect(slices.Chunk(rec.Set, mostSet))
			for len(pieces) > 1 { // rebuild puts them together
				first := Recovering{Set: pieces[0], Loss: rec.Loss}
				pieces = pieces[1:]
				put(first)
			}
			r = Recovering{Set: pieces[0], Loss: rec.Loss}
		case Expanded:
			delete(h.hitches, rec.Task)
			w, _ := rec.Work.(*Work)
			grown = append(grown, w)
			pieces := piecesOf(rec, w)
			for _, p := range pieces[:len(pieces)-1] { // Whole puts them together
				put(p)
			}
			r = pieces[len(pieces)-1]
		case Undone:
			c.publish(TaskUndone{Run: h.uid, Task: h.taskName(rec.Task)})
		case Closed:
			closes = c.closingRows(h, rec)
		}
		put(r)
	}
	h.pending++
	c.add(func() {
		h.pending--
		for _, e := range made {
			h.run.trim(e.Task, e.Attempt)
		}
		for _, w := range grown {
			if w != nil {
				w.Parts = nil
			}
		}
		c.step(h, Durable{a.Number}, nil)
	}, append([]Row{row()}, closes...)...)
}

// piecesOf returns the record of a graph that a task has returned in pieces, each with as much of the recorded form as a record has.
func piecesOf(rec Expanded, w *Work) (all []Record) {
	if w == nil || w.size() <= MaxRecorded {
		return []Record{rec}
	}
	for _, part := range CutForm(slices.Concat(w.Parts...)) {
		rec.Graph, rec.Work = nil, &Work{Parts: [][]byte{part}}
		all = append(all, rec)
	}
	return all
}

// CutForm returns the recorded form of a workflow that a task has returned in parts, which share its bytes.
func CutForm(form []byte) [][]byte { return slices.Collect(slices.Chunk(form, MaxRecorded)) }

// batch returns a batch without records yet.
func (c *Controller) batch() Batch { return Batch{Epoch: c.cfg.Epoch, At: c.cfg.Run.Clock + c.now} }

func (c *Controller) recovering(h *hosted, r Recovering) {
	n := RecoveryBegan{Run: h.uid, Count: len(r.Set)}
	for _, v := range r.Set[:min(mostNamed, len(r.Set))] {
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
	c.addResult(h.uid, stored)
	n := h.name()
	n.State, n.Why, n.Until = Finished, r.Failed, c.minutes+c.cfg.Retention
	return []Row{{Key: activeKey(h.uid)}, {Key: idKey(h.id), Value: n}, {Key: untilKey(n.Until, h.id), Value: Active{}}}
}

// addResult writes the result of a run: in rows of as many outputs as fit.
func (c *Controller) addResult(u UID, r Result) {
	for n := 0; n == 0 || len(r.Outputs) > 0; n++ {
		part := Result{Failed: r.Failed}
		for size := 0; len(r.Outputs) > 0 && size < MaxWrite/2; r.Outputs = r.Outputs[1:] {
			part.Outputs = append(part.Outputs, r.Outputs[0])
			size += r.Outputs[0].size()
		}
		c.add(nil, Row{Key: resultKey(u, n), Value: part})
	}
}

// closed takes that the end of a run is durable.
func (c *Controller) closed(h *hosted) {
	c.publish(RunClosed{Run: h.uid, ID: h.id, Failed: h.result.Failed})
	waiting := c.watchers[h.uid]
	delete(c.watchers, h.uid)
	for _, call := range slices.SortedFunc(maps.Keys(waiting), earlier) {
		c.answer(call, Answer{Run: h.uid, Result: h.result})
	}
	c.forgetRun(h)
	for _, m := range h.users {
		c.free(m, Released{Run: h.uid, Spares: spares(h.result.Outputs)})
	}
}

// forgetRun drops a run from memory.
func (c *Controller) forgetRun(h *hosted) {
	h.gone = true
	delete(c.runs, h.uid)
	delete(c.ids, h.id)
	c.timers.Cancel(h)
	c.place.drop(h)
	c.limits.drop(h)
	c.dropProgress(h)
	for _, v := range sortedTasks(h.flights) { // their outcomes are of no use
		f := h.flights[v]
		c.giveUp(f)
	}
}

// park has a run that only waits leave the memory: it is not active any more. If it sleeps it is loaded in the minute in
// which that ends.
func (c *Controller) park(h *hosted) {
	h.parking = true
	c.lock(h.id)
	n := h.name()
	n.State, n.Why, n.Lost = Waiting, h.why, h.lost()
	rows := []Row{{Key: activeKey(h.uid)}, {Key: waitingKey(h.uid), Value: Active{}}}
	if at, sleeps := h.run.Due(); sleeps {
		n.Until = max(1, uint64((c.cfg.Run.Clock+at)/minute))
		rows = append(rows, Row{Key: wakeKey(n.Until, h.id), Value: Active{}})
	}
	if n.Why == "" {
		n.Why = "it waits for a signal, or sleeps"
	}
	c.add(func() {
		c.forgetRun(h)
		c.unlock(h.id)
		if n.Until > 0 && n.Until <= c.minutes { // its minute has come meanwhile
			c.wake()
		}
	}, append(rows, Row{Key: idKey(h.id), Value: n})...)
}

// load brings a run that only waits back to memory, and then calls f. Members are asked what they have of it.
func (c *Controller) load(id string, n *Name, f func(*hosted)) {
	c.lock(id)
	u, until := n.Run, n.Until
	c.read(runKey(u, ""), runEnd(u), 0, func(rows []Row) {
		h, err := c.rebuild(rows)
		if h == nil || err != nil {
			c.unlock(id)
			f(nil)
			return
		}
		c.register(h)
		changes := []Row{{Key: waitingKey(u)}, {Key: activeKey(u), Value: Active{}}, {Key: idKey(id), Value: h.name()}}
		if until > 0 {
			changes = append(changes, Row{Key: wakeKey(until, id)})
		}
		c.add(nil, changes...)
		c.heldRuns = append(c.heldRuns, h)
		k := h.held
		k.until = c.now + takeoverGrace
		c.timers.Set(h, k.until)
		for _, m := range c.sortedMembers() {
			k.asks++
			c.ask(m, u, func() {
				k.asks--
				c.releaseRun(h)
			})
		}
		c.unlock(id)
		f(h)
		c.releaseRun(h)
	})
}

// gone takes that nobody has an output any more.
func (c *Controller) gone(b Blob) {
	h := c.runs[b.Run]
	if h == nil || !h.run.holds(b) {
		return
	}
	if b.Task < len(h.at) {
		h.at[b.Task] = nil
	}
	if h.held != nil {
		delete(h.held.holders, b.Task)
		h.run.lose(b.Task)
		return
	}
	c.step(h, Gone{Task: b.Task, Gen: b.Gen}, nil)
}

// unsaved takes that no disk has a checkpoint any more.
func (c *Controller) unsaved(b Blob) {
	h := c.runs[b.Run]
	if h == nil || !h.run.holds(b) || h.places[b.Task].Blob != b {
		return
	}
	delete(h.places, b.Task)
	c.step(h, Unsaved{Task: b.Task, Gen: b.Gen, Made: b.Made}, nil)
}

// returned takes a workflow that an attempt has returned.
func (c *Controller) returned(w *Work, o *Outcome) {
	if w.Graph == nil && c.cfg.Work != nil {
		whole, err := c.cfg.Work(w.Parts)
		if err != nil {
			o.Failed, o.Final = cut("it has returned a workflow that cannot be read: "+err.Error()), true
			return
		}
		whole.Parts = w.Parts
		w = whole
	}
	switch err := w.complete(); {
	case w.size() > MaxReturned:
		o.Failed, o.Final = tooLarge(w), true
	case err != nil:
		o.Failed, o.Final = cut("it has returned a workflow: "+err.Error()), true
	default:
		own := *w // until it is recorded
		o.Graph, o.Work = w.Graph, &own
	}
}
