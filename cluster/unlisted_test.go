package cluster_test

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"
)

// TestGetOfWhatItsOwnerDoesNotList gets an object whose owner does not know of the
// receiver when it becomes final, as one that took over after the lease was given
// and before the receiver could tell of its copy. Nobody orders that to be complete:
// it hears so when it tells that it has all bytes.
func TestGetOfWhatItsOwnerDoesNotList(t *testing.T) {
	nodes := start(t, 2)
	steady(t, nodes)
	ctx, cancel := context.WithTimeout(within(t), 10*time.Second)
	defer cancel()
	origin, receiver := nodes[0], nodes[1]
	data := random(2<<20, 9)
	source, end := io.Pipe()
	put := make(chan error, 1)
	go func() {
		_, err := origin.PutReader(ctx, "x", source, int64(len(data)))
		put <- err
	}()
	if _, err := end.Write(data[:1<<20]); err != nil {
		t.Fatal(err)
	}
	got := getting(ctx, receiver, "x")
	eventually(t, "bytes have come", func() bool { return len(receiver.Here("x")) == 1 })
	if err := receiver.Unlist(ctx, "x"); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = io.Copy(end, bytes.NewReader(data[1<<20:]))
		_ = end.Close()
	}()
	if err := <-put; err != nil {
		t.Fatal(err)
	}
	brings(t, "the receiver", got, data)
	eventually(t, "it is listed", func() bool {
		st, err := origin.Stat(ctx, "x")
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range st.Holders {
			if h.Node == receiver.ID() && h.Complete {
				return true
			}
		}
		return false
	})
}
