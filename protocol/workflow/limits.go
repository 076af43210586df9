package workflow

import (
	"maps"
	"slices"
)

// Limit bounds how many attempts run at once of all tasks with a limit of that name, in all runs: an attempt of a task begins
// if fewer than Most of them run. The zero Limit is none.
type Limit struct {
	Name string
	Most int
}

// maxLimitName is the greatest length of a limit's name, in bytes.
const maxLimitName = 256

// limits has which attempts count for a limit, and which wait for one. An attempt counts from its Order until its Report, or
// until it is durable that its node has left the view. Runs take turns. An attempt that waits has no slot.
type limits struct {
	all     map[string]*limit
	waiting []*limit // have lines, in the order in which these came
}

// limit is a name with attempts.
type limit struct {
	name    string
	running int
	lines   []*limitLine // that have tasks, in turn
	called  *called      // looks for a slot again
	queued  bool         // in limits.waiting
}

// limitLine is what a run has ready for a limit, by task.
type limitLine struct {
	run   *hosted
	tasks []int32
}

// called is an attempt that has waited for a limit.
type called struct {
	run  *hosted
	task int
}

// limitOf returns the limit of a task; false: it has none.
func (h *hosted) limitOf(v int) (Limit, bool) {
	l := h.run.x.Tasks[v].Limit
	return l, l.Name != ""
}

func (ls *limits) of(name string) *limit {
	if ls.all == nil {
		ls.all = map[string]*limit{}
	}
	l := ls.all[name]
	if l == nil {
		l = &limit{name: name}
		ls.all[name] = l
	}
	return l
}

// tidy forgets a limit that nobody has or waits for.
func (ls *limits) tidy(l *limit) {
	if l.running == 0 && len(l.lines) == 0 && !l.queued {
		delete(ls.all, l.name)
	}
}

// count notes that an attempt of a task with a limit runs on a member, or will.
func (ls *limits) count(m *member, id AttemptID, by Limit) {
	if _, is := m.limited[id]; is || by.Name == "" {
		return
	}
	if m.limited == nil {
		m.limited = map[AttemptID]*limit{}
	}
	l := ls.of(by.Name)
	l.running++
	m.limited[id] = l
}

// uncount notes that an attempt does not run on a member any more.
func (ls *limits) uncount(m *member, id AttemptID) {
	if l, is := m.limited[id]; is {
		delete(m.limited, id)
		l.running--
		ls.tidy(l)
	}
}

// leave notes that nothing runs any more on a member that counts.
func (ls *limits) leave(m *member) {
	for _, id := range slices.SortedFunc(maps.Keys(m.limited), AttemptID.compare) {
		ls.uncount(m, id)
	}
}

// waits reports whether attempts wait for a limit: a new one has its turn behind them.
func (ls *limits) waits(by Limit) bool {
	l := ls.all[by.Name]
	return l != nil && len(l.lines) > 0
}

// add has an attempt wait for a limit. One that was called comes first again.
func (ls *limits) add(h *hosted, v int, by Limit) {
	l := ls.of(by.Name)
	first := l.called.is(h, v)
	if first {
		l.called = nil
	}
	at := slices.IndexFunc(l.lines, func(have *limitLine) bool { return have.run == h })
	if at < 0 {
		at = len(l.lines)
		l.lines = append(l.lines, &limitLine{run: h})
	}
	line := l.lines[at]
	if first {
		line.tasks = slices.Insert(line.tasks, 0, int32(v))
		l.lines = slices.Insert(slices.Delete(l.lines, at, at+1), 0, line)
	} else {
		line.tasks = append(line.tasks, int32(v))
	}
	if !slices.Contains(h.limits, l) {
		h.limits = append(slices.DeleteFunc(h.limits, func(l *limit) bool { return len(l.lines) == 0 }), l)
	}
	if !l.queued {
		l.queued = true
		ls.waiting = append(ls.waiting, l)
	}
}

// drop forgets what a run waits for.
func (ls *limits) drop(h *hosted) {
	for _, l := range h.limits {
		l.lines = slices.DeleteFunc(l.lines, func(line *limitLine) bool { return line.run == h })
	}
	h.limits = nil
}

// begins reports whether an attempt may begin by its limit.
func (ls *limits) begins(by Limit) bool {
	l := ls.all[by.Name]
	return l == nil || l.running < by.Most
}

// placed notes that an attempt has a slot.
func (ls *limits) placed(h *hosted, v int, by Limit) {
	if l := ls.all[by.Name]; l != nil && l.called.is(h, v) {
		l.called = nil
	}
}

func (c *called) is(h *hosted, v int) bool { return c != nil && c.run == h && c.task == v }

// next returns the next attempt that waits and may begin by its limit: it looks for a slot again. Of each limit one does at a
// time, unless nobody offers what it runs. False: there is none.
func (ls *limits) next(valid, offered func(*hosted, int) bool) (h *hosted, v int, ok bool) {
	for _, l := range ls.waiting {
		if c := l.called; c != nil && valid(c.run, c.task) && offered(c.run, c.task) {
			continue
		}
		l.called = nil
		if h, v, ok = l.next(valid); ok {
			l.called = &called{h, v}
			break
		}
	}
	ls.waiting = slices.DeleteFunc(ls.waiting, func(l *limit) bool {
		l.queued = len(l.lines) > 0
		if !l.queued {
			ls.tidy(l)
		}
		return !l.queued
	})
	return h, v, ok
}

// next takes the first attempt that waits, if it may begin.
func (l *limit) next(valid func(*hosted, int) bool) (h *hosted, v int, ok bool) {
	for len(l.lines) > 0 {
		line := l.lines[0]
		for len(line.tasks) > 0 && !valid(line.run, int(line.tasks[0])) {
			line.tasks = line.tasks[1:]
		}
		if len(line.tasks) == 0 {
			l.lines = l.lines[1:]
			continue
		}
		h, v := line.run, int(line.tasks[0])
		if by, _ := h.limitOf(v); l.running >= by.Most {
			return nil, 0, false
		}
		line.tasks = line.tasks[1:]
		l.lines = l.lines[1:]
		if len(line.tasks) > 0 {
			l.lines = append(l.lines, line)
		}
		return h, v, true
	}
	return nil, 0, false
}
