package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/phalanx-go/phalanx"
)

// allLeave has all nodes leave at the end of some runs: they begin within a second of each other, as
// where a supervisor stops all of them. In some of these runs the network is bad again, or a node
// crashes meanwhile. Each node ends: none waits for members that have ended.
func (w *world) allLeave() {
	r := rand.New(rand.NewPCG(w.seed, 0x510e527fade682d1))
	if r.IntN(2) > 0 {
		return
	}
	w.met["all leave"]++
	w.parting = true
	for i, n := range w.alive() {
		if n.view.Has(n.id) {
			w.put(n, phalanx.ObjectID(fmt.Sprint("last/", i)), putPlan{bytes: []byte(n.id), copies: 1, failAt: -1})
		}
	}
	within := 10 * time.Second // each of the last nodes may find for 2 s that it is alone
	if r.IntN(3) == 0 {
		w.weather, within = someWeather(r), 40*time.Second
	}
	leave := func(n *node) {
		if n.view.Has(n.id) && !n.going {
			n.leave(10*time.Second, false, rand.New(rand.NewPCG(w.seed, r.Uint64())))
		}
	}
	span := time.Second >> (2 * r.IntN(5))
	for _, n := range w.alive() {
		n.after(drawn(r, span), func() { leave(n) })
	}
	if w.together = true; r.IntN(3) == 0 && w.shape.faults != faultless {
		w.together = false
		h := w.hosts[r.IntN(len(w.hosts))]
		within = 40 * time.Second
		w.after(drawn(r, time.Second), func() { h.crash(false) })
	}
	w.until(w.now+time.Second, func() bool { return false })
	w.must(within, "all have left", func() bool {
		ended := true
		for _, h := range w.hosts {
			switch n := h.life; {
			case n != nil && !n.member && w.running() == 1:
				w.met["nobody is left that a removed node could join again"]++
				h.crash(false)
			case n != nil:
				leave(n)
				ended = false
			case h.next != nil:
				ended = false
			}
		}
		return ended
	})
}
