package workflow

import (
	"maps"
	"slices"
	"strings"
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
//
// There may be many limits, of which most wait for an attempt to end or for a slot. So next looks only at those of which something has changed.
type limits struct {
	all     map[string]*limit
	changed []*limit // may have an attempt that begins, in order
}

// limit is a name with attempts.
type limit struct {
	name    string
	running int
	lines   []*limitLine // in turn; those of runs that wait no more are empty
	of      map[*hosted]*limitLine
	called  *called // looks for a slot again
	queued  bool    // in limits.changed
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
		l = &limit{name: name, of: map[*hosted]*limitLine{}}
		ls.all[name] = l
	}
	return l
}

// change has next look at a limit, if something waits for it. Else the limit is forgotten once nobody has it.
func (ls *limits) change(l *limit) {
	switch {
	case l.queued:
	case len(l.of) > 0:
		l.queued = true
		ls.changed = append(ls.changed, l)
	case l.running == 0 && l.called == nil && ls.all[l.name] == l:
		delete(ls.all, l.name)
	}
}

// changeAll has next look at all limits, since members offer other functions.
func (ls *limits) changeAll() {
	for _, name := range sortedKeys(ls.all) {
		ls.change(ls.all[name])
	}
}

// changeOf has next look at the limits of a run, since its tasks run other functions.
func (ls *limits) changeOf(h *hosted) {
	for _, l := range h.sortedLimits() {
		ls.change(l)
	}
}

func (h *hosted) sortedLimits() []*limit {
	return slices.SortedFunc(maps.Keys(h.limits), func(a, b *limit) int { return strings.Compare(a.name, b.name) })
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
		ls.change(l)
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
	return l != nil && len(l.of) > 0
}

// add has an attempt wait for a limit. One that was called comes first again.
func (ls *limits) add(h *hosted, v int, by Limit) {
	l := ls.of(by.Name)
	line := l.of[h]
	if first := l.called.is(h, v); first {
		l.called = nil
		if line == nil {
			line = &limitLine{run: h}
		} else {
			l.lines = slices.DeleteFunc(l.lines, func(o *limitLine) bool { return o == line })
		}
		line.tasks = slices.Insert(line.tasks, 0, int32(v))
		l.lines = slices.Insert(l.lines, 0, line)
	} else {
		if line == nil {
			line = &limitLine{run: h}
			l.lines = append(l.lines, line)
		}
		line.tasks = append(line.tasks, int32(v))
	}
	l.of[h] = line
	if h.limits == nil {
		h.limits = map[*limit]struct{}{}
	}
	h.limits[l] = struct{}{}
	ls.change(l)
}

// drop forgets what a run waits for.
func (ls *limits) drop(h *hosted) {
	for _, l := range h.sortedLimits() {
		if line := l.of[h]; line != nil {
			line.tasks = nil
			delete(l.of, h)
		}
		if l.called != nil && l.called.run == h {
			l.called = nil
		}
		if len(l.lines) > 2*len(l.of)+mostEmpty {
			l.lines = slices.DeleteFunc(l.lines, func(line *limitLine) bool { return len(line.tasks) == 0 })
		}
		ls.change(l)
	}
	h.limits = nil
}

// mostEmpty is how many empty lines a limit has at most, beside as many as it has others.
const mostEmpty = 16

// begins reports whether an attempt may begin by its limit.
func (ls *limits) begins(by Limit) bool {
	l := ls.all[by.Name]
	return l == nil || l.running < by.Most
}

// left notes that an attempt does not look for a slot any more: it has one, or was canceled.
func (ls *limits) left(h *hosted, v int, by Limit) {
	l := ls.all[by.Name]
	if l == nil {
		return
	}
	if l.called.is(h, v) {
		l.called = nil
		l.release(h)
	}
	ls.change(l)
}

func (c *called) is(h *hosted, v int) bool { return c != nil && c.run == h && c.task == v }

// release has a run forget the limit if it has nothing there.
func (l *limit) release(h *hosted) {
	if l.of[h] == nil && (l.called == nil || l.called.run != h) {
		delete(h.limits, l)
	}
}

// next returns the next attempt that waits and may begin by its limit: it looks for a slot again. Of each limit one does at a
// time, unless nobody offers what it runs. False: there is none.
func (ls *limits) next(valid, offered func(*hosted, int) bool) (h *hosted, v int, ok bool) {
	for len(ls.changed) > 0 && !ok {
		l := ls.changed[0]
		ls.changed[0], ls.changed = nil, ls.changed[1:]
		l.queued = false
		if c := l.called; c != nil {
			if valid(c.run, c.task) && offered(c.run, c.task) {
				continue
			}
			l.called = nil
			l.release(c.run)
		}
		if h, v, ok = l.next(valid); ok {
			l.called = &called{h, v}
			if !offered(h, v) {
				ls.change(l)
			}
		} else if len(l.of) == 0 {
			ls.change(l)
		}
	}
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
			l.lines[0], l.lines = nil, l.lines[1:]
			if l.of[line.run] == line {
				delete(l.of, line.run)
				l.release(line.run)
			}
			continue
		}
		h, v := line.run, int(line.tasks[0])
		if by, _ := h.limitOf(v); l.running >= by.Most {
			return nil, 0, false
		}
		line.tasks = line.tasks[1:]
		l.lines[0], l.lines = nil, l.lines[1:]
		if len(line.tasks) > 0 {
			l.lines = append(l.lines, line)
		} else {
			delete(l.of, h)
		}
		return h, v, true
	}
	return nil, 0, false
}
