package barrier_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// gathering is a primary that gathers what another member knows: who holds a
// semaphore there, of which it knows nothing itself.
type gathering struct {
	t     *testing.T
	core  *barrier.Core
	other phalanx.NodeID
	out   []barrier.Output
	held  barrier.Key
}

var slot = barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}

func newGathering(t *testing.T) *gathering {
	self, other := phalanx.MakeNodeID("a", 1), phalanx.MakeNodeID("b", 2)
	g := &gathering{t: t, core: barrier.NewCore(barrier.CoreConfig{Managers: 1}), other: other}
	v := barrier.Viewed{Self: self, Number: 1, Members: []phalanx.NodeID{self, other}}
	for i := 0; g.held.Name == "" || barrier.ManagersOf(v, g.held.Name)[0] != self; i++ {
		g.held.Name = fmt.Sprint("held/", i)
	}
	g.step(v)
	g.step(barrier.Leased{Until: time.Hour})
	g.step(barrier.Call{ID: 1, Kind: barrier.CallEnter, Key: g.held, Config: slot, Entry: barrier.Entry{Host: "next"}})
	return g
}

func (g *gathering) step(e barrier.Event) { g.out = append(g.out, g.core.Step(0, e)...) }

// asked returns the last question, and forgets those before.
func (g *gathering) asked() (m barrier.Gather, some bool) {
	for _, o := range g.out {
		if s, ok := o.(barrier.Send); ok && is[barrier.Gather](s.Message) {
			m, some = s.Message.(barrier.Gather), true
		}
	}
	return m, some
}

// part hears a part of an answer; with holder that of who holds the semaphore is in it.
func (g *gathering) part(said time.Duration, part, parts int, holder bool) {
	q, _ := g.asked()
	m := barrier.Gathered{Term: 1, Stamp: q.Stamp, Said: said, Part: part, More: part+1 < parts}
	if holder {
		m.Reached = []barrier.Reached{{Key: g.held, Config: slot, Requests: []barrier.Request{{Entry: barrier.Entry{Host: "holder"}, Attempt: 1, Holds: true}}}}
	}
	g.step(barrier.Heard{From: g.other, Message: m})
}

// knows reports whether the primary has all; it lets nobody else in.
func (g *gathering) knows() bool {
	g.t.Helper()
	for _, o := range g.out {
		if d, ok := o.(barrier.Done); ok {
			g.t.Fatalf("two hold it: %+v", d)
		}
	}
	return len(g.core.Seen()) > 0
}

// What a member knows has come when all parts of one answer have, whatever of others
// is lost, repeated or late.
func TestPartsOfOneAnswer(t *testing.T) {
	type heard struct {
		stamp       time.Duration
		part, parts int
		holder      bool
	}
	for name, all := range map[string][]heard{
		"repeated":                          {{1, 0, 2, false}, {1, 0, 2, false}, {1, 1, 2, true}},
		"one has been overtaken":            {{1, 0, 3, false}, {1, 2, 3, false}, {1, 1, 3, false}, {1, 2, 3, true}},
		"fewer than before":                 {{1, 0, 3, false}, {1, 1, 3, false}, {2, 0, 1, true}},
		"more than before":                  {{1, 0, 2, false}, {2, 0, 3, false}, {2, 1, 3, false}, {2, 2, 3, true}},
		"as many, and the holder has moved": {{1, 0, 2, false}, {2, 0, 2, true}, {2, 1, 2, false}},
		"an earlier one is late":            {{2, 0, 2, true}, {1, 1, 2, false}, {1, 0, 2, false}, {2, 1, 2, false}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGathering(t)
			for _, h := range all {
				if g.knows() {
					t.Fatalf("before %+v", h)
				}
				g.part(h.stamp, h.part, h.parts, h.holder)
			}
			if !g.knows() {
				t.Error("it does not know all")
			}
		})
	}
}

// A member answers again and again, each time in as many parts as it likes, and most
// of them are lost, repeated or late: what has come in the end is all.
func TestPartsAgainstAnything(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 3))
		g := newGathering(t)
		var flying []func()
		for stamp := time.Duration(1); !g.knows(); stamp++ {
			if stamp == 10_000 {
				t.Fatalf("seed %d: it never knows all", seed)
			}
			parts := 1 + r.IntN(4)
			holder := r.IntN(parts)
			for part := range parts {
				for range r.IntN(3) {
					flying = append(flying, func() { g.part(stamp, part, parts, part == holder) })
				}
			}
			r.Shuffle(len(flying), func(i, j int) { flying[i], flying[j] = flying[j], flying[i] })
			for len(flying) > 2 && !g.knows() {
				flying[0]()
				flying = flying[1:]
			}
		}
	}
}

// A primary goes on to gather whatever copies of answers come late, and whichever are lost: also if a
// member begins its answer anew in between.
func TestGatheringWithLossesAndLateCopies(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 60
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		c := newCluster(t, 4)
		for i, id := range c.view.Members {
			c.cores[id] = barrier.NewCore(barrier.CoreConfig{Part: 300, Attempts: uint64(i) << 20})
			c.learn(id)
			c.step(id, barrier.Leased{Until: time.Hour})
		}
		on := c.bystander()
		var ids []uint64
		for i := range 6 {
			ids = append(ids, c.enter(on, barrier.Config{Max: 7}, fmt.Sprint("h", i)))
		}
		c.settle()
		var late []flying
		c.lose = func(from, to phalanx.NodeID, m barrier.Message) bool {
			switch m.(type) {
			case barrier.Gather, barrier.Gathered:
				if r.IntN(3) == 0 {
					late = append(late, flying{from, to, m})
				}
				return r.IntN(4) == 0
			}
			return false
		}
		c.kill(c.managers()[0])
		c.remove(c.managers()[0])
		c.view.Number++ // the members are as before; some learn of the term late, and begin their answers anew
		for _, id := range c.view.Members {
			c.learn(id)
		}
		refused := barrier.Heard{From: c.view.Members[0], Message: barrier.Refused{Term: c.view.Number}}
		c.step(c.managers()[0], refused)
		for range 30 {
			c.pass(50 * ms)
			if len(late) > 0 {
				i := r.IntN(len(late))
				c.queue = append(c.queue, late[i])
				c.settle()
			}
			if r.IntN(5) == 0 {
				c.step(c.view.Members[r.IntN(3)], refused)
			}
		}
		c.lose = nil
		c.pass(3 * time.Second)
		last := c.enter(on, barrier.Config{Max: 7}, "last")
		c.pass(2 * time.Second)
		for _, id := range append(ids, last) {
			if d, ok := c.done[id]; !ok || d.Verdict != barrier.Fire {
				t.Fatalf("seed %d: call %d: %+v, %v", seed, id, d.Verdict, ok)
			}
		}
	}
}
