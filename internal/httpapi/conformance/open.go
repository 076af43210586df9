package conformance

import (
	"context"
	"errors"
	"sync"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

var opens = []check{
	{"absent", func(b *bed) { b.absent("a") }},
	{"absent until the deadline", func(b *bed) {
		b.failed(b.ends("open", func() error { _, err := b.node.Open(b.shortly(), "a", true); return err }), "open", "a", phalanx.ErrDeadline)
		b.absent("a") // to wait for it has announced nothing
		_, err := b.node.Stat(b.ctx, "a")
		b.failed(err, "stat", "a", phalanx.ErrNotFound)
	}},
	{"absent until the caller goes away", func(b *bed) {
		ctx, cancel := context.WithCancel(b.ctx)
		defer cancel()
		waits, result := b.opening(ctx, "a")
		<-waits
		cancel()
		b.failed(returns(b, "open", result).err, "open", "a", phalanx.ErrCanceled)
	}},
	{"the context says why it has ended", func(b *bed) {
		ctx, cancel := context.WithCancelCause(b.ctx)
		waits, result := b.opening(ctx, "a")
		<-waits
		cancel(&phalanx.Error{Op: "other", Object: "other", Kind: phalanx.ErrLost, Err: errors.New("it is gone")})
		b.failed(returns(b, "open", result).err, "open", "a", phalanx.ErrLost)
	}},
	{"put later", func(b *bed) { b.opensLater("bytes") }},
	{"put later, empty", func(b *bed) { b.opensLater("") }},
	{"put later, large", func(b *bed) { b.opensLater(pattern(large)) }},
	{"begun", func(b *bed) {
		data := pattern(large)
		w := b.begun(b.ctx, "a", large, data[:large/2])
		s := b.open(b.ctx, "a") // without waiting
		if i := s.Info(); i.Object != "a" || i.Meta.Size != large || !i.Digest.IsZero() || i.Gen.IsZero() {
			b.Errorf("%+v", i)
		}
		w.write(data[large/2:])
		w.close()
	}},
}

// opened is what an Open returns.
type opened struct {
	stream httpapi.Stream
	err    error
}

// opening opens id and waits for it. The first channel is closed when the node watches the
// context of the call.
func (b *bed) opening(ctx context.Context, id phalanx.ObjectID) (<-chan struct{}, <-chan opened) {
	watched := &watched{Context: ctx, seen: make(chan struct{})}
	result := make(chan opened, 1)
	go func() {
		s, err := b.node.Open(watched, id, true)
		result <- opened{s, err}
	}()
	return watched.seen, result
}

// watched is a context that tells when somebody waits for its end.
type watched struct {
	context.Context
	once sync.Once
	seen chan struct{}
}

// Done tells that somebody waits.
func (w *watched) Done() <-chan struct{} {
	w.once.Do(func() { close(w.seen) })
	return w.Context.Done()
}

// opensLater checks that an Open of "a" gets data that is put after it has begun.
func (b *bed) opensLater(data string) {
	b.Helper()
	waits, result := b.opening(b.ctx, "a")
	<-waits
	b.put("a", data)
	o := returns(b, "open", result)
	if o.err != nil {
		b.Fatal(o.err)
	}
	defer o.stream.Close()
	if got := b.rest(o.stream); got.err != nil || got.data != data {
		b.Errorf("%d bytes of %d, %v", len(got.data), len(data), got.err)
	}
}
