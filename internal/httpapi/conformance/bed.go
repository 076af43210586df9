package conformance

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/storenode"
)

const (
	// patience bounds every call that should end by itself.
	patience = 20 * time.Second
	// moment is the deadline of a call that waits in vain.
	moment = 50 * time.Millisecond
	// large is the size of an object whose bytes a real node shows before it is final,
	// and which the directory does not hold inline.
	large = 2 << 20
)

// bed is a node and the test that uses it.
type bed struct {
	*testing.T
	node  httpapi.Node
	start Start
	ctx   context.Context // ends after patience
}

func newBed(t *testing.T, n httpapi.Node, start Start) *bed {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return &bed{t, n, start, ctx}
}

// shortly returns a context that ends after a moment.
func (b *bed) shortly() context.Context {
	ctx, cancel := context.WithTimeout(b.ctx, moment)
	b.Cleanup(cancel)
	return ctx
}

// failed checks that err is a *phalanx.Error of kind about id, of the call op.
func (b *bed) failed(err error, op string, id phalanx.ObjectID, kind phalanx.Kind) {
	b.Helper()
	var e *phalanx.Error
	switch {
	case err == nil:
		b.Errorf("%s %q: no error, want %q", op, id, kind)
	case !errors.As(err, &e):
		b.Errorf("%s %q: %T %v, want a *phalanx.Error", op, id, err, err)
	case e.Kind != kind || e.Op != op || e.Object != id:
		b.Errorf("%s %q: %s %q: kind %q (%v), want kind %q", op, id, e.Op, e.Object, e.Kind, err, kind)
	case kind == phalanx.ErrDeadline && !errors.Is(err, context.DeadlineExceeded), kind == phalanx.ErrCanceled && !errors.Is(err, context.Canceled):
		b.Errorf("%v is not the context's error", err)
	}
}

// returns waits for the result of a call that another goroutine makes.
func returns[T any](b *bed, what string, ch <-chan T) T {
	b.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case v := <-ch:
		return v
	case <-late.C:
		b.Fatalf("%s has not ended after %v", what, patience)
		panic("not reached")
	}
}

// ends runs a call and fails if it does not end.
func (b *bed) ends(what string, call func() error) error {
	b.Helper()
	ch := make(chan error, 1)
	go func() { ch <- call() }()
	return returns(b, what, ch)
}

// outcome is what a Put returns.
type outcome struct {
	info    storenode.Info
	existed bool
	err     error
}

// try puts data under id with its size.
func (b *bed) try(id phalanx.ObjectID, data string) outcome {
	b.Helper()
	info, existed, err := b.node.Put(b.ctx, id, strings.NewReader(data), phalanx.Meta{Size: int64(len(data))}, httpapi.Putting{})
	return outcome{info, existed, err}
}

// put puts data under id, which must be new.
func (b *bed) put(id phalanx.ObjectID, data string) storenode.Info {
	b.Helper()
	o := b.try(id, data)
	if o.err != nil || o.existed {
		b.Fatalf("put %q: existed %t, %v", id, o.existed, o.err)
	}
	return o.info
}

// open opens an object that has begun.
func (b *bed) open(ctx context.Context, id phalanx.ObjectID) httpapi.Stream {
	b.Helper()
	s, err := b.node.Open(ctx, id, false)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// read returns the bytes of an object.
func (b *bed) read(id phalanx.ObjectID) string {
	b.Helper()
	s := b.open(b.ctx, id)
	defer s.Close()
	data, err := io.ReadAll(s)
	if err != nil {
		b.Fatal(err)
	}
	return string(data)
}

// holds checks the bytes of an object, without printing long ones.
func (b *bed) holds(id phalanx.ObjectID, want string) {
	b.Helper()
	if got := b.read(id); got != want {
		b.Errorf("%q has other %d bytes than the %d that were put", id, len(got), len(want))
	}
}

// absent checks that nobody finds id.
func (b *bed) absent(id phalanx.ObjectID) {
	b.Helper()
	_, err := b.node.Open(b.ctx, id, false)
	b.failed(err, "open", id, phalanx.ErrNotFound)
}

// vanishes waits until nobody finds id, whose Put has failed. A real node answers the Put
// before the directory knows, so that a reader may still find the object for a moment.
func (b *bed) vanishes(id phalanx.ObjectID) {
	b.Helper()
	for {
		s, err := b.node.Open(b.ctx, id, false)
		if err != nil {
			b.failed(err, "open", id, phalanx.ErrNotFound)
			return
		}
		if _, err := s.WriteTo(io.Discard); err == nil {
			b.Fatalf("%q is whole although its put has failed", id)
		}
		s.Close()
	}
}

// pattern returns n bytes that differ from place to place.
func pattern(n int) string {
	var s strings.Builder
	for i := range n {
		s.WriteByte(byte(i ^ i>>8 ^ i>>16))
	}
	return s.String()
}
