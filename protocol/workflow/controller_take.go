package workflow

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
)

// scanned takes rows of the tenure's beginning.
func (c *Controller) scanned(ev Scanned) {
	c.scan = append(c.scan, ev.Rows...)
	if !ev.Last {
		return
	}
	byRun := map[string][]Row{}
	var active []string
	for _, r := range c.scan {
		kind, rest, _ := strings.Cut(r.Key, "/")
		switch v := r.Value.(type) {
		case Clock:
			c.minutes = v.Minute
		case Known:
			if kind == "view" {
				c.view = v.View
			} else {
				c.recorded[phalanx.NodeID(rest)] = v
			}
		default:
			if kind == "active" {
				active = append(active, rest)
			} else if kind == "run" {
				uid, _, _ := strings.Cut(rest, "/")
				byRun[uid] = append(byRun[uid], r)
			}
		}
	}
	c.scan = nil
	c.ticks = c.now + minute
	c.cfg.Run.Clock = time.Duration(c.minutes)*minute - c.now
	for _, uid := range active {
		h, err := c.rebuild(byRun[uid])
		switch {
		case err != nil:
			c.publish(RunStuck{Run: h.uid, ID: h.id, Why: "this version cannot go on with it: " + err.Error()})
		case h == nil: // its controller has ended before the rest of its start was durable
			c.add(nil, Row{Key: "active/" + uid}, Row{Key: "run/" + uid + "/", End: "run/" + uid + "0"})
		default:
			c.register(h)
			c.heldRuns = append(c.heldRuns, h)
		}
	}
	slices.SortFunc(c.heldRuns, func(a, b *hosted) int { return a.uid.compare(b.uid) })
	c.loading = false
	c.grace = c.now + takeoverGrace
	c.sweeper.at = c.now + sweepPause // nobody may have looked after the controller before
	c.publish(ControllerTookOver{Epoch: c.cfg.Epoch, Runs: len(c.heldRuns)})
	c.wake()
}

// rebuild makes a run of its rows, which are in order; nil: its start is not among them. An error says that its graph,
// which an earlier version has accepted, is refused.
func (c *Controller) rebuild(rows []Row) (*hosted, error) {
	h := &hosted{durable: true, held: &held{found: map[int]*flight{}, reports: map[int]Report{}, ending: map[AttemptID]*member{}, holders: map[int][]*member{}}}
	var records, part []Record
	epoch := uint64(0)
	places := map[int]map[uint32]Places{}
	for _, r := range rows {
		switch v := r.Value.(type) {
		case Started:
			h.id, h.key, h.work, h.uid = v.ID, v.Key, v.Work, v.Run
		case Batch:
			h.logs++
			if v.Epoch != epoch { // the rest of what comes before was never written
				part, epoch = nil, v.Epoch
			}
			if part = append(part, v.Records...); !v.More {
				records, part = append(records, Whole(part)...), nil
			}
		case Places:
			task, gen := v.Blob.Task, v.Blob.Gen
			if places[task] == nil {
				places[task] = map[uint32]Places{}
			}
			places[task][gen] = v
		}
	}
	if h.work == nil {
		return nil, nil
	}
	events, refused := newEvents(shapeOf(h.work.Graph)) // recorded graphs are not checked again
	if refused != nil {
		return h, refused
	}
	for i, rec := range records {
		if rec, is := rec.(Expanded); is && rec.Graph == nil {
			w, _ := rec.Work.(*Work)
			if w == nil || c.cfg.Work == nil {
				return h, invalid("the graph that task %d has returned is not recorded", rec.Task)
			}
			w, err := c.cfg.Work(w.Parts)
			if err != nil {
				return h, err
			}
			w.Parts = nil
			rec.Graph, rec.Work = w.Graph, w
			records[i] = rec
		}
	}
	c.loads++
	h.run = NewRun(c.cfg.Run, events, records)
	h.run.numberFrom(c.loads << 32)
	for task, byGen := range places {
		if !h.run.has(task) || h.run.x.expanded(task) {
			continue
		}
		l := h.run.located(task)
		if p, is := byGen[l.Gen]; is && p.Blob == h.blob(l) {
			h.put(task, p)
		}
	}
	return h, nil
}

// Whole puts the pieces of records together that did not fit into one Batch: of recovery sets, whose tasks are dropped from the last to the
// first, and of graphs that tasks have returned.
func Whole(batch []Record) (all []Record) {
	for _, rec := range batch {
		if more, is := rec.(Expanded); is && len(all) > 0 {
			if e, is := all[len(all)-1].(Expanded); is && e.Task == more.Task && e.Gen == more.Gen && e.Attempt == more.Attempt {
				if form, part := formOf(e), formOf(more); form != nil && part != nil {
					e.Work = &Work{Parts: slices.Concat(form, part)}
					all[len(all)-1] = e
					continue
				}
			}
		}
		if more, is := rec.(Recovering); is && len(all) > 0 {
			if set, is := all[len(all)-1].(Recovering); is && set.Loss == more.Loss {
				set.Set = slices.Concat(set.Set, more.Set)
				all[len(all)-1] = set
				continue
			}
		}
		all = append(all, rec)
	}
	return all
}

// formOf returns the recorded form of a graph that a task has returned, if its record has nothing else.
func formOf(e Expanded) [][]byte {
	if w, is := e.Work.(*Work); is && e.Graph == nil && w != nil {
		return w.Parts
	}
	return nil
}

func (c *Controller) register(h *hosted) {
	c.runs[h.uid], c.ids[h.id] = h, h
}

// toldRunning takes that an attempt of an earlier epoch runs, or one that this controller has given up.
func (c *Controller) toldRunning(m *member, r Running) {
	h := c.runs[r.ID.Run]
	if h != nil && h.flights[r.ID.Task] != nil && h.flights[r.ID.Task].id == r.ID {
		return
	}
	if _, is := m.foreign[r.ID]; is {
		return
	}
	if h != nil && h.held != nil && h.held.found[r.ID.Task] != nil && h.held.found[r.ID.Task].id == r.ID {
		return
	}
	c.place.use(m, 1)
	if h != nil {
		if h.hasTask(r.ID.Task) {
			c.limits.count(m, r.ID, h.run.x.Tasks[r.ID.Task].Limit)
		}
		h.uses(m)
	}
	if h == nil || h.held == nil || !h.held.finds(h, r) {
		m.foreign[r.ID] = c.sendUntil(m, Recall{Epoch: c.cfg.Epoch, ID: r.ID})
		if h == nil {
			c.stray(m, r.ID.Run)
		} else if h.held != nil && h.hasTask(r.ID.Task) && (r.Kind != Do || h.run.x.Tasks[r.ID.Task].Effect != None) {
			h.held.ending[r.ID] = m
		}
		return
	}
	h.held.found[r.ID.Task] = &flight{run: h, id: r.ID, kind: Do, to: m, slot: true}
}

// finds reports whether an attempt is the recorded one.
func (*held) finds(h *hosted, r Running) bool {
	return r.Kind == Do && h.run.recorded(r.ID.Task, r.Gen, r.ID.Attempt)
}

// reportedHeld takes how an attempt of a held run has ended.
func (c *Controller) reportedHeld(m *member, h *hosted, r Report) {
	k := h.held
	if _, is := k.ending[r.ID]; is {
		delete(k.ending, r.ID)
		c.acknowledge(m, r.ID)
		c.releaseRun(h)
		return
	}
	f := k.found[r.ID.Task]
	running := f != nil && f.id == r.ID
	if !k.finds(h, Running{ID: r.ID, Gen: r.Gen, Kind: r.Kind}) {
		h.uses(m)
		c.acknowledge(m, r.ID)
		return
	}
	if !running {
		h.uses(m)
		k.found[r.ID.Task] = &flight{run: h, id: r.ID, kind: Do, to: m}
	} else if f.slot {
		f.slot = false
		c.place.use(m, -1)
	}
	k.reports[r.ID.Task] = r
}

// toldHolds takes that a member has an output.
func (c *Controller) toldHolds(m *member, b Blob) {
	h := c.runs[b.Run]
	switch {
	case h == nil:
		c.stray(m, b.Run)
	case h.run.holds(b):
		h.setAt(b.Task, m)
		if h.held != nil {
			h.held.holders[b.Task] = append(h.held.holders[b.Task], m)
			h.run.Has(b.Task, b.Made)
		}
	default:
		h.uses(m)
	}
}

// leave takes that a member has left: what it has told is lost.
func (k *held) leave(h *hosted, m *member) {
	for v, f := range k.found {
		if f.to == m {
			if _, ended := k.reports[v]; !ended {
				delete(k.found, v)
			}
		}
	}
	for id, has := range k.ending {
		if has == m {
			delete(k.ending, id)
		}
	}
	for v, all := range k.holders {
		all = slices.DeleteFunc(all, func(o *member) bool { return o == m })
		k.holders[v] = all
		if len(all) == 0 {
			h.run.lose(v)
			delete(k.holders, v)
		}
	}
}

// release has held runs go on that can.
func (c *Controller) release() {
	if c.loading || c.nobody || len(c.heldRuns) == 0 {
		return
	}
	all := c.heldRuns
	c.heldRuns, c.wentOn = nil, 0
	for _, h := range all {
		switch {
		case h.held == nil:
		case c.mayGoOn(h):
			c.goOn(h)
		default:
			c.heldRuns = append(c.heldRuns, h)
		}
	}
}

// releaseRun has a held run go on if it can, once what is new is about that run alone. It looks at no other: many may be held.
func (c *Controller) releaseRun(h *hosted) {
	if c.loading || c.nobody || h.held == nil || !c.mayGoOn(h) {
		return
	}
	c.goOn(h)
	if c.wentOn++; 2*c.wentOn >= len(c.heldRuns) {
		c.heldRuns = slices.DeleteFunc(c.heldRuns, func(h *hosted) bool { return h.held == nil })
		c.wentOn = 0
	}
}

// mayGoOn reports whether a held run can go on.
func (c *Controller) mayGoOn(h *hosted) bool {
	k := h.held
	switch {
	case len(k.ending) > 0 || k.asks > 0 && c.now < k.until:
		return false
	case len(c.recorded) == 0 && k.asks == 0:
		return true
	case c.grace > 0: // it is looked at once, and then as each member answers
		return false
	}
	for v := range h.run.tasks {
		if h.run.waitsFor(v) && k.found[v] == nil {
			return false
		}
	}
	return h.run.complete()
}

// goOn has a held run begin.
func (c *Controller) goOn(h *hosted) {
	k := h.held
	h.held = nil
	var reports []*flight
	for _, v := range slices.Sorted(maps.Keys(k.found)) {
		f := k.found[v]
		r, ended := k.reports[v]
		switch {
		case ended && !h.run.awaits(v):
			c.acknowledge(f.to, r.ID)
			continue
		case ended:
			reports = append(reports, f)
		}
		h.run.Adopt(v, f.id.Attempt, f.kind)
		h.fly(f)
	}
	for v := range h.run.tasks {
		if h.run.waitsFor(v) && k.found[v] == nil {
			c.publish(AttemptLost{Run: h.uid, Task: h.taskName(v)})
		}
	}
	c.step(h, Tick{}, nil)
	for _, f := range reports {
		c.reported(f.to, k.reports[f.id.Task])
	}
	for _, s := range k.later {
		c.step(h, s.event, s.then)
	}
}
