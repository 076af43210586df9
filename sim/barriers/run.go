package barriers

import (
	"time"

	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// Run simulates one seed. It returns an error that says what was wrong.
func Run(cfg Config) error {
	w := newWorld(cfg)
	w.work = &workload{w: w, open: map[uint64]*call{}, cruel: cfg.cruel()}
	w.run(100 * ms)
	over := time.Duration(200+w.r.IntN(2000)) * ms
	w.work.begin(over)
	w.faulty = w.r.IntN(3) > 0
	if w.work.cruel {
		w.run(w.now + time.Duration(w.r.IntN(int(over/ms)))*ms)
		w.massacre()
	}
	for t := time.Duration(0); t < over && w.err == nil; {
		step := time.Duration(50+w.r.IntN(1500)) * ms
		w.run(w.now + step)
		if w.r.IntN(2) == 0 {
			w.change(func(*barrier.Viewed) {}) // something that is not about members
		}
		t += step
		if w.r.IntN(3) > 0 {
			w.fault()
			w.run(w.now + 2*time.Second) // it is noticed, and what depended on it has been repaired
		}
	}
	w.faulty = false
	w.run(w.now + 15*time.Second)
	if w.err == nil && !w.work.cruel {
		w.check.atEnd()
	}
	return w.err
}
