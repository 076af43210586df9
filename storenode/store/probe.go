package store

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/fetch"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// probed is the owner's answer to a probe, or tells that it is silent.
type probed struct {
	num uint64
	err *phalanx.Error
}

// probe sends the question of a fetch.Probe.
func (e *Env) probe(id phalanx.ObjectID, num uint64, tell func(probed)) {
	e.Directory.Request(id, num, directory.Failed{}, func(phalanx.NodeID, directory.Result) { tell(probed{num, nil}) })
	e.Directory.Impatient(num, func(err *phalanx.Error) { tell(probed{num, err}) })
}

// seen returns the fetch's part, and whether callers wait for senders. They do not while a
// Locate asks the owner anyway, or the fetch waits for room on this node.
func (f *fetcher) seen() (seen fetch.Seen, waits bool) {
	if f.copy != nil {
		seen = fetch.Seen{Gen: f.copy.Gen, Held: f.copy.buffer.Arrived()}
	}
	return seen, len(f.known) > 0 && f.core.Arriving()
}

// look has the probe look.
func (f *fetcher) look() {
	if f.core.Over() {
		return
	}
	env, self := f.env, f.self
	seen, waits := f.seen()
	ask, forget := f.probe.Look(env.Now(), seen, waits, env.Directory.Nums(1))
	env.Directory.Forget(forget)
	if ask != 0 {
		env.probe(f.object, ask, func(m probed) { env.send(self, m) })
	}
}

// probed turns every caller away if the owner is silent, and nothing has come.
func (f *fetcher) probed(m probed) {
	if m.err == nil {
		f.probe.Answered(m.num)
		return
	}
	f.env.Directory.Forget(m.num)
	if seen, waits := f.seen(); f.probe.Silent(m.num, seen, waits) {
		f.turnAway(m.err)
	}
}

// missed waits until c, which this node makes, is whole or dropped, or until stop
// is closed. It returns an error if no bytes of it come and its owner is silent.
func (e *Env) missed(c *objectCopy, stop <-chan struct{}) *phalanx.Error {
	tick := time.NewTicker(fetch.ProbeEvery)
	defer tick.Stop()
	p := fetch.NewProbe(fetch.ProbeEvery)
	p.Begin(e.Now())
	answers := make(chan probed, 1)
	defer func() { e.Directory.Forget(p.End()) }()
	seen := func() fetch.Seen { return fetch.Seen{Gen: c.Gen, Held: c.buffer.Arrived()} }
	for {
		select {
		case <-c.over:
			return nil
		case <-stop:
			return nil
		case m := <-answers:
			if m.err == nil {
				p.Answered(m.num)
				continue
			}
			e.Directory.Forget(m.num)
			if p.Silent(m.num, seen(), true) {
				return m.err
			}
		case <-tick.C:
			ask, forget := p.Look(e.Now(), seen(), true, e.Directory.Nums(1))
			e.Directory.Forget(forget)
			if ask != 0 {
				e.probe(c.Object, ask, func(m probed) {
					select {
					case answers <- m:
					default: // an earlier signal is still there
					}
				})
			}
		}
	}
}
