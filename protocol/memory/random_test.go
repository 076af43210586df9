package memory_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/protocol/memory"
)

// model is a slow second account of what a queue has and of who waits.
type model struct {
	used    int64
	waiting []memory.Ask // in order
}

func (m *model) first(free int64) int {
	return slices.IndexFunc(m.waiting, func(a memory.Ask) bool { return a.Bytes <= free })
}

func (m *model) remove(id uint64) (memory.Ask, bool) {
	i := slices.IndexFunc(m.waiting, func(a memory.Ask) bool { return a.ID == id })
	if i < 0 {
		return memory.Ask{}, false
	}
	a := m.waiting[i]
	m.waiting = slices.Delete(m.waiting, i, i+1)
	return a, true
}

// After each of many random events nobody waits whose bytes are free, unless somebody has
// its turn, and the queue's account is that of the model.
func TestRandom(t *testing.T) {
	const capacity = 1000
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		q, m := memory.New(memory.Config{Cap: capacity}), &model{}
		now, lasting, last := time.Duration(0), int64(0), uint64(0)
		turn := false // somebody may have had a turn before the event
		for range 500 {
			now += time.Duration(rng.IntN(200)) * time.Millisecond
			var ev memory.Event
			switch dice := rng.IntN(10); {
			case dice < 4:
				last++
				a := memory.Ask{ID: last, Bytes: rng.Int64N(capacity/2) + 1, Patience: memory.Patience(rng.IntN(4))}
				if rng.IntN(3) > 0 {
					a.Bytes = a.Bytes%20 + 1
				}
				m.waiting = append(m.waiting, a)
				ev = a
			case dice < 7 && m.used > 0:
				e := memory.Freed{Bytes: rng.Int64N(m.used) + 1}
				m.used -= e.Bytes
				ev = e
			case dice < 8 && last > 0:
				e := memory.Gone{ID: rng.Uint64N(last) + 1}
				m.remove(e.ID)
				ev = e
			case dice < 9:
				more := rng.Int64N(capacity/2) - lasting
				lasting += more
				ev = memory.Lasts{Bytes: more}
			default:
				ev = memory.Tick{}
			}
			for _, e := range q.Step(now, ev) {
				switch e := e.(type) {
				case memory.Grant:
					i := m.first(capacity - m.used)
					a, ok := m.remove(e.ID)
					if !ok || m.used+a.Bytes > capacity {
						t.Fatalf("seed %d: %v grants %+v with %d used", seed, ev, a, m.used)
					}
					if asked, asks := ev.(memory.Ask); !turn && (!asks || asked.ID != e.ID) && (i < 0 || i < len(m.waiting) && m.waiting[i].ID < e.ID) {
						t.Fatalf("seed %d: %v grants %d before %d", seed, ev, e.ID, m.waiting[i].ID)
					}
					m.used += a.Bytes
				case memory.Refuse:
					if asked, asks := ev.(memory.Ask); !asks || asked.ID != e.ID {
						t.Fatalf("seed %d: %v refuses %d", seed, ev, e.ID)
					}
					m.remove(e.ID)
				}
			}
			sum := int64(0)
			for _, a := range m.waiting {
				sum += a.Bytes
			}
			if requests, bytes := q.Waiting(); requests != len(m.waiting) || bytes != sum || q.Used() != m.used {
				t.Fatalf("seed %d: after %+v %v, not %d waiting for %d", seed, ev, q, len(m.waiting), sum)
			}
			turn = q.Turn()
			if i := m.first(capacity - m.used); i >= 0 && !turn {
				t.Fatalf("seed %d: after %+v %d waits for %d, which are free: %v", seed, ev, m.waiting[i].ID, m.waiting[i].Bytes, q)
			}
		}
	}
}

// Small requests take whatever comes free. A large one is met long before the 10 s for
// which a Put waits, and no small one waits for long.
func TestALargeRequestIsNotStarved(t *testing.T) {
	const capacity, small, large = 100, 10, 80
	q := memory.New(memory.Config{Cap: capacity})
	frees := map[time.Duration]int64{}
	asked := map[uint64]time.Duration{}
	size := map[uint64]int64{}
	met, longest := 0, time.Duration(0)
	last := uint64(0)
	step := func(now time.Duration, ev memory.Event) {
		for _, e := range q.Step(now, ev) {
			g, ok := e.(memory.Grant)
			if !ok {
				continue
			}
			waited := now - asked[g.ID]
			if size[g.ID] == large {
				if met++; waited > 8*time.Second {
					t.Errorf("a large request has waited for %v", waited)
				}
			} else {
				longest = max(longest, waited)
			}
			frees[now+300*time.Millisecond] += size[g.ID]
		}
	}
	ask := func(now time.Duration, bytes int64) {
		last++
		asked[last], size[last] = now, bytes
		step(now, memory.Ask{ID: last, Bytes: bytes, Patience: memory.Bounded})
	}
	for now := time.Duration(0); now < 60*time.Second; now += 10 * time.Millisecond {
		if n := frees[now]; n > 0 {
			step(now, memory.Freed{Bytes: n})
		}
		if due, ok := q.Due(); ok && due <= now {
			step(now, memory.Tick{})
		}
		if now%(40*time.Millisecond) == 0 && now < 50*time.Second {
			ask(now, small)
		}
		if now == time.Second || now == 1100*time.Millisecond || now == 20*time.Second {
			ask(now, large)
		}
	}
	if met != 3 || longest > 4*time.Second {
		t.Errorf("%d large requests of 3 are met, a small one has waited for %v", met, longest)
	}
}

// Requests that are never met hold others up for two seconds of three at most, however
// many there are.
func TestRequestsThatAreNeverMet(t *testing.T) {
	q := memory.New(memory.Config{Cap: 100})
	q.Step(0, memory.Ask{ID: 1, Bytes: 60})
	for id := range uint64(10_000) {
		q.Step(0, memory.Ask{ID: id + 2, Bytes: 80})
	}
	open := 0
	const seconds = 60
	for now := time.Duration(0); now < seconds*time.Second; now += 100 * time.Millisecond {
		for due, ok := q.Due(); ok && due <= now; due, ok = q.Due() {
			q.Step(now, memory.Tick{})
		}
		if len(q.Step(now, memory.Ask{ID: 1 << 20, Bytes: 1, Patience: memory.Tries})) == 1 && !q.Turn() {
			open++
			q.Step(now, memory.Freed{Bytes: 1})
		}
	}
	if open < seconds*10/3 {
		t.Errorf("a small request was let in %d times of %d", open, seconds*10)
	}
}
