package directory

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Outdated reports whether p was given in an epoch before epoch. The holder has reported its
// copies to the owner of epoch, or is about to, so an order that changes them does not
// count. An owner that stays repeats its orders in the new epoch; a new owner gives its own.
func (p Push) Outdated(epoch uint64) bool { return p.Order <= PushDrop && p.Seq>>32 < epoch }

// push is an order that its holder has not acknowledged yet. A newer one to the
// same holder replaces it.
type push struct {
	Push
	sent time.Duration
}

func (s *Shard) push(o *object, to phalanx.NodeID, order Order) { s.pushGen(o, to, order, o.rec.Gen) }

func (s *Shard) pushGen(o *object, to phalanx.NodeID, order Order, gen phalanx.Generation) {
	o.pushes = slices.DeleteFunc(o.pushes, func(p *push) bool { return p.To == to })
	p := &push{sent: s.now, Push: Push{To: to, Seq: s.nextPush(), Object: o.rec.Object, Order: order, Gen: gen,
		Meta: o.rec.Meta, Digest: o.rec.Digest}}
	if order == PushCopy {
		p.Copies = o.rec.Copies
	}
	o.pushes = append(o.pushes, p)
	s.emit(p.Push)
}

// nextPush returns the number of another order; above it is the epoch.
func (s *Shard) nextPush() uint64 {
	s.pushSeq++
	return s.view.Epoch<<32 | s.pushSeq
}

func (s *Shard) pushAcked(a PushAcked) {
	if o := s.objects[a.Object]; o != nil {
		s.stir(o)
		o.pushes = slices.DeleteFunc(o.pushes, func(p *push) bool { return p.To == a.From && p.Seq == a.Seq })
		s.clear(o)
	}
}

func (s *Shard) repeatPushes(o *object) {
	for _, p := range o.pushes {
		if s.now-p.sent >= repeatEvery {
			p.sent = s.now
			if p.Outdated(s.view.Epoch) {
				p.Seq = s.nextPush()
			}
			s.emit(p.Push)
		}
	}
}
