package workflow

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx/protocol/agenda"
)

// placer decides which attempt runs where (workflow specification 4).
//
//   - Runs take turns: a run with many ready tasks holds up the others by one attempt each turn.
//   - An attempt goes to the member that it prefers, if a slot is free there or will be within localWait; else to
//     the member with the least share of its slots taken, of those that offer its function.
//
// Members that offer the same functions are a group, and functions that the same groups offer share a pool, with
// one line for each run. So the work for an attempt does not grow with the attempts that wait.
type placer struct {
	now     time.Duration
	groups  map[string]*group  // by the functions that they offer
	pools   map[string]*pool   // by the names of their groups
	of      map[Function]*pool // as far as it was asked for
	order   []*pool            // that have lines, in turn
	freed   []*member          // that others wait for, and that may have a slot
	waiting agenda.Agenda[*pending]
}

// group is members that offer the same functions: the one with the least load is first.
type group struct {
	name    string
	offers  map[Function]bool
	members byLoad
}

// pool is where some functions can run.
type pool struct {
	groups []*group // empty: nobody offers them
	lines  []*line  // that have attempts, in turn
	late   []*pending
	queued bool // it is in placer.order
}

// line is what a run has ready for a pool, by task.
type line struct {
	run   *hosted
	pool  *pool
	tasks []int32
	first int // of tasks
}

// pending is an attempt that waits for the member it prefers.
type pending struct {
	run  *hosted
	task int32
	done bool // it is placed, or in the line late
}

// add has an attempt of a task, which runs f, wait for a slot.
func (p *placer) add(h *hosted, v int, f Function) {
	q := p.pool(f)
	var l *line
	for _, have := range h.lines { // a run has few: its functions mostly share a pool
		if have.pool == q {
			l = have
		}
	}
	if l == nil {
		h.lines = slices.DeleteFunc(h.lines, func(l *line) bool { return len(l.tasks) == l.first }) // perhaps of pools that are no more
		l = &line{run: h, pool: q}
		h.lines = append(h.lines, l)
	}
	if len(l.tasks) == l.first {
		l.tasks, l.first = l.tasks[:0], 0
		q.lines = append(q.lines, l)
	}
	l.tasks = append(l.tasks, int32(v))
	p.queue(q)
}

func (p *placer) queue(q *pool) {
	if !q.queued {
		q.queued = true
		p.order = append(p.order, q)
	}
}

// drop forgets what a run waits for.
func (p *placer) drop(h *hosted) {
	for _, l := range h.lines {
		l.tasks, l.first = nil, 0
	}
	h.lines = nil
}

// again has what a run waits for be sorted anew: its functions are others.
func (p *placer) again(h *hosted) {
	lines := h.lines
	h.lines = nil
	for _, l := range lines {
		tasks := l.tasks[l.first:]
		l.tasks, l.first = nil, 0
		for _, v := range tasks {
			p.add(h, int(v), h.function(int(v)))
		}
	}
}

// next returns the next attempt and the member that gets it; false: none can begin now. valid says whether an
// attempt still waits, and prefers which member has its largest input, or nil.
func (p *placer) next(now time.Duration, valid func(*hosted, int) bool, prefers func(*hosted, int) *member) (h *hosted, v int, m *member, ok bool) {
	p.now = max(p.now, now)
	for {
		w, due := p.waiting.Take(p.now)
		if !due {
			break
		}
		if !w.done {
			p.overdue(w)
		}
	}
	for len(p.freed) > 0 {
		m := p.freed[0]
		w := m.nextWaiting(valid)
		if w == nil || m.free() <= 0 {
			p.freed, m.freed = p.freed[1:], false
			continue
		}
		m.waiting = m.waiting[1:]
		w.done = true
		p.waiting.Cancel(w)
		return w.run, int(w.task), m, true
	}
	for range len(p.order) {
		q := p.order[0]
		p.order = p.order[1:]
		h, v, m, ok := p.from(q, valid, prefers)
		if q.queued = len(q.lines) > 0 || len(q.late) > 0; q.queued {
			p.order = append(p.order, q)
		}
		if ok {
			return h, v, m, true
		}
	}
	return nil, 0, nil, false
}

// overdue has an attempt wait no longer for the member it prefers.
func (p *placer) overdue(w *pending) {
	w.done = true
	q := p.pool(w.run.function(int(w.task)))
	q.late = append(q.late, w)
	p.queue(q)
}

// from takes the next attempt of a pool.
func (p *placer) from(q *pool, valid func(*hosted, int) bool, prefers func(*hosted, int) *member) (h *hosted, v int, m *member, ok bool) {
	for m = q.least(); m != nil && len(q.late) > 0; {
		w := q.late[0]
		q.late = q.late[1:]
		if valid(w.run, int(w.task)) {
			return w.run, int(w.task), m, true
		}
	}
	for least := q.least(); least != nil && len(q.lines) > 0; {
		l := q.lines[0]
		q.lines = q.lines[1:]
		if l.first == len(l.tasks) {
			continue // its run has ended
		}
		v := int(l.tasks[l.first])
		l.first++
		if l.first < len(l.tasks) {
			q.lines = append(q.lines, l)
		} else if cap(l.tasks) > 1024 {
			l.tasks, l.first = nil, 0
		}
		if !valid(l.run, v) {
			continue
		}
		m := prefers(l.run, v)
		switch {
		case m == nil || m.group == nil || m.goes || !slices.Contains(q.groups, m.group):
			return l.run, v, least, true
		case m.free() > 0:
			return l.run, v, m, true
		case len(m.waiting) >= m.slots: // they do not all begin within localWait
			return l.run, v, least, true
		}
		w := &pending{run: l.run, task: int32(v)}
		m.waiting = append(m.waiting, w)
		p.waiting.Set(w, p.now+localWait)
	}
	return nil, 0, nil, false
}

// least returns the member with the least load; nil: none has a free slot.
func (q *pool) least() (m *member) {
	for _, g := range q.groups {
		if len(g.members) == 0 {
			continue
		}
		if first := g.members[0]; first.free() > 0 && (m == nil || first.before(m)) {
			m = first
		}
	}
	return m
}

// nextWaiting returns the first attempt that still waits for this member.
func (m *member) nextWaiting(valid func(*hosted, int) bool) *pending {
	for len(m.waiting) > 0 {
		if w := m.waiting[0]; !w.done && valid(w.run, int(w.task)) {
			return w
		}
		m.waiting = m.waiting[1:]
	}
	return nil
}
