package directory

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// push is an order that its holder has not acknowledged yet. A newer one to the
// same holder replaces it.
type push struct {
	Push
	sent time.Duration
}

func (s *Shard) push(o *object, to phalanx.NodeID, order Order) { s.pushGen(o, to, order, o.rec.Gen) }

func (s *Shard) pushGen(o *object, to phalanx.NodeID, order Order, gen phalanx.Generation) {
	o.pushes = slices.DeleteFunc(o.pushes, func(p *push) bool { return p.To == to })
	s.pushSeq++
	p := &push{sent: s.now, Push: Push{To: to, Seq: s.view.Epoch<<32 | s.pushSeq, Object: o.rec.Object, Order: order, Gen: gen,
		Meta: o.rec.Meta, Digest: o.rec.Digest}}
	o.pushes = append(o.pushes, p)
	s.emit(p.Push)
}

func (s *Shard) pushAcked(a PushAcked) {
	if o := s.objects[a.Object]; o != nil {
		s.stir(o)
		o.pushes = slices.DeleteFunc(o.pushes, func(p *push) bool { return p.To == a.From && p.Seq == a.Seq })
	}
}

func (s *Shard) repeatPushes(o *object) {
	for _, p := range o.pushes {
		if s.now-p.sent >= repeatEvery {
			p.sent = s.now
			s.emit(p.Push)
		}
	}
}
