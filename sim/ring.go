package sim

import (
	"slices"

	"github.com/phalanx-go/phalanx"
	rnode "github.com/phalanx-go/phalanx/node/reduce"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// circle is a place's part in a ring of n. Its stream has 2(n-1) steps of one shard each. The first
// shard is the place's own; each later shard is the one that came a step earlier, plus the place's
// own shard until the sum is complete. With one step more, the place would have the whole target.
type circle struct {
	pos, n int
	own    []byte
	in     []byte // the bytes that the place before has sent
	rnode.Circled
	alone rnode.Alone // if the place goes on alone
}

// shard returns the bounds of the shard that the place sends in a step.
func (c *circle) shard(step int) (lo, hi int) {
	k := ((c.pos-step)%c.n + c.n) % c.n
	return k * len(c.own) / c.n, (k + 1) * len(c.own) / c.n
}

// steps returns the length of the first k steps.
func (c *circle) steps(k int) (bytes int) {
	for s := range k {
		lo, hi := c.shard(s)
		bytes += hi - lo
	}
	return bytes
}

func (c *circle) sends() int { return c.steps(2*c.n - 2) }
func (c *circle) takes() int { return c.steps(2*c.n-1) - c.steps(1) }

// stream returns the known bytes of the steps, including the last.
func (c *circle) stream() []byte {
	lo, hi := c.shard(0)
	out := append([]byte(nil), c.own[lo:hi]...)
	for step := 1; step < 2*c.n-1; step++ {
		lo, hi := c.shard(step)
		for i := lo; i < hi; i++ {
			at := len(out) - c.steps(1) // in the stream that comes
			if at >= len(c.in) {
				return out
			}
			b := c.in[at]
			if step < c.n {
				b += c.own[i]
			}
			out = append(out, b)
		}
	}
	return out
}

// result returns the target of a whole circle.
func (c *circle) result() []byte {
	out, stream := make([]byte, len(c.own)), c.stream()
	for step := c.n - 1; step < 2*c.n-1; step++ {
		lo, hi := c.shard(step)
		copy(out[lo:hi], stream[c.steps(step):])
	}
	return out
}

// turn moves a ring on, as advance does a tree.
func (p *place) turn() {
	if p.circle == nil {
		if p.source == nil || !p.source.whole {
			return
		}
		p.circle = &circle{pos: p.key.Place, n: p.combine.Ring, own: p.source.bytes}
		p.r.n.w.met["place in a ring"]++
		p.happens(rnode.Roomy{Gen: p.combine.Gen})
	}
	for _, s := range sortedStreams(p.edges) {
		ed := p.edges[s]
		if source := p.refuses(len(p.circle.own)); source != "" && !p.r.n.w.badOp.slow && len(p.apart[ed.gen]) > 0 {
			p.opFailed(source)
			return
		}
		p.circle.in = p.apart[ed.gen]
		if ed.waits {
			ed.waits = false
			p.ask(ed)
		}
	}
	stream := p.circle.stream()
	p.out = stream[:min(len(stream), p.circle.sends())]
	p.pumpFeeds()
}

// cameRound notes that the place before has sent everything.
func (p *place) cameRound() {
	c := p.circle
	if len(c.in) != c.takes() {
		p.r.n.w.fail("(9) place %d of %s gets %d bytes of a ring, and not %d", p.key.Place, p.key.Target, len(c.in), c.takes())
	}
	c.Whole = true
	m := p.r.n.w.oracle.model(p.key.Target)
	m.tried = append(m.tried, c.result())
	p.wholeRing()
}

// wholeRing fills the copy here.
func (p *place) wholeRing() {
	if p.root == nil || !p.circle.Whole || p.root.whole {
		return
	}
	p.root.fill(p.circle.result())
	p.r.n.pump(p.root)
}

// keepRing lets a place whose target is final go on alone.
func (p *place) keepRing() {
	p.kept = true
	p.from(nil)
	delete(p.r.places, p.key)
	p.r.alone = append(p.r.alone, p)
	p.circle.alone = rnode.NewAlone(p.r.n.w.now, p.circle.Circled)
	p.r.n.w.met["place in a ring goes on alone"]++
	if w := p.r.n.w; w.weather.echo > 0 && w.rng.IntN(2) == 0 {
		w.send(p.coordinator, p.r.n.id, p.first)
	}
	p.goRound()
}

// goRound ends such a place when it is over.
func (p *place) goRound() {
	c := p.circle
	if root := p.root; root != nil && c.Whole && !root.Complete && !root.Dropped {
		root.back = nil
		p.r.n.keepOrigin(root, p.combine.Meta, p.core.State().Root)
	}
	if c.alone.Over(p.r.n.w.now, c.Circled) {
		if !c.Broke && !(c.Whole && c.Given) {
			p.r.n.w.met["ring stands still"]++
		}
		p.leaveRing()
	}
}

// leaveRing ends a place that went on alone.
func (p *place) leaveRing() {
	if p.root != nil && !p.root.Complete {
		p.hide(phalanx.Generation{})
	}
	for _, f := range p.r.feeds {
		if f.of == p {
			f.end(false, "its place has ended")
		}
	}
	for _, s := range sortedStreams(p.edges) {
		if ed := p.edges[s]; !ed.complete {
			ed.pipe.write(closeEdge{p.reader(), s})
		}
	}
	p.clear()
	p.giveBack()
	p.r.alone = slices.DeleteFunc(p.r.alone, func(q *place) bool { return q == p })
}

// ringEnded handles the end of the stream from the place before.
func (p *place) ringEnded(ed *edge, complete bool, text string) {
	if p.failed == p.combine.Gen {
		return
	}
	if complete {
		p.turn()
		p.cameRound()
	}
	if p.kept {
		p.circle.Broke = !complete
		p.goRound()
		return
	}
	p.step(reduce.EdgeEnded{Child: ed.Place, Gen: ed.gen, Stream: ed.Stream, Complete: complete, Text: text})
	if complete && p.core.Runs() && p.circle != nil {
		p.step(reduce.OutputDone{Gen: p.combine.Gen, Size: p.combine.Meta.Size, Digest: digestOf(p.circle.result())})
	}
}
