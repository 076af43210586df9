package group

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// round is a network in which every message takes one round.
type round struct {
	view   Viewed
	cores  map[phalanx.NodeID]*Core
	dead   map[phalanx.NodeID]bool
	queue  []sent
	formed int
	told   int
	hops   int
}

func (w *round) step(id phalanx.NodeID, e Event) {
	for _, o := range w.cores[id].Step(0, e) {
		switch o := o.(type) {
		case Send:
			if t, ok := o.Message.(Tell); ok {
				if r, ok := t.News.(Revoke); ok {
					w.hops += len(r.Hops)
				}
			}
			if !w.dead[o.To] {
				w.queue = append(w.queue, sent{id, o.To, o.Message})
			}
		case Done:
			if o.Outcome == OK {
				w.formed++
			}
		case Revoked:
			w.told += len(o.Ranks)
		}
	}
}

// next has all messages of a round arrive.
func (w *round) next() {
	batch := w.queue
	w.queue = nil
	for _, s := range batch {
		w.step(s.to, Heard{From: s.from, Message: s.m})
	}
}

// newRound returns a network of n nodes with a group of a member on each.
func newRound(tb testing.TB, n int) *round {
	w := &round{cores: map[phalanx.NodeID]*Core{}, dead: map[phalanx.NodeID]bool{}, view: Viewed{Number: 1, Members: map[phalanx.NodeID]bool{}}}
	var members []Member
	for i := range n {
		id := phalanx.MakeNodeID(fmt.Sprint("n", i), 1)
		members = append(members, Member{Node: id})
		w.view.Members[id] = true
		w.cores[id] = NewCore(Config{Resend: time.Hour})
	}
	r, err := NewRoster(members)
	if err != nil {
		tb.Fatal(err)
	}
	for rank, m := range members {
		v := w.view
		v.Self = m.Node
		w.step(m.Node, v)
		w.step(m.Node, Call{ID: 1, Kind: CallForm, Group: "g", Roster: r, Rank: rank})
	}
	for len(w.queue) > 0 {
		w.next()
	}
	if w.formed != n {
		tb.Fatalf("%d of %d have formed the group", w.formed, n)
	}
	return w
}

// revoke returns after how many rounds all live members are told.
func (w *round) revoke(tb testing.TB) int {
	live := len(w.cores) - len(w.dead)
	w.step(phalanx.MakeNodeID("n0", 1), Call{Kind: CallRevoke, Group: "g"})
	for rounds := 0; ; rounds++ {
		if w.told == live {
			for len(w.queue) > 0 {
				w.next()
			}
			return rounds
		}
		if len(w.queue) == 0 {
			tb.Fatalf("%d of %d are told", w.told, live)
		}
		w.next()
	}
}

// The real cores of 1,000 members take the rounds and messages of the table.
func TestThousandMembers(t *testing.T) {
	w := newRound(t, 1000)
	if rounds := w.revoke(t); rounds != 5 || w.hops != 19001 {
		t.Errorf("%d rounds and %d messages, want 5 and 19,001", rounds, w.hops)
	}
}

// BenchmarkWave says in how many rounds and messages all are told; "dead" with
// degree−1 members that died unnoticed.
func BenchmarkWave(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		for _, dead := range []bool{false, true} {
			b.Run(fmt.Sprintf("members=%d/dead=%v", n, dead), func(b *testing.B) {
				r, rounds, worst, hops := rand.New(rand.NewPCG(1, uint64(n))), 0, 0, 0
				for range b.N {
					b.StopTimer()
					w := newRound(b, n)
					for dead && len(w.dead) < Degree(n)-1 {
						w.dead[phalanx.MakeNodeID(fmt.Sprint("n", 1+r.IntN(n-1)), 1)] = true
					}
					b.StartTimer()
					got := w.revoke(b)
					rounds, worst, hops = rounds+got, max(worst, got), hops+w.hops
				}
				b.ReportMetric(float64(rounds)/float64(b.N), "rounds")
				b.ReportMetric(float64(worst), "rounds-worst")
				b.ReportMetric(float64(hops)/float64(b.N), "messages")
			})
		}
	}
}
