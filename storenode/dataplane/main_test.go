package dataplane

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"github.com/phalanx-go/phalanx"
)

func TestMain(m *testing.M) {
	if parent := os.Getenv(childEnv); parent != "" {
		if err := child(parent); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// deadline returns a context that fails a test that hangs.
func deadline(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func quiet() *logrus.Logger {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return l
}

// town is some nodes in one process that can look each other up.
type town struct {
	mu    sync.Mutex
	addrs map[phalanx.NodeID]string
}

func (w *town) lookup(n phalanx.NodeID) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a, ok := w.addrs[n]
	return a, ok
}

func (w *town) set(n phalanx.NodeID, addr string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.addrs == nil {
		w.addrs = map[phalanx.NodeID]string{}
	}
	w.addrs[n] = addr
}

// node starts a node that ends with the test.
func (w *town) node(t testing.TB, id phalanx.NodeID, set func(*Config)) *Conns {
	t.Helper()
	cfg := Config{Self: id, Cluster: "test", Lookup: w.lookup, Logger: quiet()}
	if set != nil {
		set(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	w.set(id, c.Addr().String())
	return c
}

// random returns n bytes that are the same in every run.
func random(n int) []byte {
	p := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(p)
	return p
}

func buffer(t testing.TB, p *Pool, size int64) *Buffer {
	t.Helper()
	b, err := p.NewBuffer(deadline(t), size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Release)
	return b
}

// filled returns a complete buffer of p.
func filled(t testing.TB, pool *Pool, p []byte) *Buffer {
	t.Helper()
	b := buffer(t, pool, int64(len(p)))
	if _, err := b.Write(p); err != nil {
		t.Fatal(err)
	}
	if !b.Complete() {
		t.Fatal("a buffer with all its bytes is not complete")
	}
	return b
}

// serve answers every request with one buffer.
func serve(b *Buffer) func(*Config) {
	return func(c *Config) {
		c.OnStream = func(_ phalanx.NodeID, r Request, w *Writer) {
			_ = w.SendBuffer(w.Context(), b, r.Offset, SendOptions{Checked: r.Checked})
		}
	}
}

var request = Request{Kind: Object, Object: "o", Generation: phalanx.Generation{Epoch: 1, Seq: 1}}
