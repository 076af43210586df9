package cluster_test

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
)

// TestSlowReceiver has a receiver with a slow link, one behind it, and one behind
// that (specification 2.13): the sender finds the first one slow and serves the
// second one besides, to which it is moved; the third hears at once that its
// path has changed (3.3). Neither waits for the slow one.
func TestSlowReceiver(t *testing.T) {
	nodes, links := startBent(t, 5, "n1", "n4")
	steady(t, nodes)
	ctx := within(t)
	s, slow, second, third, fast := nodes[0], nodes[1], nodes[3], nodes[4], nodes[2]
	warm, data := random(48<<20, 1), random(24<<20, 2)
	if _, err := s.Put(ctx, "warm", warm); err != nil {
		t.Fatal(err)
	}
	brings(t, "the fast receiver", getting(ctx, fast, "warm"), warm)
	if err := s.Delete(ctx, "warm"); err != nil {
		t.Fatal(err)
	}
	free := make(chan struct{})
	links["n1"].set(func(c *bentStream, kind byte, payload []byte) {
		if c.to != "n2" || kind != frameData {
			return
		}
		pause := 100 * time.Millisecond
		if links["n1"].bytesTo("n2") > 8<<20 { // it does not end before the others, on a slow machine either
			pause = 700 * time.Millisecond
		}
		linger(pause, free)
	})
	var told atomic.Bool // the third receiver: the path goes by the second to the sender
	links["n4"].set(func(c *bentStream, kind byte, payload []byte) {
		if c.to != "n5" || kind != frameWait {
			return
		}
		if bytes.Contains(payload, []byte(s.ID())) && !bytes.Contains(payload, []byte(slow.ID())) {
			told.Store(true)
		}
	})
	var x phalanx.ObjectID
	var slowly, behind <-chan got
	for i := 0; ; i++ {
		once, cancel := context.WithCancel(ctx)
		defer cancel()
		x = phalanx.ObjectID(fmt.Sprint("x", i))
		if _, err := s.Put(ctx, x, data); err != nil {
			t.Fatal(err)
		}
		slowly = getting(once, slow, x)
		eventually(t, "the slow receiver has begun", func() bool { return upstream(t, s, x, slow.ID()) != "" })
		behind = getting(once, second, x)
		eventually(t, "the second receiver has a sender", func() bool { return len(behind) > 0 || upstream(t, s, x, second.ID()) != "" })
		if upstream(t, s, x, second.ID()) == slow.ID() {
			break
		}
		cancel() // it came so late that the first had been found slow before
	}
	last := getting(ctx, third, x)
	eventually(t, "the third receiver reads from the second", func() bool { return links["n4"].bytesTo("n5") > 0 })
	brings(t, "the second receiver", behind, data)
	brings(t, "the third receiver", last, data)
	select {
	case <-slowly:
		t.Fatal("the slow receiver was first")
	default:
	}
	if n := links["n1"].bytesTo("n4"); n == 0 {
		t.Error("the second receiver was not moved to the sender")
	}
	if !told.Load() {
		t.Error("the third receiver did not hear of the new path")
	}
	close(free)
	brings(t, "the slow receiver", slowly, data)
}

// upstream returns whom a holder of an object reads from, as its owner knows.
func upstream(t testing.TB, ask *cluster.Node, id phalanx.ObjectID, holder phalanx.NodeID) phalanx.NodeID {
	t.Helper()
	st, err := ask.Stat(within(t), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range st.Holders {
		if h.Node == holder {
			return h.Upstream
		}
	}
	return ""
}
