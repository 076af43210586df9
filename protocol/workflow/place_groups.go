package workflow

import (
	"container/heap"
	"maps"
	"slices"
	"strings"
)

// use takes n slots of a member, or gives them back if n is negative.
func (p *placer) use(m *member, n int) {
	m.used += n
	if m.group != nil {
		heap.Fix(&m.group.members, m.place)
	}
	if m.free() > 0 && len(m.waiting) > 0 && !m.freed {
		m.freed = true
		p.freed = append(p.freed, m)
	}
}

// enter adds a member, with what it offers.
func (p *placer) enter(m *member, offers []Function) {
	names := make([]string, len(offers))
	for i, f := range offers {
		names[i] = f.String()
	}
	slices.Sort(names)
	names = slices.Compact(names)
	name := strings.Join(names, "\n")
	g := p.groups[name]
	if g == nil {
		g = &group{name: name, offers: map[Function]bool{}}
		for _, f := range offers {
			g.offers[f] = true
		}
		if p.groups == nil {
			p.groups = map[string]*group{}
		}
		p.groups[name] = g
		p.regroup()
	}
	m.group = g
	heap.Push(&g.members, m)
}

// leave removes a member. Attempts that wait for it go to others.
func (p *placer) leave(m *member) {
	if m.group == nil {
		return
	}
	g := m.group
	heap.Remove(&g.members, m.place)
	m.group = nil
	for _, w := range m.waiting {
		if !w.done {
			p.waiting.Set(w, p.now)
		}
	}
	m.waiting = nil
	if len(g.members) == 0 {
		delete(p.groups, g.name)
		p.regroup()
	}
}

// regroup makes the pools anew, since the groups have changed: what waits is sorted into them.
func (p *placer) regroup() {
	old := p.pools
	p.pools, p.of, p.order = nil, nil, nil
	var runs []*hosted
	seen := map[*hosted]bool{}
	for _, key := range sortedKeys(old) {
		for _, l := range old[key].lines {
			if !seen[l.run] {
				seen[l.run] = true
				runs = append(runs, l.run)
			}
		}
	}
	for _, h := range runs {
		lines := h.lines
		h.lines = nil
		for _, l := range lines {
			for _, v := range l.tasks[l.first:] {
				p.add(h, int(v), h.function(int(v)))
			}
		}
	}
	for _, key := range sortedKeys(old) {
		for _, w := range old[key].late {
			p.overdue(w)
		}
	}
}

// pool returns where a function can run.
func (p *placer) pool(f Function) *pool {
	if q := p.of[f]; q != nil {
		return q
	}
	var groups []*group
	key := ""
	for _, name := range sortedKeys(p.groups) {
		if g := p.groups[name]; g.offers[f] {
			groups = append(groups, g)
			key += name + "\n\n"
		}
	}
	q := p.pools[key]
	if q == nil {
		q = &pool{groups: groups}
		if p.pools == nil {
			p.pools = map[string]*pool{}
		}
		p.pools[key] = q
	}
	if p.of == nil || len(p.of) > 4096 {
		p.of = map[Function]*pool{}
	}
	p.of[f] = q
	return q
}

// offered reports whether any member offers a function.
func (p *placer) offered(f Function) bool { return len(p.pool(f).groups) > 0 }

// hold has a member get no attempts, or has it get some again.
func (p *placer) hold(m *member, holds bool) {
	if m.busy != holds {
		m.busy = holds
		p.use(m, 0)
	}
}

// goes has a member that leaves get no attempts, or has it get some again, since it stays.
func (p *placer) goes(m *member, goes bool) {
	if m.goes != goes {
		m.goes = goes
		p.use(m, 0)
	}
}

// byLoad is a heap: the member with the least share of its slots taken is first.
type byLoad []*member

func (b byLoad) Len() int           { return len(b) }
func (b byLoad) Less(i, j int) bool { return b[i].before(b[j]) }
func (b byLoad) Swap(i, j int) {
	b[i], b[j] = b[j], b[i]
	b[i].place, b[j].place = i, j
}
func (b *byLoad) Push(x any) {
	m := x.(*member)
	m.place = len(*b)
	*b = append(*b, m)
}
func (b *byLoad) Pop() any {
	last := len(*b) - 1
	m := (*b)[last]
	*b = (*b)[:last]
	return m
}

// before reports whether a member has less load than another one.
func (m *member) before(o *member) bool {
	if (m.free() > 0) != (o.free() > 0) {
		return m.free() > 0
	}
	if a, b := m.used*o.slots, o.used*m.slots; a != b {
		return a < b
	}
	return m.node < o.node
}

// free returns how many attempts a member takes now.
func (m *member) free() int {
	if m.busy || m.goes {
		return 0
	}
	return m.slots - m.used
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
