package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/node/owner"
	nput "github.com/phalanx-go/phalanx/node/put"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/transfer"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// Messages to a put.
type (
	putReady  struct{}                     // its room is reserved
	putFailed struct{ err *phalanx.Error } // the source failed, or the caller went away
	putFilled struct{ transfer.Filled }
	putLate   struct{} // the deadline
)

// put hosts a transfer.Creator.
type put struct {
	env  *Env
	req  storenode.Put
	done func(*storenode.PutDone)
	stop *stopper

	core    *transfer.Creator
	self    *actor.PID
	ctx     context.Context // of the actor's goroutines
	cancel  context.CancelFunc
	filler  sync.WaitGroup
	room    *handover[*dataplane.Buffer]
	buffer  *dataplane.Buffer // a reference of the put's own; nil before there is room, and at the end
	copy    *objectCopy       // the copy in the table; nil before Show
	timer   *time.Timer
	existed bool         // the owner had the same bytes inline
	why     phalanx.Kind // of the error that readers of a copy that does not stay get
	has     nput.Put
	over    bool // the caller has its answer
	// late has the core hear an answer by which the owner may list the bytes, if the actor has ended before.
	late   *handover[func()]
	detach func() bool // from the end of the node, which frees the bytes
}

// newPut returns the props of a Put. The Put calls done once; from then on nothing reads the
// caller's bytes. It never calls done if stop says that the caller has gone away before the
// Put could begin.
func newPut(env *Env, req storenode.Put, done func(*storenode.PutDone), stop *stopper) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		return &put{env: env, req: req, done: done, stop: stop, why: phalanx.ErrAborted}
	})
}

// Receive turns messages into events.
func (p *put) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		p.start(c)
	case *actor.Stopping, *actor.Restarting:
		err := &phalanx.Error{Node: p.env.Self, Kind: phalanx.ErrInternal, Err: errors.New("the put's actor failed")}
		if p.env.isClosing() {
			err = p.env.Ended()
		}
		p.withdraw(err)
		p.end(err)
	case putReady:
		if buf, ok := p.room.take(); ok && !p.over {
			p.buffer = buf
			p.do(transfer.Start{})
		}
	case putFilled:
		p.do(m.Filled)
	case putFailed:
		p.fail(m.err)
	case putLate:
		if p.buffer == nil {
			p.fail(p.env.lack(dataplane.Charge(p.req.Meta.Size)))
			return
		}
		node, why := p.core.Reason()
		p.fail(&phalanx.Error{Node: node, Kind: phalanx.ErrDeadline, Err: errors.New(why)})
	case actors.Crash:
		panic(m)
	case answered:
		p.existed = p.existed || m.existed
		p.do(m.Answered)
		p.late.take()
	case pushed:
		p.do(m.Pushed)
	case transfer.CreatorEvent:
		p.do(m)
	}
}

// start reserves room before the id is bound (specification 1.9).
func (p *put) start(c actor.Context) {
	p.self = c.Self()
	p.room = &handover[*dataplane.Buffer]{release: (*dataplane.Buffer).Release}
	p.late = &handover[func()]{release: func(hear func()) { hear() }}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.core = transfer.NewCreator(transfer.CreatorConfig{Self: p.env.Self, Object: p.req.Object, Meta: p.req.Meta,
		Copies: p.req.Copies, InlineLimit: p.env.InlineLimit, FirstNum: p.env.Directory.Nums(numsPerActor)})
	self, env, ctx, size := p.self, p.env, p.ctx, p.req.Meta.Size
	if !p.stop.begin(func(err *phalanx.Error) { env.send(self, putFailed{err}) }) {
		p.over = true
		env.System.Root.Stop(self)
		return
	}
	p.timer = time.AfterFunc(p.req.Deadline, func() { env.send(self, putLate{}) })
	if err := env.addPut(p.req.Object, self, p.req.WhileLeaving); err != nil {
		p.fail(err)
		return
	}
	if buf := env.Pool.TryBuffer(size); buf != nil {
		p.buffer = buf
		p.do(transfer.Start{})
		return
	}
	room, wait := p.room, p.req.MemoryWait
	if wait == 0 {
		wait = storenode.MemoryWait
	}
	go func() {
		buf, err := env.Pool.NewBufferWithin(ctx, size, wait)
		if err != nil {
			env.send(self, putFailed{env.noSpace(err)})
			return
		}
		room.give(buf)
		env.send(self, putReady{})
	}()
}

func (p *put) fail(err *phalanx.Error) { p.do(transfer.Stop{Err: err}) }

func (p *put) do(ev transfer.CreatorEvent) {
	for _, e := range p.core.Step(p.env.Now(), ev) {
		p.carryOut(e)
	}
	if p.over && p.core.Over() {
		p.env.System.Root.Stop(p.self)
	}
}

func (p *put) carryOut(e transfer.CreatorEffect) {
	m, ok := owner.OfPut(e, func() []byte { return append([]byte(nil), p.buffer.Bytes(0, p.buffer.Size())...) })
	switch {
	case ok && m.How == owner.Await:
		p.request(m.Num, m.Body)
		return
	case ok:
		p.env.message(p.req.Object, m)
		return
	}
	switch e := e.(type) {
	case transfer.Fill:
		p.buffer.Retain()
		p.filler.Add(1)
		if p.small() {
			p.env.fill(p.ctx, p.self, p.req, p.buffer, &p.filler)
			return
		}
		go p.env.fill(p.ctx, p.self, p.req, p.buffer, &p.filler)
	case transfer.Show:
		p.show(e.Gen)
	case transfer.Created:
		p.created(e)
	case transfer.NotCreated:
		if e.Err.Kind == phalanx.ErrDeleted {
			p.why = phalanx.ErrDeleted
		}
		p.finish(&storenode.PutDone{Err: e.Err})
	case transfer.Kept:
		p.keep(e.Gen, e.Meta, e.Digest)
	case transfer.Discard:
		p.discard()
	}
}

// small reports whether the bytes are so few that the actor copies them itself.
func (p *put) small() bool {
	return p.req.Reader == nil && len(p.req.Bytes) <= dataplane.PieceSize
}

func (p *put) request(num uint64, body directory.Body) {
	self, env, late := p.self, p.env, p.late
	p.has.Ask(body, env.Directory.Epoch(p.req.Object))
	env.Directory.Request(p.req.Object, num, body, func(from phalanx.NodeID, r directory.Result) {
		a := answered{Answered: owner.Answered(num, from, r), existed: r.Attached != ""}
		if nput.Lists(body) {
			late.give(func() { p.answeredLate(a.Answered) })
		}
		env.send(self, a)
	})
	env.Directory.Impatient(num, func(err *phalanx.Error) { env.send(self, putFailed{err}) })
}

func (p *put) show(gen phalanx.Generation) {
	if p.copy != nil {
		return
	}
	p.buffer.Retain()
	c, ok := p.env.Table.show(p.req.Object, gen, p.req.Meta, p.buffer, true)
	if !ok {
		p.buffer.Release()
		p.fail(&phalanx.Error{Kind: phalanx.ErrAborted, Err: errors.New("this node has a newer generation of it already")})
		return
	}
	p.copy = c
	p.has.Show()
	p.env.send(p.env.StorePID, ownShown{p.req.Object})
}

// fill copies the source into the buffer, beside the actor. It holds a
// reference.
func (e *Env) fill(ctx context.Context, self *actor.PID, req storenode.Put, buf *dataplane.Buffer, wg *sync.WaitGroup) {
	defer wg.Done()
	defer buf.Release()
	src := &source{ctx: ctx, req: req, first: func() { e.send(self, transfer.FirstPiece{}) }, buf: buf}
	n, err := src.copy()
	if err == nil && req.Meta.Size == phalanx.UnknownSize {
		whole := req.Meta // an array's type and shape must fit the size
		whole.Size = n
		err = whole.Validate()
	}
	if err == nil {
		err = buf.Finish(n)
	}
	if err != nil {
		var pe *phalanx.Error
		if !errors.As(err, &pe) {
			pe = &phalanx.Error{Kind: phalanx.ErrAborted, Err: fmt.Errorf("its source failed after %d bytes: %w", n, err)}
		} else if pe.Kind == phalanx.ErrNoSpace {
			pe = e.noSpace(pe)
		}
		e.send(self, putFailed{pe})
		return
	}
	digest, _ := buf.Digest()
	e.send(self, putFilled{transfer.Filled{Size: n, Digest: digest}})
}

// source reads the bytes of a Put until the context ends, and tells of the first piece.
type source struct {
	ctx   context.Context
	req   storenode.Put
	buf   *dataplane.Buffer
	first func()
	told  bool
}

func (s *source) copy() (int64, error) {
	if s.req.Reader != nil {
		return s.buf.ReadFrom(s)
	}
	const chunk = 256 << 10
	for at := 0; at < len(s.req.Bytes); at += chunk {
		if err := s.ctx.Err(); err != nil {
			return int64(at), err
		}
		if _, err := s.buf.Write(s.req.Bytes[at:min(at+chunk, len(s.req.Bytes))]); err != nil {
			return int64(at), err
		}
		s.tell()
	}
	return int64(len(s.req.Bytes)), nil
}

func (s *source) tell() {
	if !s.told && s.buf.Watermark() > 0 {
		s.told = true
		s.first()
	}
}

// Read reads from the application's reader, and looks at the context and for the first piece.
func (s *source) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	s.tell()
	n, err := s.read(b)
	if err == io.EOF && s.req.Meta.Size >= 0 && s.buf.Arrived()+int64(n) < s.req.Meta.Size {
		return n, fmt.Errorf("the reader ended after %d of %d bytes: %w", s.buf.Arrived()+int64(n), s.req.Meta.Size, io.ErrUnexpectedEOF)
	}
	return n, err
}

// read calls the application's reader. One that panics ends the Put, not the process.
func (s *source) read(b []byte) (n int, err error) {
	defer func() {
		if v := recover(); v != nil {
			n, err = 0, &phalanx.Error{Kind: phalanx.ErrInternal, Err: fmt.Errorf("the reader of its bytes panicked: %v", v)}
		}
	}()
	return s.req.Reader.Read(b)
}

// created keeps the copy and answers.
func (p *put) created(e transfer.Created) {
	p.keep(e.Gen, e.Meta, e.Digest)
	p.finish(&storenode.PutDone{Info: storenode.Info{Object: p.req.Object, Gen: e.Gen, Meta: e.Meta, Digest: e.Digest}, Existed: e.Existed || p.existed})
}

// keep makes the copy complete and pinned. A small one keeps its buffer too:
// to reserve room for it a second time could fail.
func (p *put) keep(gen phalanx.Generation, meta phalanx.Meta, digest phalanx.Digest) {
	switch p.has.Keep() {
	case nput.Enter:
		p.buffer.Retain()
		p.env.keep(supply{storenode.Info{Object: p.req.Object, Gen: gen, Meta: meta, Digest: digest}, p.buffer, p.has.Entry(meta.Size), p.req.Copies})
	case nput.Finish:
		p.env.Table.finish(p.copy, meta, digest, true)
		p.env.Table.keepCopies(p.req.Object, gen, p.req.Copies)
		if p.env.meanwhile(p.req.Object).Ends(gen) {
			p.env.Table.drop(p.copy, p.env.ended(copies.Aborted, gen))
			p.env.reportDrop(p.req.Object, gen)
		}
		p.env.dropChanged(p.copy)
		p.env.send(p.env.StorePID, ownShown{p.req.Object})
	}
}

func (p *put) discard() {
	if p.has.Drops() {
		p.env.Table.drop(p.copy, &dataplane.Ended{Reason: dataplane.Gone, Kind: p.why, Node: p.env.Self})
	}
}

// finish answers the caller, once nothing reads its bytes any more. The actor
// ends with its core.
func (p *put) finish(d *storenode.PutDone) {
	if p.over {
		return
	}
	p.over = true
	p.cancel()
	p.timer.Stop()
	d.Object = p.req.Object
	d.Err = withOp("put", p.req.Object, d.Err)
	done := p.done
	if p.req.Reader != nil || p.small() { // a read may block for as long as it likes
		done(d)
	} else {
		go func() { p.filler.Wait(); done(d) }()
	}
}

// withdraw has the owner release the binding of a put whose actor does not finish: other
// Puts of the object would wait for it.
func (p *put) withdraw(err *phalanx.Error) {
	for _, e := range p.core.Step(p.env.Now(), transfer.Stop{Err: err}) {
		p.carryOut(e)
	}
}

// end answers for an actor that did not finish, and frees the put's room and buffer. If the
// owner may list the bytes, they stay until it has answered, or the node ends: other nodes may
// have given up their copies since.
func (p *put) end(err *phalanx.Error) {
	p.finish(&storenode.PutDone{Err: err})
	p.room.close()
	if p.core.Over() || p.env.isClosing() {
		p.free()
	} else {
		p.detach = context.AfterFunc(p.env.lifetime().ctx, func() { p.late.give(p.free) })
	}
	p.late.close()
}

// answeredLate hears the owner's answer after the actor has ended. When the node has ended too, the
// bytes are given back already, or soon.
func (p *put) answeredLate(a transfer.Answered) {
	if p.env.isClosing() {
		return
	}
	for _, e := range p.core.Step(p.env.Now(), a) {
		p.carryOut(e)
	}
	if p.core.Over() {
		p.free()
	}
}

// free gives the buffer back. A copy that is kept stays in the table.
func (p *put) free() {
	p.discard()
	if p.buffer != nil {
		p.buffer.Release()
		p.buffer = nil
	}
	if p.detach != nil {
		p.detach()
	}
	p.env.removePut(p.req.Object, p.self)
}
