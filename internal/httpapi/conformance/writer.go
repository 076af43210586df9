package conformance

import (
	"context"
	"io"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/storenode"
)

// writer is a Put whose bytes the test writes one after another.
type writer struct {
	b    *bed
	id   phalanx.ObjectID
	to   *io.PipeWriter
	done chan outcome
}

// begin begins a Put of id.
func (b *bed) begin(ctx context.Context, id phalanx.ObjectID, size int64) *writer {
	from, to := io.Pipe()
	b.Cleanup(func() { from.Close() })
	w := &writer{b, id, to, make(chan outcome, 1)}
	go func() {
		info, existed, err := b.node.Put(ctx, id, from, phalanx.Meta{Size: size}, httpapi.Putting{})
		w.done <- outcome{info, existed, err}
	}()
	return w
}

// begun begins a Put of id and returns once readers find its first bytes.
func (b *bed) begun(ctx context.Context, id phalanx.ObjectID, size int64, first string) *writer {
	b.Helper()
	w := b.begin(ctx, id, size)
	w.write(first)
	s, err := b.node.Open(b.ctx, id, true)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if _, err := io.ReadFull(s, make([]byte, 1)); err != nil {
		b.Fatal(err)
	}
	return w
}

// announced waits until the directory knows who writes id, which a reader at the
// same node does not wait for.
func (b *bed) announced(id phalanx.ObjectID) storenode.ObjectStat {
	b.Helper()
	for {
		st, err := b.node.Stat(b.ctx, id)
		if err != nil {
			b.Fatal(err)
		}
		if len(st.Holders) > 0 {
			return st
		}
	}
}

// write returns once the node has read data.
func (w *writer) write(data string) {
	w.b.Helper()
	if err := w.b.ends("reading the bytes of "+string(w.id), func() error { _, err := io.WriteString(w.to, data); return err }); err != nil {
		w.b.Fatal(err)
	}
}

// close ends the bytes and returns the Put's result.
func (w *writer) close() outcome {
	w.b.Helper()
	w.to.Close()
	return w.result()
}

// abort has the reader of the Put fail with err.
func (w *writer) abort(err error) outcome {
	w.b.Helper()
	w.to.CloseWithError(err)
	return w.result()
}

// result returns the Put's result.
func (w *writer) result() outcome {
	w.b.Helper()
	return returns(w.b, "the put of "+string(w.id), w.done)
}
