package sim

import (
	"math/rand/v2"
	"time"
)

// shape draws the shape and the weather of a run in which no caller uses the store.
func (k Kind) shape(seed uint64) (shape, weather) {
	r := rand.New(rand.NewPCG(seed, 0x510e527fade682d1))
	s := shape{nodes: 3 + r.IntN(4), joins: r.IntN(2), shards: 1, largest: 1, length: 200*time.Millisecond + drawn(r, 2*time.Second)}
	if k.Crowded {
		s.faults, s.troubles, s.joins = crowded, r.IntN(8), r.IntN(4)
	} else {
		s.faults, s.troubles = bounded, 1+r.IntN(4)
	}
	if s.over = s.length; !k.Crowded { // the faults come one after the other while applications begin
		s.length += time.Duration(s.troubles) * 2 * time.Second
	}
	if !k.Crowded && r.IntN(2) == 0 { // only other nodes then remember what has ended
		s.late = 1 + r.IntN(4)
		s.length += 3*time.Second + time.Duration(s.late)*2*time.Second
	}
	if k.cruel(seed) {
		s.nodes += 4
	}
	if k.Durable { // everything may lose its power, and the cluster comes back
		s.length += 3 * time.Second
		s.over = s.length
	}
	bad := calm
	bad.spread = time.Millisecond
	if r.IntN(3) > 0 {
		bad.lost, bad.twice, bad.late, bad.lateBy, bad.echo = 0.05, 0.05, 0.1, 400*time.Millisecond, 0.03*float64(r.IntN(2))
	}
	return s, bad
}

// cruel reports whether many nodes die at once, so that the cluster may lose all that it knows.
func (k Kind) cruel(seed uint64) bool { return k.Managed && seed%8 == 7 }
