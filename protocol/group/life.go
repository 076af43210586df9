package group

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
)

// The life of a group tells it apart from earlier and later ones of its name: every record of
// a group ends with it, and messages of it may come when there is another one.
//
// The coordinator of the forming of a group chooses its life. A node that contributes does
// not know it at first. Its contribution then does not count, since it may be a late message
// of an earlier group, but is answered with the life; the node contributes again, and that
// is certain to be of this group. Messages of a formed group carry its life, and only
// members of that group heed them.

// nonce returns a number that no other attempt has, of this node or another one.
func (c *Core) nonce() uint64 {
	c.nonces++
	digest := fnv.New64a()
	fmt.Fprint(digest, c.view.Self, mark, c.nonces)
	return max(1, digest.Sum64())
}

// isChild reports whether a group came of another one: then no other group has its name.
func isChild(name string) bool { return strings.Contains(name, mark) }

// named returns the group's name in news.
func (g *group) named() Named { return Named{Group: g.name, Life: g.life, Of: g.of, Seq: g.ofSeq} }

// forming returns the group that a contribution is for which may be late, or nil: it is
// answered. Its life is that which this node gives the group if it coordinates it.
func (c *Core) forming(from phalanx.NodeID, m Contribute) *group {
	g := c.groups[m.Group]
	switch {
	case g == nil && (m.Life != 0 || m.Idle):
		c.send(from, Standing{Group: m.Group, Of: m.Life, Try: m.Try})
		return nil
	case g == nil:
		if m.Roster == nil || m.Roster.ranks[from] == nil || c.first(m.Roster.nodes) != c.view.Self {
			return nil // one of us has an old view
		}
		g = c.know(m.Group, m.Roster)
	case g.formed && g.life == m.Life:
		return g
	case g.formed:
		if m.Roster != nil && c.without(g, from, m.Roster.digest) {
			return g
		}
		if m.Roster != nil && c.inUse(g, m.Roster.digest) {
			c.refuse(g, from, m, g.clash())
			return nil
		}
		var here []int // they may leave, and come
		if m.Roster != nil {
			here = m.Roster.RanksOn(c.view.Self)
		}
		c.send(from, Standing{Group: m.Group, Of: m.Life, Try: m.Try, Absent: here[:min(len(here), maxAbsent)]})
		return nil
	case g.decline, m.Roster != nil && m.Roster.digest != g.roster.digest:
		c.differs(g, from, m)
		return nil
	}
	if g.life == 0 && c.coordinator(g) == c.view.Self {
		g.life = c.nonce()
		if from == c.view.Self { // this is no late message
			a := g.agreement(0)
			a.sending = false
			c.contribute(g, a, from)
		}
	}
	return g
}

// without reports whether the group was formed of a list of members without a node in it. It
// does on nodes only that have members in the group: for all that others know, it may be over,
// and the node has forgotten it.
func (c *Core) without(g *group, node phalanx.NodeID, roster uint64) bool {
	return g.agreed[0] != nil && roster == g.roster.digest && !slices.Contains(g.nodes, node) && g.on(c.view.Self)
}

// usedFor is for how long all members of a group stay in it before others are told that its
// name is in use: a training that begins again with other members waits for the present ones,
// which may be about to leave.
const usedFor = 2 * time.Second

// claim records other callers that want the name of a group.
type claim struct {
	since, last time.Duration
}

// inUse reports whether no caller can form a group of that name and of another list of members:
// for some time others have wanted to, and no member of the present group has left it or
// failed.
func (c *Core) inUse(g *group, roster uint64) bool {
	if roster == g.roster.digest || len(g.failed) > 0 {
		return false
	}
	if c.now > g.claim.last+4*c.cfg.ResendMax {
		g.claim.since = c.now
	}
	g.claim.last = c.now
	return c.now >= g.claim.since+usedFor
}

// clash is the decision of a group that cannot be formed beside g.
func (g *group) clash() Decision {
	const most = 8
	text := "the name is used by a group of " + strings.Join(g.roster.Names(g.left(most)), ", ")
	if more := g.roster.Len() - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return Decision{For: ForForm, Mismatch: text + ", and none of them has left it"}
}

// refuse tells a node that the group it contributes to cannot be; it reports whether it has. It
// asks again first: a late message of an earlier group has other members too.
func (c *Core) refuse(g *group, from phalanx.NodeID, m Contribute, why Decision) bool {
	if m.Life != g.try {
		c.send(from, Standing{Group: g.name, Life: g.try, Of: m.Life, Try: m.Try})
		return false
	}
	c.send(from, Decide{Group: g.name, Life: m.Life, Try: m.Life, Decision: why})
	return true
}

// differs answers a node that has another list of members.
func (c *Core) differs(g *group, from phalanx.NodeID, m Contribute) {
	why := differ
	if g.decline {
		why = *g.agreed[0].decided
	}
	if !c.refuse(g, from, m, why) {
		return
	}
	if g.decline || g.roster.ranks[from] == nil {
		return
	}
	for _, node := range c.live(g) { // from would be waited for in vain
		if node != from {
			c.send(node, Declined{g.name, g.life})
		}
	}
	c.declined(g)
}

// relive takes the life that a coordinator gives a group which is not formed; it reports
// whether a member here still contributes to it. The coordinator does not know an earlier
// life in which this node has accepted something, so that nothing was decided there.
func (c *Core) relive(g *group, a *agreement, life uint64) bool {
	if g.formed || a.seq != 0 || a.decided != nil {
		return false
	}
	if g.life != 0 {
		a.took, g.try = nil, c.nonce() // late answers are of the earlier one
		g.revive()
	}
	g.life = life
	if life == 0 && len(a.callers) == 0 && len(g.gone) == 0 {
		c.drop(g)
		return false
	}
	a.sending = false
	a.changed = life != 0
	return true
}

// revive forgets the members that have left in an earlier life. The name of a group that came of
// another group is unique: members that have left it do not come.
func (g *group) revive() {
	if !isChild(g.name) {
		clear(g.gone)
		clear(g.failed)
	}
}

// unwanted reports whether no caller here waits, or has waited, for a group that is being formed.
func (g *group) unwanted(a *agreement) bool {
	return !g.formed && a.seq == 0 && a.decided == nil && a.took == nil && len(a.mine)+len(a.callers)+len(g.gone) == 0
}

// forgets reports whether no caller here waits any more for a group that is being formed: others
// can soon have its name.
func (g *group) forgets() bool {
	return !g.formed && !g.decline && g.agreed[0] != nil && len(g.agreed[0].callers) == 0
}

// formAgain has a Form wait for the end of a group of that name, if its member has left it.
func (c *Core) formAgain(g *group, w *call) {
	same := g.roster.digest == w.Roster.digest
	switch {
	case same && !g.taken[w.Rank] && !g.gone[w.Rank] && g.agreed[0] != nil: // it was formed without this member
		c.finish(w, Done{Outcome: LeftBehind, Decision: *g.agreed[0].decided})
	case same && !g.taken[w.Rank], g.on(c.view.Self):
		c.finish(w, Done{Outcome: Used})
	default:
		c.held[g.name] = append(c.held[g.name], w.ID)
	}
}

// unhold removes a call from the calls that wait for the end of a group.
func (c *Core) unhold(w *call) {
	if left := slices.DeleteFunc(c.held[w.Group], func(id uint64) bool { return id == w.ID }); len(left) > 0 {
		c.held[w.Group] = left
		return
	}
	delete(c.held, w.Group)
}

// drop forgets a group, and lets calls that wait for its name form another one.
func (c *Core) drop(g *group) {
	delete(c.groups, g.name)
	c.ofGroups -= g.bytes
	c.unshare(g.roster)
	for _, seq := range slices.Sorted(maps.Keys(g.agreed)) {
		c.due.Cancel(errand{group: g.name, num: seq})
		c.due.Cancel(errand{group: g.name, num: seq, urge: true})
	}
	c.due.Cancel(errand{group: g.name, end: true})
	c.due.Cancel(errand{group: g.name, join: true})
	held := c.held[g.name]
	delete(c.held, g.name)
	for _, id := range held {
		c.form(c.calls[id])
	}
}

// forgetAfter is how long a node remembers a group that is not formed, and for which no caller
// waits any more. Until then others that form it hear of the members here that have left it. For
// as long a node that has no part in a group tells late callers so by itself; later these hear
// it from a node that has.
const forgetAfter = 10 * time.Second

// begin has a group be formed.
func (c *Core) begin(g *group) {
	g.formed = true
	c.due.Cancel(errand{group: g.name, end: true})
	c.due.Cancel(errand{group: g.name, join: true})
}

// expire forgets a group that no caller forms.
func (c *Core) expire(g *group, a *agreement) {
	switch {
	case g.formed && slices.Contains(g.nodes, c.view.Self):
	case g.formed, g.decline, c.abandoned(g, a):
		c.drop(g)
	default:
		c.due.Set(errand{group: g.name, end: true}, c.now+forgetAfter)
	}
}

// abandoned reports whether no caller waits for a group that is being formed, as far as this node
// knows. While its coordinator counts on contributions from here, the node remembers it.
func (c *Core) abandoned(g *group, a *agreement) bool {
	if len(a.callers) > 0 || a.took != nil || a.decided != nil {
		return false
	}
	if c.coordinator(g) != c.view.Self {
		return !a.open() || g.life == 0
	}
	return a.ballot == nil || a.ballot.idle()
}

// idle reports whether no caller waits on any node that has contributed.
func (b *ballot) idle() bool {
	for _, m := range b.from {
		if !m.Idle {
			return false
		}
	}
	return true
}

// idle tells the coordinator that no caller waits here for a group that is being formed.
func (c *Core) idle(g *group, a *agreement) {
	if !a.open() {
		return
	}
	if a.told == c.now { // others give up with it
		a.sending, a.changed = true, true
	} else {
		a.sending = false
	}
	a.told = c.now
	c.contribute(g, a, c.coordinator(g))
}

// deserted reports whether no caller waits any more, on any node, for a group that this node has
// formed.
func (c *Core) deserted(g *group, a *agreement) bool {
	if a.seq != 0 || g.decline || a.decided != nil || a.took != nil || len(a.callers)+len(g.gone) > 0 || a.ballot == nil || a.ballot.proposal != nil {
		return false
	}
	return a.ballot.idle()
}

// left returns the first ranks that are left in a group, at most so many.
func (g *group) left(most int) []int {
	var all []int
	for rank := range g.roster.members {
		if !g.failed[rank] && len(all) < most {
			all = append(all, rank)
		}
	}
	return all
}

// first returns the first of nodes that is a member of the cluster.
func (c *Core) first(nodes []phalanx.NodeID) phalanx.NodeID {
	for _, node := range nodes {
		if c.view.Members[node] {
			return node
		}
	}
	return ""
}
