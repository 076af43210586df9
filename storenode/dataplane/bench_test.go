package dataplane

import (
	"context"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// BenchmarkStream moves one object between two nodes of one process, between memory that was
// touched before, with all checks.
func BenchmarkStream(b *testing.B) {
	const size = 256 << 20
	var w town
	pool := NewPool(NewBudget(4 << 30))
	src := filled(b, pool, random(size))
	w.node(b, "sender#1", serve(src))
	c := w.node(b, "receiver#1", nil)
	ctx := context.Background()
	pool.Warm(size)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		dst, err := pool.NewBuffer(ctx, size)
		if err != nil {
			b.Fatal(err)
		}
		s, err := c.Open(ctx, "sender#1", request)
		if err != nil {
			b.Fatal(err)
		}
		if end := s.ReceiveInto(dst, Progress{}); end.Reason != Complete {
			b.Fatal(end)
		}
		s.Close()
		dst.Release()
	}
}

// BenchmarkPingPong sends a message and its answer, each through OnMessage → Post.
func BenchmarkPingPong(b *testing.B) {
	var w town
	var echo, c *Conns
	back := make(chan struct{}, 1)
	echo = w.node(b, "echo#1", func(cfg *Config) {
		cfg.OnMessage = func(from phalanx.NodeID, p []byte) { _ = echo.Post(from, p) }
	})
	c = w.node(b, "asker#1", func(cfg *Config) {
		cfg.OnMessage = func(phalanx.NodeID, []byte) { back <- struct{}{} }
	})
	p := make([]byte, 64)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Post("echo#1", p); err != nil {
			b.Fatal(err)
		}
		<-back
	}
}
