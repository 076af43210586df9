package directory

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// What a replica says it holds is what its records add up to, whatever happens.
func TestMemoryIsCounted(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	now := time.Duration(0)
	members := []phalanx.NodeID{"a", "b"}
	epoch := uint64(1)
	s := New(Config{Self: "a", InlineLimit: 1 << 16})
	step := func(ev Event) {
		now += time.Millisecond
		for _, e := range s.Step(now, ev) {
			if r, ok := e.(SendReplicate); ok && rng.IntN(4) > 0 {
				s.Step(now, Confirm{From: r.To, Epoch: r.Replicate.Epoch, Stream: r.Replicate.Stream, Seq: r.Replicate.First + uint64(len(r.Replicate.Changes)) - 1})
			}
		}
		if is, want := s.Memory(), s.weigh(); is != want {
			t.Fatalf("%d bytes are counted after %T, %d are held", is, ev, want)
		}
	}
	step(Configure{Epoch: epoch, Owner: "a", Backup: "b", Members: members})
	for _, m := range members {
		step(Holdings{From: m, Epoch: epoch, Round: 1, End: true})
	}
	for num := uint64(1); num < 3000; num++ {
		step(Lease{Until: now + time.Second})
		id := phalanx.ObjectID(fmt.Sprint("o", rng.IntN(30)))
		r := Request{From: members[rng.IntN(2)], Num: num, Object: id}
		switch rng.IntN(8) {
		case 0, 1, 2:
			b := make([]byte, rng.IntN(1000))
			r.Body = PutInline{Meta: phalanx.Meta{Size: int64(len(b))}, Bytes: b, Digest: phalanx.Digest{byte(len(b))}, Held: true}
		case 3:
			r.Body = Begin{Meta: phalanx.Meta{Size: 1 << 20}}
		case 4:
			r.Body = Delete{Gen: anything}
		case 5:
			r.Body = Locate{Wait: true}
		case 6:
			now += time.Duration(rng.IntN(int(tombstoneLife / 4)))
			step(Tick{})
			continue
		case 7:
			if rng.IntN(20) == 0 {
				epoch += 2
				step(Configure{Epoch: epoch - 1, Owner: "b", Backup: []phalanx.NodeID{"a", "c"}[rng.IntN(2)], Members: members})
				step(Configure{Epoch: epoch, Owner: "a", Backup: "b", Members: members})
			}
			step(Tick{})
			continue
		}
		step(r)
	}
}

// BenchmarkRecord tells what a small object costs, for recordCost.
func BenchmarkRecord(b *testing.B) {
	s := New(Config{Self: "a", InlineLimit: 1 << 16})
	s.Step(0, Configure{Epoch: 1, Owner: "a", Members: []phalanx.NodeID{"a"}})
	s.Step(0, Lease{Until: 1 << 60})
	s.Step(0, Holdings{From: "a", Epoch: 1, Round: 1, End: true})
	before := inUse()
	for i := range b.N {
		s.Step(time.Duration(i), Request{From: "a", Num: uint64(i + 1), Object: phalanx.ObjectID(fmt.Sprintf("object/%08d", i)),
			Body: PutInline{Meta: phalanx.Meta{Size: 100}, Bytes: make([]byte, 100), Held: true}})
	}
	b.ReportMetric(float64(inUse()-before)/float64(b.N)-100, "bytes/record")
	runtime.KeepAlive(s)
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
