package sim

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx/protocol/view"
)

// decidedIn is the longest time for a change of the view while a link fails: the members notice the
// silence, and others bring the messages of the two.
const decidedIn = 10 * time.Second

// linkFails has, in some runs, one link fail for as long as it takes, in one direction or
// both, and the view change meanwhile: a node joins, a third one dies, a replica loses its
// state. Every member must have the newest view and a lease, and every shard its backup,
// before the link works again.
func (w *world) linkFails() {
	members := slices.DeleteFunc(w.alive(), func(n *node) bool { return n.leaver != nil }) // a leaving node may go, and then no member could bring messages
	if w.shape.faults == faultless || len(members) < 3 || w.fate.IntN(3) > 0 {
		return
	}
	one, other := w.linkBetween(members)
	a, b := members[one].host, members[other].host
	third := slices.DeleteFunc(slices.Clone(members), func(n *node) bool { return n.host == a || n.host == b })
	ways := [][2]*host{{a, b}, {b, a}}
	switch w.fate.IntN(4) {
	case 0:
		ways = ways[:1]
	case 1:
		ways = ways[1:]
	}
	w.met["fault: link cut while the view changes"]++
	w.trace.say(w.now, "", "no way between %s and %s: %d", a.name, b.name, len(ways))
	for _, c := range ways {
		w.cutOff(c[0], c[1], true)
	}
	a.struck(w.now)
	b.struck(w.now)
	w.until(w.now+drawn(w.fate, 1500*time.Millisecond), func() bool { return false })
	if len(third) > 1 && len(w.audit.newest.Voters) > 2 && w.fate.IntN(3) == 0 {
		h := third[w.fate.IntN(len(third))].host
		w.met["fault: crash"]++
		w.roles(h)
		h.crash(false)
	} else if n := b.life; n != nil && w.fate.IntN(3) == 0 {
		if i := slices.IndexFunc(n.view.Shards, func(s view.Shard) bool { return s.Owner == n.id || s.Backup == n.id }); i >= 0 && n.shards[i] != nil && !n.shards[i].Lost() {
			w.met["panic: shard replica"]++
			n.panicShard(i)
		}
	}
	w.step(w.newHost().begin(nil, nil), "joins")
	w.must(decidedIn, "voters have decided a change of the view, and all members know it, although a link fails", func() bool { return w.undecided() == "" })
	for _, c := range ways {
		w.cutOff(c[0], c[1], false)
	}
	a.spared()
	b.spared()
	w.quiet = w.now
	w.must(settled, "the cluster is at rest after the link failed", w.atRest)
}

// linkBetween draws two members: the leader of the voters and another, or two of which the first
// does not watch the second, or any.
func (w *world) linkBetween(members []*node) (one, other int) {
	for one, a := range members {
		for other, b := range members {
			if a != b && !a.detector.Watches(b.id) && w.fate.IntN(4) == 0 {
				return one, other
			}
		}
	}
	one = slices.IndexFunc(members, func(n *node) bool { return n.core.Leader() == n.id })
	if one < 0 || w.fate.IntN(4) == 0 {
		one = w.fate.IntN(len(members))
	}
	other = w.fate.IntN(len(members) - 1)
	if other >= one {
		other++
	}
	return one, other
}
