package barriers

import (
	"time"

	"github.com/phalanx-go/phalanx/sim/stage"
)

// Run simulates one seed. It returns an error that says what was wrong.
func Run(cfg Config) error {
	w := newWorld(cfg)
	w.Run(100 * ms)
	over := 200*ms + w.Upto(2000*ms)
	w.work.begin(over)
	w.Faulty = w.R.IntN(3) > 0
	if w.work.cruel {
		w.Run(w.Upto(over))
		w.massacre()
	}
	for t := time.Duration(0); t < over && w.Err == nil; {
		step := 50*ms + w.Upto(1500*ms)
		w.Run(step)
		if w.R.IntN(2) == 0 {
			w.Change(func(*stage.View) {}) // something that is not about members
		}
		t += step
		switch w.R.IntN(6) { // of a barrier's managers one is left
		case 0, 1:
		case 2:
			if live := w.Live(); len(live) > managers && w.restarts == 0 { // a second one may lose what the first has not got back yet
				w.work.restart(live[w.R.IntN(len(live))])
			}
			w.Run(2 * time.Second)
		default:
			w.Fault()
			w.Run(2 * time.Second) // it is noticed, and what depended on it has been repaired
		}
	}
	if w.R.IntN(2) == 0 { // what is over is known as such alone, and its managers are others then
		w.Run(keep)
		for range 1 + w.R.IntN(4) {
			w.Fault()
			w.Run(2 * time.Second)
		}
	}
	w.Quiet(15 * time.Second)
	if w.Err == nil && !w.work.cruel {
		w.check.atEnd()
	}
	return w.Err
}
