package storenode

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// probeEvery is how often a fetch looks whether more bytes have come, and asks the
// owner if not. So these questions come seldom, however many wait for a slow source.
const probeEvery = 2 * time.Second

// probe finds out that the owner of an object is silent while its bytes do not come.
// What is on its way needs no owner; but a relay that waits for bytes itself keeps
// its receivers waiting, and without an owner nothing becomes final. Who waits for
// that would do so to the deadline.
type probe struct {
	timer *time.Timer // nil: no bytes were asked for yet
	num   uint64      // of the question that is not answered; 0: there is none
	copy  *objectCopy // as it was looked at last
	held  int64
}

// Messages to a fetch.
type (
	probeDue struct{}
	probed   struct { // the owner's answer, or that it is silent
		num uint64
		err *phalanx.Error
	}
)

// probe asks whether the owner of an object is there. It is a report about no lease,
// which changes nothing and is answered whatever the shard is busy with.
func (e *Env) probe(id phalanx.ObjectID, tell func(probed)) (num uint64) {
	num = e.Directory.Nums(1)
	e.Directory.Request(id, num, directory.Failed{}, func(phalanx.NodeID, directory.Result) { tell(probed{num, nil}) })
	e.Directory.Impatient(num, func(err *phalanx.Error) { tell(probed{num, err}) })
	return num
}

// startProbe begins to look whether bytes come.
func (f *fetch) startProbe() {
	if f.probe.timer == nil {
		self, env := f.self, f.env
		f.probe.timer = time.AfterFunc(probeEvery, func() { env.send(self, probeDue{}) })
	}
}

func (f *fetch) endProbe() {
	if p := &f.probe; p.timer != nil {
		p.timer.Stop()
		f.env.Directory.Forget(p.num)
		p.num = 0
	}
}

// stuck reports whether callers wait and nothing has come since it was asked last.
// While a sender is located its owner is asked anyway, and room is this node's own.
func (f *fetch) stuck() bool {
	p, held := &f.probe, int64(0)
	if f.copy != nil {
		held = f.copy.buffer.Arrived()
	}
	same := p.copy == f.copy && p.held == held
	p.copy, p.held = f.copy, held
	return same && len(f.known) > 0 && f.core.Arriving()
}

func (f *fetch) probeDue() {
	if f.core.Over() {
		return
	}
	p, self, env := &f.probe, f.self, f.env
	p.timer.Reset(probeEvery)
	switch stuck := f.stuck(); {
	case !stuck:
		env.Directory.Forget(p.num)
		p.num = 0
	case p.num == 0:
		p.num = env.probe(f.object, func(m probed) { env.send(self, m) })
	}
}

// probed turns every caller away if the owner is silent, and nothing has come.
func (f *fetch) probed(m probed) {
	if f.probe.num != m.num {
		return
	}
	f.probe.num = 0
	if m.err == nil {
		return
	}
	f.env.Directory.Forget(m.num)
	if f.stuck() {
		f.turnAway(m.err)
	}
}

// missed waits until c, which this node makes, is whole or dropped, or until stop
// is closed. It returns an error if no bytes of it come and its owner is silent.
func (e *Env) missed(c *objectCopy, stop <-chan struct{}) *phalanx.Error {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	answers := make(chan probed, 1)
	num, held := uint64(0), int64(-1)
	defer func() { e.Directory.Forget(num) }()
	for {
		select {
		case <-c.over:
			return nil
		case <-stop:
			return nil
		case m := <-answers:
			if m.num != num {
				continue
			}
			if m.err != nil && c.buffer.Arrived() == held {
				return m.err
			}
			e.Directory.Forget(num)
			num = 0
		case <-tick.C:
			switch now := c.buffer.Arrived(); {
			case now != held:
				e.Directory.Forget(num)
				num, held = 0, now
			case num == 0:
				num = e.probe(c.Object, func(m probed) {
					select {
					case answers <- m:
					default: // an earlier one says the same
					}
				})
			}
		}
	}
}
