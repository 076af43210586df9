package store

import (
	"context"
	"fmt"

	"github.com/phalanx-go/phalanx"
	rnode "github.com/phalanx-go/phalanx/node/reduce"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// placeSource is the source of a place: a copy on this node, pinned while it is
// read.
type placeSource struct {
	id     phalanx.ObjectID
	gen    phalanx.Generation
	buffer *dataplane.Buffer // the copy's own; or one of the place's, with the inline bytes
	copy   *objectCopy       // retained
	cancel context.CancelFunc
}

// here returns how many bytes can be combined. The bytes of another node's copy have to pass
// their check first: the result would contain a bad piece. This node's own need no check.
func (s *placeSource) here() int64 {
	if s.copy.Origin {
		return s.buffer.Arrived()
	}
	return s.buffer.Watermark()
}

// openSource pins the copy and reports how it comes along.
func (p *place) openSource(o reduce.OpenSource) {
	p.closeSource()
	fail := func(format string, args ...any) {
		p.tell(reduce.SourceFailed{Gen: o.Gen, Text: fmt.Sprintf(format, args...)})
	}
	buf, c, err := p.env.sourceBuffer(o.Source, o.Gen)
	if err != nil {
		fail("%v", err)
		return
	}
	ctx, cancel := context.WithCancel(p.ctx)
	p.source = &placeSource{id: o.Source, gen: o.Gen, buffer: buf, copy: c, cancel: cancel}
	buf.Retain()
	go p.watchSource(ctx, buf, o.Gen)
	p.fold()
}

// sourceBuffer retains this node's copy of a source and returns its bytes.
func (e *Env) sourceBuffer(id phalanx.ObjectID, gen phalanx.Generation) (*dataplane.Buffer, *objectCopy, error) {
	c, err := e.retainSource(id, gen)
	if err != nil {
		return nil, nil, err
	}
	if c.buffer != nil {
		return c.buffer, c, nil
	}
	buf, err := e.Pool.NewBufferWithin(context.Background(), int64(len(c.inline)), 0) // the place cannot wait
	if err != nil {
		e.Table.release(c)
		out := e.noSpace(err)
		out.Object = id
		return nil, nil, out
	}
	if _, err := buf.Write(c.inline); err != nil {
		e.Table.release(c)
		buf.Release()
		return nil, nil, err
	}
	return buf, c, nil
}

// retainSource looks the copy up and retains it in one go, so that it is not
// evicted between the two.
func (e *Env) retainSource(id phalanx.ObjectID, gen phalanx.Generation) (*objectCopy, error) {
	e.Table.mu.Lock()
	defer e.Table.mu.Unlock()
	c, has := copyOf(e.Table.core.Of(id)), phalanx.Generation{}
	if c != nil {
		has = c.Gen
	}
	if err := rnode.CheckSource(has, gen); err != nil {
		err.Object, err.Node = id, e.Self
		return nil, err
	}
	e.Table.useLocked(c)
	return c, nil
}

// watchSource tells the core of new bytes, of the end, of failure. It holds a
// reference.
func (p *place) watchSource(ctx context.Context, buf *dataplane.Buffer, gen phalanx.Generation) {
	defer buf.Release()
	sub := buf.Subscribe()
	defer sub.Close()
	for source := (rnode.Source{Gen: gen, Every: 1 << 20}); ; {
		if ev := source.Sees(buf.Watermark(), buf.Complete(), buf.Err()); ev != nil {
			p.tell(ev)
		}
		if source.Over() {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-sub.C:
		}
	}
}

func (p *place) closeSource() {
	s := p.source
	if s == nil {
		return
	}
	p.source = nil
	s.cancel()
	if s.buffer != s.copy.buffer {
		s.buffer.Release()
	}
	p.env.Table.release(s.copy)
}
