package store

import (
	"context"
	"errors"
	"io"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// edge is the stream of a child's output to its parent, which pulls it.
type edge struct {
	open     reduce.OpenEdge
	ctx      context.Context
	cancel   context.CancelFunc
	used     bool          // a folder reads it
	finished chan struct{} // closed when the folder has ended
	before   *edge         // of the same child; a folder may still read it
}

// foldedBad tells that a check failed on bytes of a child after a folder had combined them
// into the output gen, and perhaps sent them on.
type foldedBad struct {
	gen reduce.PlaceGen
	err error
}

// outputBad tells that the output gen, or the target at the root, has changed in memory.
type outputBad struct {
	gen  reduce.PlaceGen
	root *objectCopy
	err  *dataplane.BadPiece
}

// foldedBad gives the place up, as if it were lost: it and all above it that
// have combined the bytes are cleared (specification 3.4).
func (p *place) foldedBad(m foldedBad) {
	if p.out != nil && p.out.gen == m.gen && p.source != nil {
		p.do(reduce.SourceFailed{Gen: p.source.gen, Text: "the place had combined a bad piece: " + m.err.Error()})
	}
}

// outputBad gives the place up likewise, and the copy whose bytes the output shares.
func (p *place) outputBad(m outputBad) {
	if p.out == nil || p.source == nil || p.out.gen != m.gen && (m.root == nil || p.root != m.root) {
		return
	}
	if p.out.shared {
		p.env.corrupted(p.source.copy, m.err)
	}
	p.do(reduce.SourceFailed{Gen: p.source.gen, Text: "the output of the place has changed in memory: " + m.err.Error()})
}

func (p *place) openEdge(o reduce.OpenEdge) {
	e := &edge{open: o, finished: make(chan struct{}), before: p.edges[o.Place]}
	if e.before != nil {
		e.before.cancel()
	}
	e.ctx, e.cancel = context.WithCancel(p.ctx)
	p.edges[o.Place] = e
	if p.out != nil {
		for _, f := range p.out.inputs {
			if f.place == o.Place {
				f.begun = false
			}
		}
	}
	p.fold()
}

func (p *place) closeEdge(c reduce.CloseEdge) {
	if e := p.edges[c.Place]; e != nil && e.open.Stream == c.Stream {
		e.cancel()
		delete(p.edges, c.Place)
	}
}

// foldEdge folds a child's output as it comes. It skips the bytes that an earlier stream of
// this label brought: one label stands for one sequence of bytes.
func (p *place) foldEdge(o *output, f, before *folder, last bool, e *edge) {
	defer o.done.Done()
	defer close(e.finished)
	if e.before != nil && e.before.used {
		<-e.before.finished
	}
	e.before = nil
	err := whileBusy(e.ctx, o.ctx, func() error { return p.pull(o, f, before, last, e) })
	if e.ctx.Err() != nil || o.ctx.Err() != nil {
		return
	}
	var failed opFailed
	if errors.As(err, &failed) {
		p.env.send(p.self, failed)
		return
	}
	var ended *dataplane.Ended
	if errors.As(err, &ended) && ended.Reason == dataplane.Corrupt {
		p.env.send(p.self, foldedBad{o.gen, err})
		return
	}
	end := reduce.EdgeEnded{Child: e.open.Place, Gen: e.open.Gen, Stream: e.open.Stream, Complete: err == nil}
	if err != nil {
		end.Text = err.Error()
	}
	p.tell(end)
}

// streamOf asks the child of an edge for its output from an offset on. The stream ends
// with a call of closed, and when the place gives up the edge or the output.
func (p *place) streamOf(o *output, e *edge, from int64) (s *dataplane.Stream, closed func(), err error) {
	s, err = p.env.Conns.Open(e.ctx, e.open.Node, dataplane.Request{Kind: dataplane.Place, Object: p.key.Target, Generation: p.key.Reduce,
		Offset: from, Reduce: p.key.Reduce.String(), Place: e.open.Place,
		PlaceGeneration: dataplane.PlaceGeneration{Attempt: e.open.Gen.Attempt, Seq: e.open.Gen.Seq}})
	if err != nil {
		return nil, nil, err
	}
	edgeOver, outputOver := context.AfterFunc(e.ctx, s.Close), context.AfterFunc(o.ctx, s.Close)
	return s, func() {
		edgeOver()
		outputOver()
		s.Close()
	}, nil
}

func (p *place) pull(o *output, f, before *folder, last bool, e *edge) error {
	passed := f.passed.Load()
	from := passed - passed%dataplane.PieceSize
	s, closed, err := p.streamOf(o, e, from)
	if err != nil {
		return err
	}
	defer closed()
	in := &elements{stream: s, elem: int(o.meta.DType.Size()), skip: int(passed - from)}
	if before != nil {
		in.scratch = make([]byte, foldBlock)
	}
	for {
		at := f.passed.Load()
		var src []byte
		if before == nil { // the first input needs no folding: it lands where it belongs
			limit, ok := o.await(e.ctx, f, nil)
			if !ok {
				return context.Canceled
			}
			src, err = in.next(o.at(at, min(at+dataplane.MaxData, limit)))
		} else {
			src, err = in.next(in.scratch[:min(foldBlock, o.meta.Size-at)])
		}
		if errors.Is(err, io.EOF) {
			if at < o.meta.Size {
				return &phalanx.Error{Node: e.open.Node, Kind: phalanx.ErrCorrupt, Err: errors.New("the child's output is too short")}
			}
			if o.meta.Size == 0 {
				o.advance(f, 0, last)
			}
			o.ended()
			return nil
		}
		if err != nil {
			return err
		}
		if before == nil {
			o.advance(f, len(src), last)
			continue
		}
		for len(src) > 0 {
			limit, ok := o.await(e.ctx, f, before)
			if !ok {
				return context.Canceled
			}
			at := f.passed.Load()
			dst := o.at(at, min(limit, at+int64(len(src))))
			if err := o.apply(&f.call, dst, src[:len(dst)]); err != nil {
				return opFailed{o, f.place, err}
			}
			o.advance(f, len(dst), last)
			src = src[len(dst):]
		}
	}
}

// elements reads whole elements from a stream, also where its bytes come with parts of
// them.
type elements struct {
	stream  *dataplane.Stream
	elem    int
	skip    int    // bytes to read and forget first
	scratch []byte // the bytes of an input before its fold
	carry   [8]byte
	carried int // bytes of an element of which the rest is to come
}

// next fills a part of p with whole elements and returns it. Without room for
// one more element it waits for the end of the stream.
func (r *elements) next(p []byte) ([]byte, error) {
	for r.skip > 0 {
		var waste [4096]byte
		n, err := r.stream.Read(waste[:min(r.skip, len(waste))])
		r.skip -= n
		if err != nil {
			return nil, err
		}
	}
	if len(p) == 0 {
		var none [1]byte
		if n, err := r.stream.Read(none[:]); err != nil || n > 0 {
			if n > 0 {
				err = errors.New("the child's output is too long")
			}
			return nil, err
		}
		return p, nil
	}
	n := copy(p, r.carry[:r.carried])
	r.carried = 0
	for {
		k, err := r.stream.Read(p[n:])
		n += k
		if whole := n - n%r.elem; whole > 0 {
			r.carried = copy(r.carry[:], p[whole:n])
			return p[:whole], nil
		}
		if err != nil {
			return nil, err
		}
	}
}
