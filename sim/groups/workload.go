package groups

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/group"
	"github.com/phalanx-go/phalanx/sim"
)

// patience is the longest wait of a member: until long after the last fault.
const patience = 12 * time.Second

// member is an application's member of a group. It follows the group's plan.
type member struct {
	n    *sim.Process
	id   phalanx.NodeID // of the process when the member began
	me   group.Member
	plan []group.Contribution // the rest of the plan

	in     string // the group
	key    string // the checker's key of the group
	gaveUp bool   // it has given up once
	again  int    // how often it will form the group again
	first  group.Call
	rank   int
	roster *group.Roster
	over   bool
	never  bool // it does not form the group
	nth    int  // the number of its last agreement in the group
	waits  int  // its open calls
}

// waiting is an open call.
type waiting struct {
	*member
	group.Call
	nth   int // the number of the member's agreement in the group
	since time.Duration
}

// workload makes the applications' calls.
type workload struct {
	w     *service
	ids   uint64
	open  map[uint64]*waiting
	soon  int               // actions that members are about to do
	first map[string]string // the checker's key of the first group of each name
}

func newWorkload(w *service) *workload {
	return &workload{w: w, open: map[uint64]*waiting{}, first: map[string]string{}}
}

// after calls f after d.
func (l *workload) after(d time.Duration, f func()) {
	l.soon++
	l.w.After(d, func() {
		l.soon--
		f()
	})
}

// Plan has members form groups.
func (s *service) Plan(over time.Duration, add func(time.Duration, func() string)) {
	for i := range 1 + s.R.IntN(4) {
		name := fmt.Sprint("g", i)
		add(s.Upto(over/2), func() string {
			if s.Alone && s.R.IntN(3) == 0 {
				s.Join(func() { s.work.group(name, over/2) }) // not all nodes know the new one yet
			} else {
				s.work.group(name, over/2)
			}
			return "members form " + name
		})
	}
}

// group has some nodes form a group. All members have the same plan.
func (l *workload) group(name string, over time.Duration) {
	w := l.w
	live := w.Live()
	if len(live) == 0 {
		return
	}
	var members []group.Member
	var on []*sim.Process
	for k := range 1 + w.R.IntN(9) {
		n := live[w.R.IntN(len(live))]
		members, on = append(members, group.Member{Node: n.Self, Label: fmt.Sprint(name, "w", k)}), append(on, n)
	}
	roster, err := group.NewRoster(members)
	if err != nil {
		w.Failf("%v", err)
		return
	}
	again := w.R.IntN(3)
	quorum := l.quorum(len(members))
	never := make([]bool, len(members))
	for rank := range members {
		never[rank] = quorum.AtLeast > 0 && w.R.IntN(4) == 0
	}
	var later *member // the other members take it in at the end
	if rank := slices.Index(never, true); rank >= 0 && w.R.IntN(2) == 0 {
		later = &member{n: on[rank], id: on[rank].Self, me: members[rank]}
	}
	plan := l.plan(name, live, later)
	hasty := w.R.IntN(8) == 0 // its members do not wait until their nodes know all others
	if hasty {
		w.check.hasty[name] = true
	}
	for rank, n := range on {
		m := &member{n: n, id: n.Self, me: members[rank], plan: plan, again: again, never: never[rank]}
		// The member comes when its node knows all other members.
		var come func()
		come = func() {
			for _, other := range members {
				unknown := w.Member(other.Node) && !n.View.Has(other.Node)
				if !n.Dead && (n.Self == members[rank].Node && unknown && !hasty) {
					l.after(5*ms, come)
					return
				}
			}
			m.first = group.Call{Kind: group.CallForm, Group: name, Roster: roster, Rank: rank, Contribution: group.Contribution{Quorum: quorum}}
			l.call(m, m.first)
		}
		late := 50 * ms
		if quorum.AtLeast > 0 && w.R.IntN(4) == 0 {
			late = 2000 * ms
		}
		if !m.never {
			l.after(w.Upto(late), come)
		}
		if w.R.IntN(4) == 0 {
			l.after(w.Upto(over), func() { l.revoke(m) })
		}
	}
}

// quorum draws how many members can form a group. In some groups all members have to come.
func (l *workload) quorum(members int) group.Quorum {
	if members < 2 || l.w.R.IntN(2) == 0 {
		return group.Quorum{}
	}
	return group.Quorum{AtLeast: 2 + l.w.R.IntN(members-1), JoinTimeout: l.w.Upto(300 * ms)}
}

// plan draws the actions of all members of a group, in order. At the end the members take in later,
// which has not formed the group.
func (l *workload) plan(name string, live []*sim.Process, later *member) []group.Contribution {
	var plan []group.Contribution
	newcomers := map[int]*member{}
	if l.w.R.IntN(30) == 0 {
		for range 70 + l.w.R.IntN(70) { // more than the cores remember
			plan = append(plan, group.Contribution{For: group.ForAgree, Op: group.Max})
		}
	}
	for i := len(plan); i < 140 && l.w.R.IntN(6) > 0; i++ {
		switch l.w.R.IntN(4) {
		case 0, 1:
			plan = append(plan, group.Contribution{For: group.ForAgree, Op: group.And + group.Op(l.w.R.IntN(4))})
		case 2:
			plan = append(plan, group.Contribution{For: group.ForShrink})
		case 3:
			n := live[l.w.R.IntN(len(live))]
			m := group.Member{Node: n.Self, Label: fmt.Sprint(name, "new", i)}
			plan = append(plan, group.Contribution{For: group.ForGrow, Newcomers: []group.Member{m}})
			newcomers[i] = &member{n: n, id: n.Self, me: m}
		}
	}
	if later != nil {
		newcomers[len(plan)] = later
		plan = append(plan, group.Contribution{For: group.ForGrow, Newcomers: []group.Member{later.me}})
	}
	for _, i := range slices.Sorted(maps.Keys(newcomers)) { // newcomers then follow the rest of the plan
		m := newcomers[i]
		m.plan = plan[i+1:]
		l.after(l.w.Upto(500*ms), func() { l.call(m, group.Call{Kind: group.CallAwait, Label: m.me.Label}) })
	}
	return plan
}

// alive reports whether a member's process runs as the same incarnation.
func (m *member) alive() bool { return !m.over && !m.n.Dead && m.n.Self == m.id }

// call makes calls, and gives them up after a while.
func (l *workload) call(m *member, calls ...group.Call) {
	m.waits += len(calls)
	for _, c := range calls {
		l.make(m, c)
	}
}

func (l *workload) make(m *member, c group.Call) {
	if !m.alive() {
		return
	}
	l.w.To(m.n, func() {
		if !m.alive() {
			return
		}
		l.ids++
		c.ID = l.ids
		if c.Kind == group.CallAgree {
			m.nth++
		}
		l.open[c.ID] = &waiting{m, c, m.nth, l.w.Now()}
		l.w.step(m.n, c)
		wait := patience
		if l.w.R.IntN(20) == 0 {
			wait = l.w.Upto(100 * ms)
		}
		l.w.After(wait, func() {
			if l.open[c.ID] != nil {
				l.w.To(m.n, func() { l.w.step(m.n, group.GiveUp{ID: c.ID}) })
			}
		})
	})
}

func (l *workload) done(n *sim.Process, d group.Done) {
	call := l.open[d.ID]
	if call == nil || call.n != n {
		l.w.Failf("call %d on %s ends twice: %+v", d.ID, n.Self, d)
		return
	}
	m := call.member
	delete(l.open, d.ID)
	m.waits--
	l.w.Tracef("%s: %+v", m.me, d)
	if m.over {
		return // the member has given up another call
	}
	l.w.check.ended(call, d)
	if d.Outcome != group.OK {
		m.over = true
		l.leave(m)
		return
	}
	if key := keyOf(d.Group, d.Life); key != m.key {
		old := *m
		m.key, m.in, m.rank, m.roster, m.nth = key, d.Group, d.Rank, d.Roster, 0
		if l.first[d.Group] == "" {
			l.first[d.Group] = key
		}
		if l.first[d.Group] != key { // the plan is for the first group of a name
			m.plan = nil
		}
		if old.in != "" {
			l.leave(&old)
		}
	}
	if m.waits > 0 {
		return
	}
	if len(m.plan) == 0 && m.again > 0 { // like a training run that starts again
		m.again--
		l.after(l.w.Upto(300*ms), func() { l.restart(m) })
		return
	}
	l.after(l.w.Upto(300*ms), func() {
		// The member calls several agreements at once, or one after the other.
		var calls []group.Call
		for many := l.w.R.IntN(4) == 0 || len(m.plan) > 50; len(m.plan) > 0; {
			next := m.plan[0]
			m.plan = m.plan[1:]
			next.Value, next.Acked = l.w.R.Int64N(1<<40), l.acknowledges(m)
			calls = append(calls, group.Call{Kind: group.CallAgree, Group: m.in, Rank: m.rank, Contribution: next})
			if !many || next.For != group.ForAgree || len(m.plan) > 0 && m.plan[0].For != group.ForAgree {
				break
			}
		}
		l.call(m, calls...)
	})
}

// acknowledges draws which of the failures that a member has heard of it acknowledges.
func (l *workload) acknowledges(m *member) (ranks []int) {
	f := l.w.check.formed[m.key]
	if f == nil { // it has left the group meanwhile
		return nil
	}
	for rank := range f.roster.Len() {
		if f.failed[seat{m.key, m.n, rank}] && l.w.R.IntN(4) > 0 {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

// restart has a member leave its group and form one of the same name and members.
func (l *workload) restart(m *member) {
	if !m.alive() {
		return
	}
	old := *m
	m.key, m.in = "", ""
	l.leave(&old)
	l.call(m, m.first)
}

// leave has a member leave its group.
func (l *workload) leave(m *member) {
	if m.in != "" && m.n.Self == m.id {
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
			l.w.check.revokes[m.key] = true
			l.w.step(m.n, group.Call{Kind: group.CallRevoke, Group: m.in, Rank: m.rank, Revocation: group.Revocation{By: m.rank}})
		}
	})
}

// givenUp has a member that gave up a call leave, or form its group again.
func (l *workload) givenUp(n *sim.Process, g group.GivenUp) {
	call := l.open[g.ID]
	if call == nil || call.n != n {
		l.w.Failf("call %d on %s is given up, and has ended", g.ID, n.Self)
		return
	}
	m := call.member
	delete(l.open, g.ID)
	m.waits--
	l.w.Tracef("%s gives up, absent %v", m.me, g.Absent)
	if m.over {
		return
	}
	if call.Kind == group.CallForm && l.w.Now()-call.since < patience && l.w.R.IntN(2) == 0 {
		m.gaveUp = true
		again := call.Call
		l.after(l.w.Upto(300*ms), func() { l.call(m, again) })
		return
	}
	l.w.check.gaveUp(call, g)
	m.over = true
	l.leave(m)
}

// GiveUp has nothing to end, since no call waits for long. It reports whether the nodes fall
// silent: they keep asking members that have gone without a word.
func (s *service) GiveUp() bool { return len(s.check.silent) == 0 }

// gone ends the calls of a process that has died.
func (l *workload) gone(n *sim.Process) {
	if !n.Dead {
		return // the process does not know that its node was removed
	}
	for id, call := range l.open {
		if call.n == n {
			delete(l.open, id)
		}
	}
}
