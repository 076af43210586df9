package store

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
)

// counting is a mute directory that counts its requests.
type counting struct {
	mute
	asked *atomic.Int32
}

func (c counting) Request(phalanx.ObjectID, uint64, directory.Body, func(phalanx.NodeID, directory.Result)) {
	c.asked.Add(1)
}

type readOnce struct{ read *atomic.Int32 }

func (r readOnce) Read([]byte) (int, error) {
	r.read.Add(1)
	return 0, io.EOF
}

// A Put that the store does not take up ends nevertheless, with its deadline or with its
// caller. From then on nothing reads the caller's bytes, and the Put binds nothing.
func TestPutThatCannotBegin(t *testing.T) {
	for _, kind := range []phalanx.Kind{phalanx.ErrDeadline, phalanx.ErrCanceled, phalanx.ErrFenced} {
		var asked, read atomic.Int32
		e := alone(t)
		e.Directory = counting{asked: &asked}
		held := make(chan any, 1)
		e.StorePID = e.System.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) { // the store hangs
			if m, ok := c.Message().(putCall); ok {
				held <- m
			}
		}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if kind == phalanx.ErrDeadline {
			ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		}
		over := make(chan error, 1)
		go func() {
			_, _, err := e.Put(ctx, storenode.Put{Object: "x", Reader: readOnce{&read}, Meta: phalanx.Meta{Size: 10}})
			over <- err
		}()
		var m any
		select {
		case m = <-held:
		case err := <-over:
			t.Fatalf("%v: it ended with %v before the store had it", kind, err)
		}
		switch kind {
		case phalanx.ErrCanceled:
			cancel()
		case phalanx.ErrFenced:
			e.Fence()
			e.lifetime().cancel()
		}
		select {
		case err := <-over:
			if !errors.Is(err, kind) {
				t.Errorf("it ended with %v, want %v", err, kind)
			}
		case <-time.After(time.Minute):
			t.Errorf("%v: it still waits", kind)
		}
		cancel()
		late := e.System.Root.Spawn(NewStore(e)) // it goes on
		e.System.Root.Send(late, m)
		_ = e.System.Root.PoisonFuture(late).Wait()
		_ = e.System.Root.StopFuture(e.System.NewLocalPID("put-1")).Wait()
		if a, r := asked.Load(), read.Load(); a > 0 || r > 0 {
			t.Errorf("%v: the directory was asked %d times, the source was read %d times", kind, a, r)
		}
		e.Close()
	}
}
