package sim

import (
	"math/rand/v2"
	"time"
)

// shape draws what a run looks like in which nobody uses the store, and its weather.
func (k Kind) shape(seed uint64) (shape, weather) {
	r := rand.New(rand.NewPCG(seed, 0x510e527fade682d1))
	s := shape{nodes: 3 + r.IntN(4), joins: r.IntN(2), shards: 1, largest: 1, length: 200*time.Millisecond + drawn(r, 2*time.Second)}
	if k.Crowded {
		s.faults, s.troubles, s.joins = crowded, r.IntN(8), r.IntN(4)
	} else {
		s.faults, s.troubles = bounded, 1+r.IntN(4)
	}
	if s.over = s.length; !k.Crowded { // the faults come while applications begin, and one after the other
		s.length += time.Duration(s.troubles) * 2 * time.Second
	}
	if !k.Crowded && r.IntN(2) == 0 { // what is over is remembered by other nodes then
		s.late = 1 + r.IntN(4)
		s.length += 3*time.Second + time.Duration(s.late)*2*time.Second
	}
	if k.cruel(seed) {
		s.nodes += 4
	}
	bad := calm
	bad.spread = time.Millisecond
	if r.IntN(3) > 0 {
		bad.lost, bad.twice, bad.late, bad.lateBy, bad.echo = 0.05, 0.05, 0.1, 400*time.Millisecond, 0.03*float64(r.IntN(2))
	}
	return s, bad
}

// cruel reports whether so many nodes die at once that all that is known may be lost.
func (k Kind) cruel(seed uint64) bool { return k.Managed && seed%8 == 7 }
