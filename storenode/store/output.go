package store

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/phalanx-go/phalanx"
	rnode "github.com/phalanx-go/phalanx/node/reduce"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// output is a place's product. A goroutine for each input folds it as far as the inputs
// before it have come, so that present inputs make progress while others are missing:
//
//	input 0 ──copy──▶ buffer ◀──fold── input 1 ◀──behind── input 2 …
//
// The last folder commits the bytes that it has passed: these can be read. In a window the
// first input waits for the parent, and so do the inputs behind it.
type output struct {
	gen    reduce.PlaceGen
	op     phalanx.Op
	meta   phalanx.Meta
	room   *handover[sink]
	sink   sink
	shared bool // the sink is the source's own buffer
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup
	place  *place

	turning *turning // in a ring; else nil

	space  []byte // of the whole buffer, nil in a window; only folders write it
	inputs []*folder
	left   atomic.Int64 // inputs that have not ended

	asked     atomic.Bool // a parent has read it
	delivered atomic.Bool // a stream has sent everything to a parent
	given     bool        // the sink was given up since
}

// folder folds one input into an output.
type folder struct {
	order  int
	place  int // of the child; -1 is the source
	passed atomic.Int64
	wake   chan struct{} // of the folder behind this one, capacity 1
	begun  bool
	call   opCall
}

// resetOutput drops the output. A parent that asks for the one labelled gen waits for it.
func (p *place) resetOutput(gen reduce.PlaceGen) {
	p.hub.expect(p.key, gen)
	if p.out != nil {
		p.out.close(false)
		p.out = nil
	}
}

// close ends the folding and gives the buffer up: it fails for its readers,
// unless it is to be kept as the target.
func (o *output) close(keep bool) {
	defer o.cancel() // after readers can see why
	o.room.close()
	if o.turning != nil && o.sink.isZero() && o.turning.result != nil {
		o.turning.result.Release()
		o.turning.result = nil
	}
	if o.sink.isZero() || o.given {
		return
	}
	if !o.shared && !keep {
		o.sink.fail(&dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrAborted, Node: o.place.env.Self})
	}
	go o.letGo()
}

// letGo releases the sink after the last folder has ended.
func (o *output) letGo() {
	o.done.Wait()
	o.sink.release()
}

// combine starts the output, or adds the inputs that are known by now.
func (p *place) combine(cb reduce.Combine) {
	if p.out == nil || p.out.gen != cb.Gen {
		p.begin(cb)
	}
	o := p.out
	for i, in := range cb.Inputs {
		if i == len(o.inputs) {
			f := &folder{order: in.Order, place: in.Place, wake: make(chan struct{}, 1)}
			if in.Self {
				f.place = -1
			}
			o.inputs = append(o.inputs, f)
		}
	}
	p.fold()
}

func (p *place) begin(cb reduce.Combine) {
	if p.out != nil {
		p.resetOutput(cb.Gen)
	}
	ctx, cancel := context.WithCancel(p.ctx)
	o := &output{gen: cb.Gen, op: cb.Op, meta: cb.Meta, ctx: ctx, cancel: cancel, place: p,
		room: &handover[sink]{release: sink.release}}
	o.left.Store(int64(len(cb.Inputs)))
	p.out = o
	p.hub.expect(p.key, o.gen)
	self, env, size, need := p.self, p.env, cb.Meta.Size, p.run.Room()
	if need == rnode.NoRoom && p.source != nil {
		o.shared, o.sink.buffer = true, p.source.buffer
		o.sink.retain()
		p.happens(rnode.Roomy{Gen: o.gen})
		return
	}
	if cb.Ring > 0 {
		o.turning = newTurning(cb.Ring)
	}
	if v := env.trySink(size, need); !v.isZero() {
		o.room.give(v)
		p.room(outputRoom{output: o})
		return
	}
	p.hub.ShrinkOutputs()
	p.tell(reduce.OutputWaits{Gen: o.gen, Text: env.missingRoom(size, need)})
	go func() {
		v, err := env.newSink(ctx, size, need)
		if err == nil {
			o.room.give(v)
			p.tell(reduce.OutputWaits{Gen: o.gen})
		}
		env.send(self, outputRoom{o, err})
	}()
}

// room takes the sink of an output.
func (p *place) room(r outputRoom) {
	o := r.output
	v, ok := o.room.take()
	switch {
	case !ok && r.err != nil && p.out == o && p.source != nil:
		p.tell(reduce.SourceFailed{Gen: p.source.gen, Text: r.err.Error()})
		return
	case !ok:
		return
	}
	if o.turning != nil {
		o.turning.result = v.buffer
		p.turn()
		return
	}
	o.sink = v
	if v.buffer != nil {
		o.space = v.buffer.Space(int(o.meta.Size))
	}
	p.happens(rnode.Roomy{Gen: o.gen})
	p.fold()
}

// fold starts the folders whose input is known, in order.
func (p *place) fold() {
	o := p.out
	if o != nil && o.turning != nil {
		p.turn()
		return
	}
	if o == nil || o.sink.isZero() || o.shared || o.given {
		return
	}
	for i, f := range o.inputs {
		if f.begun {
			continue
		}
		last := i == len(o.inputs)-1
		var before *folder
		if i > 0 {
			before = o.inputs[i-1]
		}
		if f.place < 0 {
			if p.source == nil {
				continue
			}
			f.begun = true
			p.source.buffer.Retain()
			o.done.Add(1)
			go p.foldSource(o, f, before, last, p.source)
			continue
		}
		if e := p.edges[f.place]; e != nil && !e.used {
			f.begun, e.used = true, true
			o.done.Add(1)
			go p.foldEdge(o, f, before, last, e)
		}
	}
}

// firstPiece tells when the first piece of the target is there. It holds a reference to buf.
func (o *output) firstPiece(buf *dataplane.Buffer) {
	defer buf.Release()
	sub := buf.Subscribe()
	defer sub.Close()
	for buf.Watermark() == 0 && !buf.Complete() {
		select {
		case <-o.ctx.Done():
			return
		case <-sub.C:
		}
	}
	o.place.env.send(o.place.self, rnode.PieceMade{Gen: o.gen})
}

// await returns how far the folder may go: as far as the one before it or, the
// first one in a window, as far as there is room. It waits until that is further
// than the folder is, or everything, and not longer than ctx.
func (o *output) await(ctx context.Context, f, before *folder) (int64, bool) {
	size := o.meta.Size
	var wake <-chan struct{}
	switch {
	case before != nil:
		wake = before.wake
	case o.sink.window != nil:
		wake = o.sink.window.Room()
	default:
		return size, true
	}
	for {
		at := int64(0)
		if before != nil {
			at = before.passed.Load()
		} else {
			at = o.sink.window.Granted()
		}
		if at > f.passed.Load() || at == size {
			return at, true
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return 0, false
		case <-o.ctx.Done():
			return 0, false
		}
	}
}

// at returns the memory of the bytes from lo on: up to hi, or less where a
// window's ring ends.
func (o *output) at(lo, hi int64) []byte {
	if o.space != nil {
		return o.space[lo:hi]
	}
	return o.sink.window.At(lo, hi)
}

// advance notes n more bytes of f, commits them if it is the last, and wakes
// the folder behind.
func (o *output) advance(f *folder, n int, last bool) {
	f.passed.Add(int64(n))
	if last {
		o.sink.commit(n)
		return
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// ended notes that an input is folded, and has passed all its checks. The output
// is made when all are.
func (o *output) ended() {
	if o.left.Add(-1) == 0 {
		o.place.tell(reduce.OutputDone{Gen: o.gen, Size: o.meta.Size, Digest: o.sink.digest()})
	}
}

// foldBlock is how much is combined at once: it stays in the cache.
const foldBlock = 128 << 10

// foldSource folds the place's own source. It holds a reference to the buffer of s.
func (p *place) foldSource(o *output, f, before *folder, last bool, s *placeSource) {
	buf := s.buffer
	defer o.done.Done()
	defer buf.Release()
	sub := buf.Subscribe()
	defer sub.Close()
	elem := o.meta.DType.Size()
	if o.meta.Size == 0 {
		o.advance(f, 0, last)
	}
	for f.passed.Load() < o.meta.Size {
		limit, ok := o.await(o.ctx, f, before)
		if !ok {
			return
		}
		at := f.passed.Load()
		end := min(limit, s.here(), at+foldBlock)
		end -= end % elem
		if end <= at {
			if buf.Err() != nil {
				return
			}
			select {
			case <-sub.C:
			case <-o.ctx.Done():
				return
			}
			continue
		}
		dst := o.at(at, end)
		src := buf.Bytes(at, at+int64(len(dst)))
		if before == nil {
			copy(dst, src)
		} else if err := o.apply(&f.call, dst, src); err != nil {
			p.env.send(p.self, opFailed{o, f.place, err})
			return
		}
		o.advance(f, len(dst), last)
	}
	o.ended()
}
