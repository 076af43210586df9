package groups

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/phalanx-go/phalanx/protocol/group"
	"github.com/phalanx-go/phalanx/sim"
)

// checker checks the promises of groups:
//
//  1. All members that hear the result of an agreement hear the same, also members that
//     have failed since.
//  2. If a live member hears of a revoke, all live members do. No member hears of a
//     revoke that nobody made.
//  3. Members hear of the failure of every member that has died, was removed or has
//     left, and of no other.
//  4. Every call ends after the faults, unless a member has gone without a word. A Form
//     ends when enough members have called, also for members that it does not wait for.
//  5. No two groups of one name have members.
type checker struct {
	w       *service
	revokes map[string]bool
	formed  map[string]*formed
	agreed  map[string]*group.Decision // by group and number
	hasty   map[string]bool            // families of groups whose nodes formed them without waiting to know all members
	silent  map[string]bool            // families from which a member has gone without a word
	never   map[string]bool            // families in which a call has failed: its member never forms the group again
}

// formed is a group that some members have formed.
type formed struct {
	roster *group.Roster
	seats  map[int]*member // members that heard so
	left   map[int]bool
	heard  map[int]bool // members that heard of its revoke
	failed map[seat]bool
	name   string
	told   *group.Decision // how the group was formed
}

// seat is a member as another member's node sees it.
type seat struct {
	group string
	node  *sim.Process
	rank  int
}

func newChecker(w *service) *checker {
	return &checker{w: w, revokes: map[string]bool{}, formed: map[string]*formed{}, agreed: map[string]*group.Decision{}, hasty: map[string]bool{}, silent: map[string]bool{}, never: map[string]bool{}}
}

// keyOf returns the checker's key of a group: groups may share a name.
func keyOf(name string, life uint64) string {
	if strings.Contains(name, "~") {
		return name
	}
	return fmt.Sprint(name, "/", life)
}

func family(name string) string {
	root, _, _ := strings.Cut(name, "~")
	root, _, _ = strings.Cut(root, "/")
	return root
}

func (c *checker) group(name string, r *group.Roster) *formed {
	if c.formed[name] == nil {
		c.formed[name] = &formed{name: name, roster: r, seats: map[int]*member{}, left: map[int]bool{}, heard: map[int]bool{}, failed: map[seat]bool{}}
	}
	return c.formed[name]
}

// ended checks the end of a call.
func (c *checker) ended(call *waiting, d group.Done) {
	m := call.member
	if d.Outcome != group.OK {
		c.never[m.me.Label[:2]] = true
	}
	switch {
	case d.Outcome == group.Used && call.Kind == group.CallForm: // the member had given up, and the others did not wait
		c.silent[family(call.Group)] = true
		return
	case d.Outcome == group.Removed && m.n.Self == m.id && c.w.Member(m.id):
		c.w.Failf("(4) %s is told that its node was removed", m.me)
	case d.Outcome == group.Mismatch && c.hasty[m.me.Label[:2]]: // the members that did not know its node are all gone
		return
	case d.Outcome == group.LeftBehind && call.Kind == group.CallForm && !slices.Contains(d.Decision.Failed, call.Rank):
		c.w.Failf("(1) %s is told that %s was formed without it, and of those that had failed: %v", m.me, call.Group, d.Decision.Failed)
	case d.Outcome == group.Removed, d.Outcome == group.LeftBehind && d.Decision.View > 0:
		return
	case d.Outcome != group.OK:
		c.w.Failf("(4) %s's call of group %q ends with outcome %d: %q", m.me, m.in, d.Outcome, d.Decision.Mismatch)
		return
	}
	if c.hasty[m.me.Label[:2]] && !c.w.Member(m.id) {
		return // a removed node goes on without the members that it did not know
	}
	for _, rank := range d.Decision.Failed {
		all := !slices.Contains(d.Decision.Unacknowledged, rank)
		if all && call.Kind == group.CallAgree && !slices.Contains(call.Acked, rank) {
			c.w.Failf("(1) %s is told that all have acknowledged that rank %d of %s failed, and it has acknowledged %v", m.me, rank, m.in, call.Acked)
		}
		if all {
			c.w.Met("failed member that all acknowledge")
		}
	}
	key := keyOf(d.Group, d.Life)
	if key == m.key {
		c.same(call, d)
		return
	}
	f := c.group(key, d.Roster)
	if !slices.Equal(f.roster.Members(), d.Roster.Members()) {
		c.w.Failf("(1) %s is told that %s are %v, others %v", m.me, d.Group, d.Roster.Members(), f.roster.Members())
	}
	if d.Roster.Members()[d.Rank] != m.me {
		c.w.Failf("(1) %s is told that it is rank %d of %v", m.me, d.Rank, d.Roster.Members())
	}
	if f.told == nil {
		f.told = &d.Decision
		c.alone(f)
	}
	if x := d.Decision; x.View != f.told.View || !slices.Equal(x.Failed, f.told.Failed) {
		c.w.Failf("(1) %s is told that %s was formed by %+v, others by %+v", m.me, d.Group, x, *f.told)
	}
	f.seats[d.Rank] = m
	for _, rank := range d.Failed {
		c.told(key, m.n, rank)
	}
}

// alone checks, when a group is formed, that no other group of its name has members.
func (c *checker) alone(f *formed) {
	name, _, _ := strings.Cut(f.name, "/")
	for _, key := range slices.Sorted(maps.Keys(c.formed)) {
		other, _, root := strings.Cut(key, "/")
		if !root || other != name || key == f.name || c.hasty[family(key)] {
			continue
		}
		if rank, ok := c.formed[key].peopled(c.w); ok {
			c.w.Failf("(5) %s is formed, and rank %d of %s has not left", f.name, rank, key)
		}
	}
}

// peopled returns a member that has not left.
func (f *formed) peopled(w *service) (rank int, ok bool) {
	for _, rank := range slices.Sorted(maps.Keys(f.seats)) {
		if m := f.seats[rank]; m.key == f.name && m.alive() && !f.left[rank] && w.Member(m.id) {
			return rank, true
		}
	}
	return 0, false
}

// hangs returns why a Form that was given up should have ended: enough members wait, or have formed
// the group without it. Those count whose nodes have the newest view: the others cannot know yet
// that a member's node is gone. A view that stays unknown fails the run elsewhere.
func (c *checker) hangs(call *waiting) string {
	live, called := 0, 1
	for _, other := range call.Roster.Members() {
		if c.w.Member(other.Node) {
			live++
		}
	}
	for _, o := range c.w.work.open {
		if o.Kind == group.CallForm && o.Group == call.Group && o.Roster == call.Roster && o.Rank != call.Rank && c.w.Well(o.n) && c.current(o.n) && o.since+patience/2 < c.w.Now() {
			called++
		}
	}
	needed := live
	if call.AtLeast > 0 {
		needed = call.AtLeast
	}
	in := false
	for _, key := range slices.Sorted(maps.Keys(c.formed)) {
		if name, _, root := strings.Cut(key, "/"); !root || name != call.Group {
			continue
		}
		f := c.formed[key]
		if rank, ok := f.peopled(c.w); ok {
			in = true
			if f.seats[call.Rank] == nil && slices.Equal(f.roster.Members(), call.Roster.Members()) {
				return fmt.Sprintf("%s was formed without it, and rank %d is there", key, rank)
			}
		}
	}
	if called >= needed && !in {
		return fmt.Sprintf("%d of %d wait", called, needed)
	}
	return ""
}

// same compares the results of an agreement. Each member calls its agreements in the same order.
func (c *checker) same(call *waiting, d group.Done) {
	key := fmt.Sprint(call.key, "/", call.nth)
	first := c.agreed[key]
	if first == nil {
		c.agreed[key] = &d.Decision
		return
	}
	if x := d.Decision; x.Value != first.Value || x.For != first.For || !slices.Equal(x.Failed, first.Failed) || !slices.Equal(x.Unacknowledged, first.Unacknowledged) {
		c.w.Failf("(1) %s, rank %d is told %+v, others %+v", key, call.rank, x, *first)
	}
}

func (c *checker) revoked(n *sim.Process, o group.Revoked) {
	c.w.Tracef("%s: %+v", n.Self, o)
	if key := keyOf(o.Group, o.Life); !c.revokes[key] {
		c.w.Failf("(2) %s hears of a revoke of %s that no node has made", n.Self, o.Group)
	}
	f := c.formed[keyOf(o.Group, o.Life)]
	if f == nil {
		return // no member has formed it yet
	}
	for _, rank := range o.Ranks {
		if f.heard[rank] {
			c.w.Failf("(2) rank %d of %s hears of its revoke twice", rank, o.Group)
		}
		f.heard[rank] = true
	}
}

func (c *checker) failed(n *sim.Process, o group.Failed) {
	c.w.Tracef("%s: failed %+v", n.Self, o)
	for _, rank := range o.Ranks {
		c.told(keyOf(o.Group, o.Life), n, rank)
	}
}

// told checks that a member that is said to have failed has failed.
func (c *checker) told(name string, n *sim.Process, rank int) {
	f := c.formed[name]
	if f == nil || n.Dead {
		return
	}
	f.failed[seat{name, n, rank}] = true
	m := f.roster.Members()[rank]
	other := c.w.Find(m.Node)
	if c.hasty[family(name)] {
		return
	}
	if c.w.Member(m.Node) && (other == nil || !other.Dead) && !f.left[rank] && f.seats[rank] != nil && !f.seats[rank].over {
		c.w.Failf("(3) %s is told that %s of %s has failed", n.Self, m, name)
	}
}

// left notes that a member leaves.
func (c *checker) left(m *member) {
	if f := c.formed[m.key]; f != nil {
		f.left[m.rank] = true
	}
}

// gaveUp checks a call that has waited for too long.
func (c *checker) gaveUp(call *waiting, g group.GivenUp) {
	m := call.member
	name := m.in
	if name == "" {
		name = m.me.Label[:2] // the group that it wanted to form
	}
	if c.w.Now()-call.since < patience {
		c.silent[family(name)] = true
		return
	}
	if call.Kind == group.CallForm && call.Roster != nil && c.w.Well(m.n) && !c.hasty[family(name)] {
		if why := c.hangs(call); why != "" {
			c.w.Failf("(4) %s waits for %v to form %q, and %s; absent are %v", m.me, c.w.Now()-call.since, call.Group, why, g.Absent)
		}
	}
	if call.Kind == group.CallForm && m.gaveUp { // the others may have formed the group and left it
		c.silent[family(name)] = true
		return
	}
	if call.Kind == group.CallForm && c.hasty[family(name)] { // others that did not know its node may have formed the group and left it
		c.silent[family(name)] = true
		return
	}
	if call.Kind == group.CallForm && (call.AtLeast > 0 || c.never[m.me.Label[:2]]) { // not all other members of its group come
		c.silent[family(name)] = true
		return
	}
	if invited := m.in != "" || len(g.Absent) > 0; invited && !c.silent[family(name)] && c.w.Member(m.id) { // else its node may hear of nobody that is left
		c.w.Failf("(4) %s waits for %v in %q, absent are %v", m.me, c.w.Now()-call.since, m.in, g.Absent)
	}
	c.silent[family(name)] = true
}

// current reports whether a process has the newest view.
func (c *checker) current(n *sim.Process) bool { return n.View.Number == c.w.View().Number }

// Missing says what the groups still owe after all faults, or returns "".
func (s *service) Missing() string {
	c := s.check
	if s.work.soon+len(s.work.open) > 0 {
		return fmt.Sprintf("(4) %d calls have not ended, and %d are to be made", len(s.work.open), s.work.soon)
	}
	for _, name := range slices.Sorted(maps.Keys(c.formed)) {
		f := c.formed[name]
		heard := false
		for rank, m := range f.seats {
			heard = heard || f.heard[rank] && m.alive()
		}
		for _, rank := range slices.Sorted(maps.Keys(f.seats)) {
			m := f.seats[rank]
			if !m.alive() || f.left[rank] || !s.Well(m.n) {
				continue
			}
			if heard && !f.heard[rank] {
				return fmt.Sprintf("(2) %s of %s does not hear of its revoke", m.me, name)
			}
			for other, who := range f.roster.Members() {
				gone := !s.Member(who.Node) || f.left[other]
				if gone && !f.failed[seat{name, m.n, other}] {
					return fmt.Sprintf("(3) %s is not told that %s of %s has failed", m.me, who, name)
				}
			}
		}
	}
	for _, p := range s.Live() {
		if _, due := s.Due(p); due && len(c.silent) == 0 {
			return fmt.Sprintf("%s still repeats something", p.Self)
		}
	}
	return ""
}
