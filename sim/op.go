package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	rnode "github.com/phalanx-go/phalanx/node/reduce"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// badOp is an application's op that returns an error, or panics, on one byte of one source,
// wherever a place combines that source with another. A slow one takes long for that byte at a place.
type badOp struct {
	target, source phalanx.ObjectID
	at             int
	slow           bool
}

// slowFor is how long a slow op takes.
const slowFor = 3 * time.Second

// soon bounds how long the caller of a Reduce waits for the error of its op.
const soon = 5 * time.Second

// someBadOp draws the failing op of a run, or nil. It leaves the other random streams alone, so
// that runs without a failing op stay the same.
func someBadOp(seed uint64, s shape) *badOp {
	r := rand.New(rand.NewPCG(seed, 0xd1342543de82ef95))
	if !s.reduces || r.IntN(4) > 0 {
		return nil
	}
	op := &badOp{at: r.IntN(s.vector)}
	t := r.IntN(targets + s.rings)
	op.target = targetID(t)
	if t >= targets {
		op.source = ringSourceID(t-targets, r.IntN(maxRing))
		op.slow = r.IntN(3) == 0
		return op
	}
	var of []phalanx.ObjectID
	for _, id := range sourcesOf(t) {
		if id[0] == 's' {
			of = append(of, id)
		}
	}
	op.source = of[r.IntN(len(of))]
	op.slow = r.IntN(3) == 0
	return op
}

// fails reports whether the op fails on the first k bytes of a source of target.
func (op *badOp) fails(target, source phalanx.ObjectID, k int) bool {
	return op != nil && op.target == target && op.source == source && k > op.at
}

// text is the error of the op.
func (op *badOp) text() string { return fmt.Sprintf("byte %d is bad", op.at) }

// refuses returns the input on which the op fails when it combines the first k bytes of all, or "".
func (p *place) refuses(k int) phalanx.ObjectID {
	s, op := p.core.State(), p.r.n.w.badOp
	if len(p.combine.Inputs) < 2 && p.combine.Ring == 0 {
		return "" // the place combines nothing
	}
	if op.fails(p.key.Target, s.Source, k) {
		return s.Source
	}
	for _, c := range s.Children {
		if op.fails(p.key.Target, c.Source, k) {
			return c.Source
		}
	}
	return ""
}

// calls has the op combine a byte of source, and reports whether it has done that.
func (p *place) calls(source phalanx.ObjectID) bool {
	w, gen := p.r.n.w, p.combine.Gen
	switch {
	case source == "":
		return true
	case !w.badOp.slow:
		p.opFailed(source)
		return false
	case p.failed != gen:
		p.failed, p.call = gen, []rnode.Call{{Since: p.r.n.clock(), Source: source}}
		p.r.n.after(slowFor, func() {
			if p.failed == gen {
				p.call = nil
				p.advance()
				w.step(p.r.n, "op returned")
			}
		})
	}
	return p.call == nil
}

// opFailed reports that the op has failed on a source, and checks that the caller hears of it
// within soon.
func (p *place) opFailed(source phalanx.ObjectID) {
	w, gen, key := p.r.n.w, p.combine.Gen, p.key
	if p.failed == gen {
		return
	}
	p.failed = gen
	w.met["op fails: at a place"]++
	since, here, there := w.now, p.r.n, w.byID[p.coordinator]
	w.after(soon, func() {
		if !w.audit.steady(here, since) || !w.audit.steady(there, since) || here.reduces.places[key] != p {
			return
		}
		for _, c := range there.reduces.coords {
			if c.target == key.Target && c.core.Reduce() == key.Reduce && !c.call.ended && c.core.Places()[key.Place].Gen == gen {
				w.fail("(19) the op has failed on %s at %s, and %v later the reduce of %s goes on", source, here.id, soon, key.Target)
			}
		}
	})
	p.step(reduce.OpFailed{Gen: gen, Source: source, Kind: phalanx.ErrInvalid, Text: w.badOp.text()})
}

// refused returns the index of the small source on which the op fails, or -1.
func (w *world) refused(e reduce.CombineInline) int {
	if w.badOp != nil && w.badOp.slow {
		return -1
	}
	i := slices.IndexFunc(e.Inputs, func(in reduce.Input) bool { return w.badOp.fails(e.Target, in.Source, int(e.Meta.Size)) })
	if i < 0 || len(e.Inputs) < 2 {
		return -1
	}
	w.met["op fails: on small sources"]++
	return i
}

// opEnded checks the answer of a Reduce whose op fails: the result does not contain the source on
// which the op fails. It counts errors that name that source.
func (w *world) opEnded(target phalanx.ObjectID, in []phalanx.ObjectID, err *phalanx.Error) {
	op := w.badOp
	if op == nil || op.target != target || op.slow {
		return
	}
	if err == nil && len(in) > 1 && slices.Contains(in, op.source) {
		w.fail("(8) %s is made of %v, and the op fails on %s", target, in, op.source)
	}
	if err != nil && err.Kind == phalanx.ErrInvalid && err.Object == op.source {
		w.met["reduce ended: its op has failed"]++
	}
}
