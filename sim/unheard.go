package sim

import (
	"math/rand/v2"
	"slices"
	"time"
)

const (
	unheardOf  = 9 // members: in a smaller cluster the leader sends heartbeats to almost all
	unheardIn  = 6 // one of so many runs: this takes long
	leasedSoon = time.Second
)

// unheard cuts, in some runs, the way from an idle member to the leader, but not the way back:
// neither sends the other heartbeats. The view may change meanwhile. The member must get a lease
// soon after it wants one.
func (w *world) unheard() {
	r := rand.New(rand.NewPCG(w.seed, 0x452821e638d01377))
	if w.shape.faults == faultless || r.IntN(unheardIn) > 0 {
		return
	}
	for len(w.alive()) < unheardOf {
		w.newHost().begin(nil, nil)
	}
	w.quiet = w.now
	w.must(settled, "the cluster is at rest with more members", w.atRest)
	members := w.alive()
	leader := slices.IndexFunc(members, func(n *node) bool { return n.core.Leader() == n.id })
	apart := slices.DeleteFunc(slices.Clone(members), func(n *node) bool {
		return leader < 0 || n == members[leader] || n.going || n.detector.Watches(members[leader].id) || members[leader].detector.Watches(n.id)
	})
	if len(apart) == 0 {
		return
	}
	w.met["fault: the leader does not hear an idle member"]++
	from, to := apart[r.IntN(len(apart))], members[leader].host
	w.until(w.now+drawn(r, time.Second), func() bool { return false })
	w.trace.say(w.now, "", "no way from %s to %s", from.host.name, to.name)
	w.cutOff(from.host, to, true)
	from.host.struck(w.now)
	to.struck(w.now)
	if r.IntN(2) == 0 {
		w.step(w.newHost().begin(nil, nil), "joins")
	}
	w.until(w.now+drawn(r, 3*time.Second), func() bool { return false })
	from.want()
	w.must(leasedSoon, "an idle member that the leader does not hear has a lease", func() bool { return from.client.lease > from.clock() })
	w.cutOff(from.host, to, false)
	from.host.spared()
	to.spared()
	w.quiet = w.now
	w.must(settled, "the cluster is at rest after the leader has heard a member again", w.atRest)
}
