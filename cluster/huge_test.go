package cluster_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// An object of more than 2 GiB is put, combined and read, so that no length or
// offset on the way has 31 bits.
func TestMoreThan2GiB(t *testing.T) {
	const size = 2<<30 + 3<<16 + 5
	if testing.Short() {
		t.Skip("not with -short")
	}
	if free := available(t); free < 7*size {
		t.Skipf("%d bytes of memory are available; not fewer than %d are needed", free, 7*int64(size))
	}
	nodes := start(t, 2, func(c *cluster.Config) { c.Memory, c.Deadline = 3*size, 3*time.Minute })
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	sources := []phalanx.ObjectID{"a", "b"}
	for i, id := range sources {
		if _, err := nodes[i].PutReader(ctx, id, &counting{step: byte(1 + 2*i), left: size}, size, cluster.WithArray(phalanx.Uint8)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := nodes[0].Reduce(ctx, storenode.Reduce{Target: "sum", Sources: sources, Op: phalanx.Sum})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.In) != 2 {
		t.Errorf("in the result are %v", r.In)
	}
	for _, n := range nodes {
		same(t, ctx, n, "sum", &counting{step: 4, left: size})
	}
	for _, id := range append(sources, "sum") { // there is no need to hand them over
		if err := nodes[0].Delete(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
}

// same reads an object and compares it as it comes.
func same(t *testing.T, ctx context.Context, n *cluster.Node, id phalanx.ObjectID, want io.Reader) {
	t.Helper()
	r, err := n.Open(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	is, should := make([]byte, 1<<20), make([]byte, 1<<20)
	for at := 0; ; at += len(is) {
		i, err := io.ReadFull(r, is)
		j, _ := io.ReadFull(want, should)
		if !bytes.Equal(is[:i], should[:j]) {
			t.Fatalf("%s reads other bytes of %s between %d and %d", n.ID(), id, at, at+max(i, j))
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// counting reads as bytes of which each is the one before it and step, after
// each page of which one more is added: so that no two pages nearby are equal.
type counting struct {
	step byte
	at   int64
	left int64
}

func (c *counting) Read(b []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	b = b[:min(int64(len(b)), c.left)]
	for i := range b {
		b[i] = c.step * byte(c.at+c.at>>12)
		c.at++
	}
	c.left -= int64(len(b))
	return len(b), nil
}

// available returns how much memory programs can have.
func available(t *testing.T) int64 {
	t.Helper()
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		if kb, ok := strings.CutPrefix(in.Text(), "MemAvailable:"); ok {
			var n int64
			if _, err := fmt.Sscan(kb, &n); err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Skip("nobody says how much memory is available")
	return 0
}
