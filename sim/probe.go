package sim

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/fetch"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// probeEvery is shorter than in a real node: sources are slow for a shorter time, too.
const probeEvery = 500 * time.Millisecond

// probe hosts a fetch.Probe of an object that callers of this node wait for.
type probe struct {
	n      *node
	object phalanx.ObjectID
	core   fetch.Probe
	seen   func() (seen fetch.Seen, waits bool)
	away   func(*phalanx.Error) // ends the waiting calls with an error
}

func (n *node) probe(id phalanx.ObjectID, seen func() (fetch.Seen, bool), away func(*phalanx.Error)) *probe {
	return &probe{n: n, object: id, core: fetch.NewProbe(probeEvery), seen: seen, away: away}
}

func (p *probe) tick() {
	at, ok := p.core.Due()
	if !ok || at > p.n.clock() {
		return
	}
	n := p.n
	seen, waits := p.seen()
	ask, forget := p.core.Look(n.clock(), seen, waits, n.client.numbers())
	n.client.forget(forget)
	if ask == 0 {
		return
	}
	n.w.met["owner probed: no bytes come"]++
	n.client.ask(ask, p.object, directory.Failed{}, func(phalanx.NodeID, directory.Result) { p.core.Answered(ask) })
	n.client.impatient(ask, func(err *phalanx.Error) {
		n.client.forget(ask)
		if seen, waits := p.seen(); p.core.Silent(ask, seen, waits) {
			n.w.met["no bytes come, and the owner is silent"]++
			p.away(err)
		}
	})
}

// end ends the probe's request.
func (p *probe) end() { p.n.client.forget(p.core.End()) }

// tickProbes ticks all probes that are due.
func (n *node) tickProbes() {
	for _, id := range sortedObjects(n.fetches) {
		if f := n.fetches[id]; f != nil {
			f.probe.tick()
		}
	}
	for _, id := range sortedObjects(n.owns) {
		if o := n.owns[id]; o != nil {
			o.probe.tick()
		}
	}
}
