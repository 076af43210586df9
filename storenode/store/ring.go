package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
	rnode "github.com/phalanx-go/phalanx/node/reduce"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// A place of a ring makes the whole target, as every other place does. The root announces its
// target as the result of the reduce. The targets of the other places are copies, which the
// owner lists once the target is final.

// turning is the state of an output that only rings need.
type turning struct {
	places int
	result *dataplane.Buffer // to be the target: by room, and then held by the sink
	pulled bool              // the place has read the stream of the place before, which comes once
	came   chan struct{}     // closed when everything of it came
	went   chan struct{}     // closed when the place behind has everything
	call   opCall
	failed *opFailed // set by the goroutine that takes the stream
}

func newTurning(places int) *turning {
	return &turning{places: places, came: make(chan struct{}), went: make(chan struct{})}
}

// turn begins the ring once there are the source and room for the target, and then the stream
// of the place before.
func (p *place) turn() {
	o := p.out
	if o.sink.isZero() {
		s := p.source
		if s == nil || o.turning.result == nil || !s.buffer.Complete() {
			return
		}
		if s.buffer.Size() != o.meta.Size {
			p.tell(reduce.SourceFailed{Gen: s.gen, Text: fmt.Sprintf("the source has %d bytes, not %d", s.buffer.Size(), o.meta.Size)})
			return
		}
		s.buffer.Retain()
		o.sink.ring = dataplane.NewRing(s.buffer, o.turning.result, p.key.Place, o.turning.places, func(dst, src []byte) error {
			err := o.apply(&o.turning.call, dst, src)
			if err != nil {
				o.turning.failed = &opFailed{o, -1, err}
			}
			return err
		})
		p.happens(rnode.Roomy{Gen: o.gen})
	}
	for _, e := range p.edges {
		if !e.used {
			e.used = true
			o.done.Add(1)
			go p.pullRing(o, e)
		}
	}
}

// pullRing takes the stream of the place before.
func (p *place) pullRing(o *output, e *edge) {
	defer o.done.Done()
	defer close(e.finished)
	err := whileBusy(e.ctx, o.ctx, func() error { return p.circulate(o, e) })
	if e.ctx.Err() != nil || o.ctx.Err() != nil {
		return
	}
	if failed := o.turning.failed; failed != nil {
		p.env.send(p.self, *failed)
		return
	}
	end := reduce.EdgeEnded{Child: e.open.Place, Gen: e.open.Gen, Stream: e.open.Stream, Complete: err == nil}
	if err != nil {
		end.Text = err.Error()
		p.tell(end)
		return
	}
	close(o.turning.came)
	digest, _ := o.turning.result.Digest()
	p.tell(end)
	p.tell(reduce.OutputDone{Gen: o.gen, Size: o.meta.Size, Digest: digest})
}

func (p *place) circulate(o *output, e *edge) error {
	if o.turning.pulled {
		return errors.New("the ring cannot take its earlier bytes again")
	}
	s, closed, err := p.streamOf(o, e, 0)
	if err != nil {
		return err
	}
	defer closed()
	end := s.ReceiveRing(o.sink.ring, dataplane.Progress{})
	o.turning.pulled = end.Reason != dataplane.Busy // which comes before the first byte
	if end.Reason != dataplane.Complete {
		return end
	}
	return nil
}

// keepRing has a place whose target is final go on by itself: until it has the whole target,
// its copy, and the place behind has the bytes for its own.
func (p *place) keepRing() {
	o, c, cancel, edges, pinned := p.out, p.root, p.cancel, p.edges, p.core.State().Root
	key, env, hub := p.key, p.env, p.hub
	p.out, p.root, p.cancel, p.edges = nil, nil, func() {}, map[int]*edge{}
	p.kept = true
	p.closeSource()
	var over <-chan struct{} // of the one stream
	for _, e := range edges {
		over = e.finished
	}
	go func() {
		defer cancel()
		came, went, at := o.turning.came, o.turning.went, rnode.Circled{Moved: o.sink.ring.Moved()}
		for alone := rnode.NewAlone(env.Now(), at); !alone.Over(env.Now(), at); at.Moved = o.sink.ring.Moved() {
			look := time.NewTimer(alone.Due() - env.Now())
			select {
			case <-came:
				came, at.Whole = nil, true
				if c == nil {
					break
				}
				digest, _ := o.turning.result.Digest()
				if env.Table.retain(c) { // the place behind reads from it until it has everything
					defer env.Table.release(c)
				}
				env.keepOrigin(c, o.meta, digest, pinned)
			case <-went:
				went, at.Given = nil, true
			case <-over:
				over, at.Broke = nil, !isClosed(o.turning.came)
			case <-look.C:
			}
			look.Stop()
		}
		if c != nil && !at.Whole {
			env.Table.drop(c, &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrAborted, Node: env.Self})
		}
		hub.hideOutput(key, o)
		for _, e := range edges {
			e.cancel()
		}
		o.close(false)
	}()
}
