package store

import (
	"context"
	"errors"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/transfer"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

func (f *fetcher) reserve(bytes int64) {
	self, env, ctx := f.self, f.env, f.ctx
	if bytes == phalanx.UnknownSize && f.copy != nil {
		buf := f.copy.buffer
		buf.Retain()
		f.lacks = growStep
		ctx, f.growing = context.WithCancel(ctx)
		f.write(func() {
			defer buf.Release()
			env.sendReserved(self, bytes, buf.Grow(ctx, growStep))
		})
		return
	}
	charge := f.needs.Wait(bytes, dataplane.Charge(bytes))
	if charge == 0 {
		env.sendReserved(self, bytes, nil)
		return
	}
	f.awaitRoom(charge, func(err error) { env.sendReserved(self, bytes, err) })
}

// awaitRoom waits for room beside the actor, and tells the actor how that ended. A copy that is to
// be kept for others waits also until something is deleted.
func (f *fetcher) awaitRoom(charge int64, tell func(error)) {
	f.lacks = charge
	f.unreserve()
	ctx, room, wait := f.ctx, f.room, f.env.Pool.Budget().ReserveIfPossible
	if f.arrival.pins() {
		wait = f.env.Pool.Budget().Reserve
	}
	go func() {
		err := wait(ctx, charge)
		if err == nil {
			room.give(charge)
		}
		tell(err)
	}()
}

// takeRoom takes the room of the reservation that had to wait, if it got some.
func (f *fetcher) takeRoom() {
	if charge, ok := f.room.take(); ok {
		f.unreserve()
		f.reserved = charge
	}
}

// roomReserved tells that there is room for bytes of the object.
type roomReserved struct{ bytes int64 }

func (e *Env) sendReserved(to *actor.PID, bytes int64, err error) {
	if err != nil {
		e.send(to, transfer.NoRoom{Err: e.noSpace(err)})
		return
	}
	e.send(to, roomReserved{bytes})
}

// noSpace returns the error of a reservation as this node's.
func (e *Env) noSpace(err error) *phalanx.Error {
	out := phalanx.Error{Kind: phalanx.ErrNoSpace, Err: err}
	var pe *phalanx.Error
	if errors.As(err, &pe) {
		out = *pe
	}
	out.Node = e.Self
	return &out
}

// lack is the error of a call whose deadline passed as it waited for n bytes.
func (e *Env) lack(n int64) *phalanx.Error {
	return e.noSpace(e.Pool.Budget().Lack(n, context.DeadlineExceeded))
}
