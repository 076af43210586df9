package ledger

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"
)

// TestSameEventsSameEffects replays what happened to each core.
func TestSameEventsSameEffects(t *testing.T) {
	for seed := int64(1); seed <= 20; seed++ {
		rng := rand.New(rand.NewSource(seed))
		w := newNetwork(Config{LogEntries: 8, LogBytes: 4000})
		w.rng, w.pace, w.drop, w.dup = rng, 100*time.Millisecond, 0.03, 0.03
		in := newInvariants(t, w, seed)
		w.fail = in.fail
		type step struct {
			ev  Event
			now time.Duration
			out string
		}
		type life struct {
			m     *machine
			life  int
			cfg   Config
			state State
			steps []step
		}
		var lives []*life
		w.onOpen = func(m *machine, cfg Config, s State) {
			lives = append(lives, &life{m: m, life: m.life + 1, cfg: cfg, state: s})
		}
		w.onStep = func(m *machine, ev Event, out []Effect) {
			in.after(m, ev, out)
			for _, l := range lives {
				if l.m == m && l.life == m.life {
					l.steps = append(l.steps, step{ev, w.now + m.skew, exact(out)})
				}
			}
		}
		s := &faulty{network: w, in: in, born: 1}
		s.create(1)
		s.run(30 * time.Millisecond)
		s.group(3)
		for range 6 {
			s.act()
			s.run(300 * time.Millisecond)
		}
		for _, l := range lives {
			again, err := New(l.cfg, l.state)
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range l.steps {
				if out := exact(again.Step(s.now, s.ev)); out != s.out {
					t.Fatalf("seed %d: event %d at replica %d, %#v:\n%s, the first time\n%s", seed, i, l.m.id, s.ev, out, s.out)
				}
			}
		}
	}
}

// exact returns all that is in the effects.
func exact(out []Effect) string {
	var b strings.Builder
	for _, e := range out {
		if p, ok := e.(Persist); ok && p.Write.Install != nil {
			fmt.Fprintf(&b, "%v\n", *p.Write.Install)
			p.Write.Install = nil
			e = p
		}
		fmt.Fprintf(&b, "%T %v\n", e, e)
	}
	return b.String()
}
