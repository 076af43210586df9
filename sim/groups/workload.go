package groups

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/group"
	"github.com/phalanx-go/phalanx/sim/stage"
)

// patience is how long a member waits for anything: until long after the last fault.
const patience = 12 * time.Second

// member is an application's member of a group, which follows the group's plan.
type member struct {
	n    *stage.Node
	id   phalanx.NodeID // of the node, when it began
	me   group.Member
	plan []group.Contribution // what is left of it

	in     string // the group
	rank   int
	roster *group.Roster
	since  time.Duration
	over   bool
}

// workload is what the applications do.
type workload struct {
	w    *world
	ids  uint64
	open map[uint64]*member // calls
}

func newWorkload(w *world) *workload { return &workload{w: w, open: map[uint64]*member{}} }

// begin has members come that form groups.
func (l *workload) begin(over time.Duration) {
	w := l.w
	for i := range 1 + w.R.IntN(4) {
		w.After(w.Upto(over/2), func() { l.group(fmt.Sprint("g", i), over/2) })
	}
}

// group begins a group of members on some nodes. All have the same plan.
func (l *workload) group(name string, over time.Duration) {
	w := l.w
	if w.R.IntN(3) == 0 {
		w.Join() // not all know it yet
	}
	live := w.Live()
	if len(live) == 0 {
		return
	}
	var members []group.Member
	var on []*stage.Node
	for k := range 1 + w.R.IntN(9) {
		n := live[w.R.IntN(len(live))]
		members, on = append(members, group.Member{Node: n.ID, Label: fmt.Sprint(name, "w", k)}), append(on, n)
	}
	roster, err := group.NewRoster(members)
	if err != nil {
		w.Failf("%v", err)
		return
	}
	plan := l.plan(name, live)
	for rank, n := range on {
		m := &member{n: n, id: n.ID, me: members[rank], plan: plan}
		// It knows that all are members.
		var come func()
		come = func() {
			for _, other := range members {
				if !n.Dead && !slices.Contains(n.View.Members, other.Node) && slices.Contains(w.View.Members, other.Node) {
					w.After(5*ms, come)
					return
				}
			}
			l.call(m, group.Call{Kind: group.CallForm, Group: name, Roster: roster, Rank: rank})
		}
		w.After(w.Upto(50*ms), come)
		if w.R.IntN(4) == 0 {
			w.After(w.Upto(over), func() { l.revoke(m) })
		}
	}
}

// plan is what all members of a group do, one after the other.
func (l *workload) plan(name string, live []*stage.Node) []group.Contribution {
	var plan []group.Contribution
	newcomers := map[int]*member{}
	for i := range l.w.R.IntN(6) {
		switch l.w.R.IntN(4) {
		case 0, 1:
			plan = append(plan, group.Contribution{For: group.ForAgree, Op: group.And + group.Op(l.w.R.IntN(4))})
		case 2:
			plan = append(plan, group.Contribution{For: group.ForShrink})
		case 3:
			n := live[l.w.R.IntN(len(live))]
			m := group.Member{Node: n.ID, Label: fmt.Sprint(name, "new", i)}
			plan = append(plan, group.Contribution{For: group.ForGrow, Newcomers: []group.Member{m}})
			newcomers[i] = &member{n: n, id: n.ID, me: m}
		}
	}
	for _, i := range slices.Sorted(maps.Keys(newcomers)) { // they do what the others do next
		m := newcomers[i]
		m.plan = plan[i+1:]
		l.w.After(l.w.Upto(500*ms), func() { l.call(m, group.Call{Kind: group.CallAwait, Label: m.me.Label}) })
	}
	return plan
}

// alive reports whether a member's node is what it was.
func (m *member) alive() bool { return !m.over && !m.n.Dead && m.n.ID == m.id }

// call makes a call, which is given up after a while.
func (l *workload) call(m *member, c group.Call) {
	if !m.alive() {
		return
	}
	l.w.To(m.n, func() {
		if !m.alive() {
			return
		}
		l.ids++
		c.ID = l.ids
		m.since = l.w.Now
		l.open[c.ID] = m
		l.w.step(m.n, c)
		wait := patience
		if l.w.R.IntN(20) == 0 {
			wait = l.w.Upto(100 * ms)
		}
		l.w.After(wait, func() {
			if l.open[c.ID] == m {
				l.w.To(m.n, func() { l.w.step(m.n, group.GiveUp{ID: c.ID}) })
			}
		})
	})
}

func (l *workload) done(n *stage.Node, d group.Done) {
	m := l.open[d.ID]
	if m == nil || m.n != n {
		l.w.Failf("call %d on %s ends twice: %+v", d.ID, n.ID, d)
		return
	}
	delete(l.open, d.ID)
	l.w.Tracef("%s: %+v", m.me, d)
	l.w.check.ended(m, d)
	if d.Outcome != group.OK {
		m.over = true
		l.leave(m)
		return
	}
	if d.Group != m.in {
		old := *m
		m.in, m.rank, m.roster = d.Group, d.Rank, d.Roster
		if old.in != "" {
			l.leave(&old)
		}
	}
	if len(m.plan) == 0 {
		return
	}
	next := m.plan[0]
	m.plan = m.plan[1:]
	next.Value = l.w.R.Int64N(1 << 40)
	l.w.After(l.w.Upto(300*ms), func() {
		l.call(m, group.Call{Kind: group.CallAgree, Group: m.in, Rank: m.rank, Contribution: next})
	})
}

// leave has a member leave its group.
func (l *workload) leave(m *member) {
	if m.in != "" && m.n.ID == m.id {
		l.w.check.left(m)
		l.w.To(m.n, func() { l.w.step(m.n, group.Call{Kind: group.CallClose, Group: m.in, Rank: m.rank}) })
	}
}

func (l *workload) revoke(m *member) {
	if !m.alive() || m.in == "" {
		return
	}
	l.w.To(m.n, func() {
		if m.alive() {
			l.w.check.revokes[m.in] = true
			l.w.step(m.n, group.Call{Kind: group.CallRevoke, Group: m.in, Rank: m.rank, Revocation: group.Revocation{By: m.rank}})
		}
	})
}

// givenUp has a member that has waited for too long leave.
func (l *workload) givenUp(n *stage.Node, g group.GivenUp) {
	m := l.open[g.ID]
	if m == nil || m.n != n {
		l.w.Failf("call %d on %s is given up, and has ended", g.ID, n.ID)
		return
	}
	delete(l.open, g.ID)
	l.w.Tracef("%s gives up, absent %v", m.me, g.Absent)
	l.w.check.gaveUp(m, g)
	l.leave(m)
	m.over = true
}

// gone ends the calls of a node.
func (l *workload) gone(n *stage.Node) {
	if !n.Dead {
		return // it does not know
	}
	for id, m := range l.open {
		if m.n == n {
			delete(l.open, id)
		}
	}
}
