package barrier

import (
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/agenda"
)

// Past is a manager's record of barriers that have fired and that it has forgotten otherwise:
// a new participant of one is late. That holds for cfg.Linger at least, and as long as a node
// from which it was entered is a member: after that no participant can mean the old barrier,
// and its name is as new.
//
// There may be very many, so that each takes some 20 bytes: a digest stands for its key, and
// barriers that were entered from the same nodes share the list of these.
type Past struct {
	most       int // barriers in all
	young, old map[uint64]fired
	began      time.Duration // when young was begun
	crowds     map[uint32]*crowd
	ids        map[string]uint32 // of crowds, by their nodes
	last       uint32
	named      int                   // bytes that the crowds take
	members    []phalanx.NodeID      // of the present view
	removed    agenda.Agenda[uint64] // barriers that were removed, until when older news of them may come
}

// fired is a barrier that has fired.
type fired struct {
	place uint32 // of its name
	of    uint32 // the number of its crowd, twice, and one more if its late mode is CatchUp
}

func (f fired) crowd() uint32 { return f.of / 2 }

func (f fired) late() LateMode { return LateMode(f.of % 2) }

// crowd is the nodes from which barriers were entered.
type crowd struct {
	name     string // of ids
	nodes    []phalanx.NodeID
	barriers int
	gone     bool // none of them is a member any more
}

func newPast(most int) Past {
	return Past{most: most, young: map[uint64]fired{}, old: map[uint64]fired{}, crowds: map[uint32]*crowd{}, ids: map[string]uint32{}}
}

// digest stands for a key. Two keys have the same one with a probability of 2^-64.
func (k Key) digest() uint64 { return mix(hash(k.Name) ^ mix(k.Generation)) }

// len is how many barriers are remembered.
func (p *Past) len() int { return len(p.young) + len(p.old) }

func (p *Past) find(digest uint64) (f fired, ok bool) {
	if f, ok = p.young[digest]; !ok {
		f, ok = p.old[digest]
	}
	return f, ok
}

// knows reports whether a participant that comes to a barrier now is late.
func (p *Past) knows(digest uint64) bool {
	f, ok := p.find(digest)
	return ok && !p.crowds[f.crowd()].gone
}

// nodes are the nodes from which a barrier was entered.
func (p *Past) nodes(digest uint64) []phalanx.NodeID {
	if f, ok := p.find(digest); ok {
		return p.crowds[f.crowd()].nodes
	}
	return nil
}

// add remembers a barrier that was entered from nodes.
func (p *Past) add(digest uint64, place uint32, nodes []phalanx.NodeID, late LateMode, now time.Duration) {
	p.addAll(Crowd{Nodes: nodes, Late: late, Digests: []uint64{digest}, Places: []uint32{place}}, now)
}

func (p *Past) addAll(c Crowd, now time.Duration) {
	if len(c.Digests) == 0 {
		return
	}
	p.expire(now)
	id := p.crowd(c.Nodes)
	p.crowds[id].barriers++ // it is kept while others are forgotten
	for i, digest := range c.Digests {
		if p.removed.Has(digest) {
			continue
		}
		p.forget(digest)
		if p.len() == 0 {
			p.began = now
		}
		if len(p.young) >= max(1, p.most/2) {
			p.turn(now)
		}
		p.crowds[id].barriers++
		p.young[digest] = fired{c.Places[i], 2*id + uint32(c.Late)}
	}
	p.leave(fired{of: 2 * id})
}

// join notes that a barrier that is remembered was entered from another node, too: a participant
// there has passed, perhaps in a later incarnation of its process, and can mean the old barrier.
// It reports whether that is news.
func (p *Past) join(digest uint64, node phalanx.NodeID, now time.Duration) (news bool) {
	f, ok := p.find(digest)
	nodes := p.nodes(digest)
	if !ok || slices.Contains(nodes, node) {
		return false
	}
	p.add(digest, f.place, append(slices.Clone(nodes), node), f.late(), now)
	return true
}

// crowd returns the number of a list of nodes.
func (p *Past) crowd(nodes []phalanx.NodeID) uint32 {
	nodes = slices.Sorted(slices.Values(nodes))
	var name strings.Builder
	for _, n := range nodes {
		name.WriteString(string(n))
		name.WriteByte(0)
	}
	id, ok := p.ids[name.String()]
	if !ok {
		p.last++
		id = p.last
		p.ids[name.String()], p.crowds[id] = id, &crowd{name: name.String(), nodes: nodes, gone: p.gone(nodes)}
		p.named += crowdCost + 2*name.Len()
	}
	return id
}

// forget has a barrier be as new.
func (p *Past) forget(digest uint64) {
	for _, m := range []map[uint64]fired{p.young, p.old} {
		if f, ok := m[digest]; ok {
			delete(m, digest)
			p.leave(f)
		}
	}
}

func (p *Past) leave(f fired) {
	c := p.crowds[f.crowd()]
	if c.barriers--; c.barriers == 0 {
		delete(p.crowds, f.crowd())
		delete(p.ids, c.name)
		p.named -= crowdCost + 2*len(c.name)
	}
}

// renew makes a removed barrier as new. Until then reports of it are older.
func (p *Past) renew(digest uint64, until time.Duration) {
	p.forget(digest)
	p.removed.Set(digest, until)
}

// expire forgets removals about which no older news can come. It looks at no others.
func (p *Past) expire(now time.Duration) {
	for ok := true; ok; {
		_, ok = p.removed.Take(now)
	}
}

// turn forgets the older half.
func (p *Past) turn(now time.Duration) {
	for _, f := range p.old {
		p.leave(f)
	}
	p.old, p.young, p.began = p.young, map[uint64]fired{}, now
}

// age forgets records older than twice linger, at the latest, and removals whose time is over.
func (p *Past) age(now, linger time.Duration) {
	p.expire(now)
	for p.len() > 0 && now >= p.began+linger {
		p.turn(p.began + linger)
	}
}

// due is when age has something to forget, if nothing else is added.
func (p *Past) due(linger time.Duration) (at time.Duration, ok bool) {
	at, ok = p.removed.Due()
	if p.len() > 0 && (!ok || p.began+linger < at) {
		return p.began + linger, true
	}
	return at, ok
}

// learn takes the members of a new view.
func (p *Past) learn(members []phalanx.NodeID) {
	p.members = members
	if len(p.crowds) == 0 {
		return
	}
	there := make(map[phalanx.NodeID]bool, len(members))
	for _, m := range members {
		there[m] = true
	}
	for _, c := range p.crowds {
		c.gone = c.gone || !slices.ContainsFunc(c.nodes, func(n phalanx.NodeID) bool { return there[n] })
	}
}

// gone reports whether none of nodes is a member.
func (p *Past) gone(nodes []phalanx.NodeID) bool {
	return !slices.ContainsFunc(nodes, func(n phalanx.NodeID) bool { return slices.Contains(p.members, n) })
}

// The memory that a crowd takes besides its names, and that a removal takes, in bytes.
const (
	crowdCost   = 250
	removalCost = 80
)

// weight is about how many bytes it takes.
func (p *Past) weight() int { return 28*p.len() + p.named + removalCost*p.removed.Len() }

// outlive has this node, which is not the primary of r, remember that it has fired if no primary
// says so in time: a later primary may not know of it.
func (c *Core) outlive(r *replica) {
	if !r.b.cfg.Semaphore.on() && r.b.Cause != NotFired && r.b.over() {
		c.restsDue.Set(r.key, r.touched+2*c.cfg.Keep)
	} else {
		c.restsDue.Cancel(r.key)
	}
}

// bury remembers of a barrier that it has fired, and nothing else.
func (c *Core) bury(r *replica) {
	c.remove(r.key)
	c.record(r)
}

// record adds a barrier that has fired to the record.
func (c *Core) record(r *replica) {
	if nodes := r.b.State.members(); len(nodes) > 0 {
		c.past.add(r.key.digest(), place(r.key.Name), nodes, r.b.cfg.Late, c.now)
	}
}
