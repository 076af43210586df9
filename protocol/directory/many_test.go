package directory

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// many drives the owner of a shard with so many objects that it shows what a message
// costs for each of them.
type many struct {
	*Shard
	now     time.Duration
	num     uint64
	sent    []SendReplicate
	replies int
}

// manyOf returns an owner with n final objects and a backup that confirms when it is
// told to.
func manyOf(n int) *many {
	m := &many{Shard: New(Config{Self: "a", InlineLimit: 1 << 10})}
	m.step(Configure{Epoch: 1, Owner: "a", Backup: "b", Members: []phalanx.NodeID{"a", "b", "c", "d"}})
	m.step(Lease{Until: 1 << 60})
	m.confirm()
	for _, member := range m.view.Members {
		m.step(Holdings{From: member, Epoch: 1, Round: 1, End: true})
	}
	for i := range n {
		m.ask("c", id(i), PutInline{Meta: phalanx.Meta{Size: 1}, Bytes: []byte{1}, Held: true})
		m.confirm()
	}
	m.step(Tick{})
	return m
}

func id(i int) phalanx.ObjectID { return phalanx.ObjectID(fmt.Sprintf("object/%08d", i)) }

func (m *many) step(ev Event) {
	m.now += time.Microsecond
	for _, e := range m.Step(m.now, ev) {
		switch e := e.(type) {
		case SendReplicate:
			m.sent = append(m.sent, e)
		case Reply:
			m.replies++
		}
	}
}

func (m *many) ask(from phalanx.NodeID, id phalanx.ObjectID, body Body) {
	m.num++
	m.step(Request{From: from, Num: m.num, Object: id, Body: body})
}

// confirm has the backup confirm what was sent.
func (m *many) confirm() {
	for len(m.sent) > 0 {
		r := m.sent[0]
		m.sent = m.sent[1:]
		m.confirmed(r.First + uint64(len(r.Changes)) - 1)
	}
}

func (m *many) confirmed(seq uint64) {
	m.step(Confirm{From: "b", Epoch: m.view.Epoch, Stream: m.streams["b"].began, Seq: seq})
}

// BenchmarkMessage tells what one message costs an owner of 10, 1,000 and 100,000
// objects, or of as many open requests. The cost must not grow with them.
func BenchmarkMessage(b *testing.B) {
	for _, c := range []struct {
		name string
		of   func(b *testing.B, n int) (message func(i int))
	}{
		{"announce", func(b *testing.B, n int) func(int) {
			m := manyOf(n)
			return func(i int) { m.ask("d", id(i%n), Announce{Gen: m.objects[id(i%n)].rec.Gen, Complete: true}) }
		}},
		{"locate", func(b *testing.B, n int) func(int) {
			m := manyOf(n)
			return func(i int) { m.ask("d", id(i%n), Locate{Room: 1 << 20}) }
		}},
		{"put", func(b *testing.B, n int) func(int) {
			m := manyOf(n)
			return func(i int) {
				m.ask("c", id(n+i), PutInline{Meta: phalanx.Meta{Size: 1}, Bytes: []byte{1}, Held: true})
				m.confirm()
			}
		}},
		{"put behind as many on their way", func(b *testing.B, n int) func(int) {
			m := manyOf(0)
			for i := range n {
				m.ask("c", id(i), Begin{Meta: phalanx.Meta{Size: 1 << 20}})
			}
			return func(i int) {
				m.ask("c", id(n+i), Begin{Meta: phalanx.Meta{Size: 1 << 20}})
				m.confirmed(m.streams["b"].confirmed + 1)
				m.sent = m.sent[:0]
			}
		}},
		{"locate of what is to come", func(b *testing.B, n int) func(int) {
			m := manyOf(0)
			for i := range n {
				m.ask("c", id(i), Locate{Wait: true})
			}
			return func(i int) {
				m.ask("d", id(i%n), Locate{Wait: true})
				m.ask("d", id(i%n), Cancel{Num: m.num})
			}
		}},
		{"a request before the backup has all", func(b *testing.B, n int) func(int) {
			m := &many{Shard: New(Config{Self: "a", InlineLimit: 1 << 10})}
			m.step(Configure{Epoch: 1, Owner: "a", Backup: "b", Members: []phalanx.NodeID{"a", "b", "c", "d"}})
			m.step(Lease{Until: 1 << 60})
			for i := range n {
				m.ask("c", id(i), Locate{Wait: true})
			}
			return func(i int) {
				m.step(Request{From: "c", Num: uint64(i%n + 1), Object: id(i % n), Body: Locate{Wait: true}})
			}
		}},
		{"a lease that comes late", func(b *testing.B, n int) func(int) {
			m := manyOf(n)
			m.leased = m.now
			return func(int) {
				m.now += time.Second
				m.step(Lease{Until: m.now + time.Second/2})
			}
		}},
		{"list of a page", func(b *testing.B, n int) func(int) {
			m := manyOf(n)
			m.ask("d", "", List{})
			return func(i int) { m.ask("d", "", List{Prefix: "object/", After: id(i * 100 % n), Limit: 100}) }
		}},
		{"tick", func(b *testing.B, n int) func(int) {
			m := manyOf(n)
			return func(int) {
				m.now += 20 * time.Millisecond
				m.step(Tick{})
			}
		}},
	} {
		for _, n := range []int{10, 1000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				message := c.of(b, n)
				b.ResetTimer()
				for i := range b.N {
					message(i)
				}
			})
		}
	}
}

// The pages of a list are those of all bound ids in order, whatever comes and goes
// between them.
func TestListAmongChanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	m := manyOf(0)
	for range 3000 {
		id := phalanx.ObjectID(fmt.Sprintf("%c/%03d", 'a'+rng.IntN(3), rng.IntN(200)))
		switch rng.IntN(4) {
		case 0, 1:
			m.ask("c", id, PutInline{Meta: phalanx.Meta{Size: 1}, Bytes: []byte{1}, Held: true})
		case 2:
			m.ask("c", id, Delete{Gen: anything})
			m.confirm()
			m.now += tombstoneLife + time.Second
			m.leased = m.now + time.Hour
			m.step(Tick{})
		case 3:
			l := List{Prefix: []string{"", "b", "b/1", "c/19", "x"}[rng.IntN(5)], Limit: 1 + rng.IntN(20)}
			if rng.IntN(2) == 0 {
				l.After = id
			}
			var want, got []phalanx.ObjectID
			for id, o := range m.objects {
				if (o.rec.State == Begun || o.rec.State == Finished) && id > l.After && strings.HasPrefix(string(id), l.Prefix) {
					want = append(want, id)
				}
			}
			slices.Sort(want)
			want = want[:min(len(want), l.Limit)]
			for _, st := range m.list(l) {
				got = append(got, st.Object)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%+v: %v, not %v", l, got, want)
			}
		}
		m.confirm()
	}
}

// A new owner holds requests in order until its backup has all. Each repeat is there
// once, at its last place.
func TestRepeatsAreHeldOnce(t *testing.T) {
	var h held
	for round := range 50 {
		for i := range 10 {
			h.add(Request{From: "a", Num: uint64(i), Object: "x"})
			h.add(Holdings{From: "a", Round: 1, Part: uint64(i)})
		}
		if n := len(h.events); n > 3*20 {
			t.Fatalf("%d are held after %d rounds", n, round)
		}
	}
	h.add(Request{From: "a", Num: 3, Object: "x"})
	h.add(Holdings{From: "b"})
	h.add(Holdings{From: "b"}) // nothing is known of their order
	var got []string
	for _, ev := range h.take() {
		switch ev := ev.(type) {
		case Request:
			got = append(got, fmt.Sprint("r", ev.Num))
		case Holdings:
			got = append(got, fmt.Sprint("h", ev.Part))
		}
	}
	if want := "r0 h0 r1 h1 r2 h2 h3 r4 h4 r5 h5 r6 h6 r7 h7 r8 h8 r9 h9 r3 h0 h0"; strings.Join(got, " ") != want {
		t.Errorf("held are %v, not %s", got, want)
	}
}

// An owner that hears from a majority again does what came up meanwhile, and looks at
// nothing else.
func TestALeaseThatComesLate(t *testing.T) {
	m := manyOf(1000)
	m.ask("c", "x", Begin{Meta: phalanx.Meta{Size: 1 << 20}})
	m.confirm()
	m.ask("c", "x", Final{Gen: m.objects["x"].rec.Gen, Meta: phalanx.Meta{Size: 1 << 20}, Held: true})
	m.confirm()
	m.ask("d", "x", Locate{Room: 1 << 20})
	l := m.objects["x"].leases[0]
	m.num++
	m.objects["x"].waiters = []Request{{From: "b", Num: m.num, Object: "x", Body: Locate{Room: 1 << 20, Wait: true}}}
	m.leased = m.now
	m.now += time.Second
	m.step(LeaseKnown{From: "d", Object: "x", Lease: l.id}) // d reads no more: b can
	if m.leased >= m.Shard.now || len(m.unseen) != 1 || len(m.objects["x"].waiters) != 1 {
		t.Fatalf("%d objects are unseen, %d wait", len(m.unseen), len(m.objects["x"].waiters))
	}
	m.step(LeaseKnown{From: "d", Object: "x", Lease: l.id})
	if len(m.unseen) != 1 {
		t.Errorf("%d objects are unseen", len(m.unseen))
	}
	m.step(Lease{Until: m.now + time.Second})
	if o := m.objects["x"]; len(m.unseen) != 0 || len(o.waiters) != 0 || len(o.leases) != 1 || o.leases[0].receiver != "b" {
		t.Errorf("%d objects are unseen; %d wait", len(m.unseen), len(o.waiters))
	}
}
