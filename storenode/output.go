package storenode

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// output is what a place makes of its inputs. Each input is folded in by a
// goroutine of its own as far as the inputs before it have come, so that the
// inputs that are there are worked off while others are missing:
//
//	input 0 ──copy──▶ buffer ◀──fold── input 1 ◀──behind── input 2 …
//
// What the last input has passed is committed, and can be read.
type output struct {
	gen    reduce.PlaceGen
	op     phalanx.Op
	meta   phalanx.Meta
	room   *handover[*dataplane.Buffer]
	buffer *dataplane.Buffer
	shared bool // the buffer is the source's own
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup
	place  *place

	space  []byte // of the whole buffer; only folders write it
	inputs []*folder
	first  sync.Once
}

// folder folds one input into an output.
type folder struct {
	order  int
	place  int // of the child; -1 is the source
	passed atomic.Int64
	wake   chan struct{} // of the folder behind this one, capacity 1
	begun  bool
}

func (p *place) resetOutput() {
	p.hub.hide(p.key)
	if p.root != nil {
		p.env.Table.drop(p.root, &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrReset, Node: p.env.Self})
		p.root = nil
	}
	if p.out != nil {
		p.out.close(false)
		p.out = nil
	}
}

// close ends the folding and gives the buffer up: it fails for its readers,
// unless it is to be kept as the target.
func (o *output) close(keep bool) {
	o.cancel()
	o.room.close()
	buf := o.buffer
	if buf == nil {
		return
	}
	if !o.shared && !keep {
		buf.Fail(&dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrAborted, Node: o.place.env.Self})
	}
	go func() { o.done.Wait(); buf.Release() }()
}

// combine starts the output, or adds what is known by now of its inputs.
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
		p.resetOutput()
	}
	ctx, cancel := context.WithCancel(p.ctx)
	o := &output{gen: cb.Gen, op: cb.Op, meta: cb.Meta, ctx: ctx, cancel: cancel, place: p,
		room: &handover[*dataplane.Buffer]{release: (*dataplane.Buffer).Release}}
	p.out = o
	// Who reads it is told only after this: ask the core whether it is the root.
	if len(cb.Inputs) == 1 && cb.Inputs[0].Self && !p.core.State().Root && p.source != nil {
		// A leaf: the output is the source itself.
		o.shared, o.buffer = true, p.source.buffer
		o.buffer.Retain()
		p.show()
		return
	}
	self, env, size := p.self, p.env, cb.Meta.Size
	if buf := env.Pool.TryBuffer(size); buf != nil {
		o.room.give(buf)
		p.room(outputRoom{output: o})
		return
	}
	go func() {
		buf, err := env.Pool.NewBuffer(ctx, size)
		if err == nil {
			o.room.give(buf)
		}
		env.send(self, outputRoom{o, err})
	}()
}

// room takes the buffer of an output.
func (p *place) room(r outputRoom) {
	o := r.output
	buf, ok := o.room.take()
	switch {
	case !ok && r.err != nil && p.out == o && p.source != nil:
		p.tell(reduce.SourceFailed{Gen: p.source.gen, Text: r.err.Error()})
		return
	case !ok:
		return
	}
	o.buffer = buf
	o.space = o.buffer.Space(int(o.meta.Size))
	p.show()
	p.fold()
}

// fold starts the folders whose input is known, in order.
func (p *place) fold() {
	o := p.out
	if o == nil || o.buffer == nil || o.shared {
		return
	}
	if p.serving.Root {
		o.tellFirst()
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
			go p.foldSource(o, f, before, last, p.source.buffer, p.source.gen)
			continue
		}
		if e := p.edges[f.place]; e != nil && !e.used {
			f.begun, e.used = true, true
			o.done.Add(1)
			go p.foldEdge(o, f, before, last, e)
		}
	}
}

// tellFirst announces the target once its first piece is there.
func (o *output) tellFirst() {
	p := o.place
	if p.root == nil || o.buffer == nil {
		return
	}
	root := p.root
	o.first.Do(func() {
		buf := o.buffer
		buf.Retain()
		go func() {
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
			p.env.Table.begun(root)
			p.announce(directory.Announce{Gen: root.gen, Origin: true, Begun: true})
		}()
	})
}

// await returns how far the folder may go: as far as the one before it.
func (o *output) await(f, before *folder) (int64, bool) {
	if before == nil {
		return o.meta.Size, true
	}
	for {
		if at := before.passed.Load(); at > f.passed.Load() || at == o.meta.Size {
			return at, true
		}
		select {
		case <-before.wake:
		case <-o.ctx.Done():
			return 0, false
		}
	}
}

// advance notes n more bytes of f, commits them if it is the last, and wakes
// the folder behind.
func (o *output) advance(f *folder, n int, last bool) {
	at := f.passed.Add(int64(n))
	if last {
		o.buffer.Commit(n)
		if at == o.meta.Size {
			digest, _ := o.buffer.Digest()
			o.place.tell(reduce.OutputDone{Gen: o.gen, Size: at, Digest: digest})
		}
		return
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// foldBlock is how much is combined at once: it stays in the cache.
const foldBlock = 128 << 10

// foldSource folds the place's own source. It holds a reference to buf.
func (p *place) foldSource(o *output, f, before *folder, last bool, buf *dataplane.Buffer, gen phalanx.Generation) {
	defer o.done.Done()
	defer buf.Release()
	sub := buf.Subscribe()
	defer sub.Close()
	elem := o.meta.DType.Size()
	if o.meta.Size == 0 {
		o.advance(f, 0, last)
	}
	for f.passed.Load() < o.meta.Size {
		limit, ok := o.await(f, before)
		if !ok {
			return
		}
		at := f.passed.Load()
		end := min(limit, buf.Arrived(), at+foldBlock)
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
		src := buf.Bytes(at, end)
		if before == nil {
			copy(o.space[at:end], src)
		} else if err := p.hub.ops.Combine(o.op, o.meta.DType, o.space[at:end], src); err != nil {
			p.tell(reduce.SourceFailed{Gen: gen, Text: err.Error()})
			return
		}
		o.advance(f, int(end-at), last)
	}
}
