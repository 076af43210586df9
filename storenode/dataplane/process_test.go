package dataplane

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/children"
)

// The benchmarks between two processes run this binary again as the second process.

const (
	childEnv   = "PHALANX_DATAPLANE_PEER" // the address of the parent
	objectSize = 1 << 30
)

// child echoes messages and serves one object until its standard input ends.
func child(parent string) error {
	pool := NewPool(NewBudget(2 * objectSize))
	src, err := pool.NewBuffer(context.Background(), objectSize)
	if err != nil {
		return err
	}
	block := random(PieceSize)
	for !src.Complete() {
		if _, err := src.Write(block); err != nil {
			return err
		}
	}
	var c *Conns
	ready := make(chan struct{})
	c, err = New(Config{Self: "child#1", Cluster: "test", Logger: quiet(),
		Lookup:    func(phalanx.NodeID) (string, bool) { return parent, true },
		OnMessage: func(from phalanx.NodeID, p []byte) { <-ready; _ = c.Post(from, p) },
		OnStream: func(_ phalanx.NodeID, r Request, w *Writer) {
			_ = w.SendBuffer(w.Context(), src, r.Offset, SendOptions{})
		}})
	if err != nil {
		return err
	}
	close(ready)
	children.Say(c.Addr().String())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return c.Close()
}

// spawn starts the child and returns a node that knows it, and its process id.
func spawn(b *testing.B, onMessage func(phalanx.NodeID, []byte)) (*Conns, int) {
	b.Helper()
	var w town
	c := w.node(b, "parent#1", func(cfg *Config) { cfg.OnMessage = onMessage })
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+c.Addr().String())
	addr := make(chan string, 1)
	peer, err := children.Talk(cmd, func(at string) { addr <- at })
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		peer.Abandon()
		if err := peer.Wait(context.Background()); err != nil {
			b.Error(err)
		}
	})
	select {
	case at := <-addr:
		w.set("child#1", at)
	case <-peer.Done():
		b.Fatal(children.How(peer.Err()))
	}
	return c, peer.PID()
}

// BenchmarkProcessStream gets 1 GB from another process, into memory that was touched before, and
// reports the peak memory of both per byte.
func BenchmarkProcessStream(b *testing.B) {
	c, pid := spawn(b, nil)
	pool := NewPool(NewBudget(objectSize + objectSize/8))
	pool.Warm(objectSize)
	ctx := context.Background()
	b.SetBytes(objectSize)
	b.ReportAllocs()
	for b.Loop() {
		dst, err := pool.NewBuffer(ctx, objectSize)
		if err != nil {
			b.Fatal(err)
		}
		s, err := c.Open(ctx, "child#1", request)
		if err != nil {
			b.Fatal(err)
		}
		if end := s.ReceiveInto(dst, Progress{}); end.Reason != Complete {
			b.Fatal(end)
		}
		s.Close()
		dst.Release()
	}
	b.ReportMetric(peak(os.Getpid())/objectSize, "receiver-peak")
	b.ReportMetric(peak(pid)/objectSize, "sender-peak")
}

// BenchmarkProcessPingPong measures the latency of a message and its answer.
func BenchmarkProcessPingPong(b *testing.B) {
	back := make(chan struct{}, 1)
	c, _ := spawn(b, func(phalanx.NodeID, []byte) { back <- struct{}{} })
	p := make([]byte, 64)
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		if err := c.Post("child#1", p); err != nil {
			b.Fatal(err)
		}
		<-back
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// peak returns the most memory that a process ever had resident; 0 where the system does not say.
func peak(pid int) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kb, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, _ := strconv.ParseFloat(kb, 64)
	return n * 1024
}
