package keeper

import (
	"errors"
	"io"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/node/ledger"
	core "github.com/phalanx-go/phalanx/protocol/ledger"
)

var errRestarted = errors.New("the receiving node's keeper ends")

// incoming is a snapshot that another node sends.
type incoming struct {
	stream, id uint64 // the sender's number, and the disk's
	next       uint64 // the part that comes next
	parts      chan part
	rows       *io.PipeWriter
}

type part struct {
	*messages.LedgerRows
	sender *actor.PID
}

// received says that a snapshot is complete, or why not.
type received struct {
	life uint64
	in   *incoming
	part part // the last
	err  error
}

// abort ends it.
func (in *incoming) abort(err error) { _ = in.rows.CloseWithError(err) }

// take takes a part of a snapshot.
func (a *instance) take(c actor.Context, m *messages.LedgerRows) {
	refuse := func(why string) { a.answerPart(part{m, c.Sender()}, why) }
	in := a.incoming[m.GetStream()]
	if in == nil && m.GetPart() == 0 {
		if len(a.incoming) >= durable.MaxStreams || a.k.settings.Store == nil || a.core == nil || a.halted {
			refuse(durable.ErrBusy.Error())
			return
		}
		in = a.receive(m)
	}
	if in == nil || in.next != m.GetPart() {
		refuse("the part does not follow the one before")
		return
	}
	in.next++
	select {
	case in.parts <- part{m, c.Sender()}:
	default:
		refuse("the part before was not answered yet")
	}
}

// receive begins to receive a snapshot.
func (a *instance) receive(m *messages.LedgerRows) *incoming {
	a.k.mu.Lock()
	a.k.stream++
	in := &incoming{stream: m.GetStream(), id: a.k.stream, parts: make(chan part, 1)}
	a.k.mu.Unlock()
	rows, to := io.Pipe()
	in.rows = to
	a.incoming[in.stream] = in
	result := make(chan error, 1)
	a.k.beside("receive a snapshot", func() {
		err := a.k.settings.Store.Receive(in.id, rows)
		if err == nil {
			err = io.EOF // nothing more is read
		}
		_ = rows.CloseWithError(err)
		result <- err
	})
	a.k.beside("write a snapshot", func() {
		last, err := a.copyParts(in)
		_ = to.CloseWithError(err) // nil: the end of the rows
		if e := <-result; err == nil && !errors.Is(e, io.EOF) {
			err = e
		}
		a.node.System().Root.Send(a.self, received{a.life, in, last, err})
	})
	return in
}

// copyParts writes the rows of parts to the disk until the last part, which it returns.
func (a *instance) copyParts(in *incoming) (part, error) {
	timer := time.NewTimer(partTakes)
	defer timer.Stop()
	for {
		timer.Reset(partTakes)
		select {
		case p := <-in.parts:
			if _, err := in.rows.Write(p.GetRows()); err != nil && len(p.GetRows()) > 0 {
				return p, err
			}
			if p.GetLast() {
				return p, nil
			}
			a.answerPart(p, "")
		case <-timer.C:
			return part{}, errors.New("the next part of the snapshot does not come")
		case <-a.k.ctx.Done():
			return part{}, durable.ErrClosed
		}
	}
}

// received gives the core a snapshot.
func (a *instance) received(c actor.Context, m received) {
	if a.incoming[m.in.stream] == m.in {
		delete(a.incoming, m.in.stream)
	}
	if m.err == nil && m.life != a.life {
		a.drop(m.in.id)
		m.err = errRestarted
	}
	if m.err != nil {
		if m.part.LedgerRows != nil {
			a.answerPart(m.part, m.err.Error())
		}
		return
	}
	a.answerPart(m.part, "")
	a.step(c, ledger.ForReplica{Event: core.SnapshotArrived{From: m.part.GetFrom(), Data: m.part.GetData(), Stream: m.in.id}})
}

// answerPart answers a part of a snapshot.
func (a *instance) answerPart(p part, refused string) {
	if p.sender != nil {
		a.node.System().Root.Send(p.sender, &messages.LedgerRowsTaken{Stream: p.GetStream(), Refused: refused})
	}
}
