package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// holds reports whether the owner of an object lists a node's copy.
func holds(t testing.TB, ask *cluster.Node, id phalanx.ObjectID, holder phalanx.NodeID) bool {
	t.Helper()
	ctx := within(t)
	var st storenode.ObjectStat
	if err := insist(ctx, func() (err error) { st, err = ask.Stat(ctx, id); return err }); err != nil {
		t.Fatal(err)
	}
	for _, h := range st.Holders {
		if h.Node == holder {
			return true
		}
	}
	return false
}

// steady waits until no shard moves any more: its new owner would not know of
// what only an owner is told.
func steady(t testing.TB, nodes []*cluster.Node) {
	t.Helper()
	eventually(t, "every shard in its place", func() bool {
		for _, n := range nodes {
			v := n.View()
			for _, s := range v.Shards {
				if v.Number != nodes[0].View().Number || s.Next != "" || s.Backup == "" {
					return false
				}
			}
		}
		return true
	})
}

// TestReceiverThatVanishes reads under a lease and says nothing when it ends: the
// sender reports that (specification 2.10), so that it can be handed out again. A
// receiver that comes back under its lease is not reported for that.
func TestReceiverThatVanishes(t *testing.T) {
	for _, times := range []int{1, 3} {
		nodes := start(t, 3)
		steady(t, nodes)
		ctx := within(t)
		data := random(24<<20, 4)
		if _, err := nodes[0].Put(ctx, "x", data); err != nil {
			t.Fatal(err)
		}
		if err := nodes[1].ReadAndVanish(ctx, "x", times); err != nil {
			t.Fatal(err)
		}
		// The owner's own question would find that the receiver has no copy.
		eventually(t, "the lease has ended", func() bool {
			if !holds(t, nodes[2], "x", nodes[1].ID()) {
				t.Fatal("it was the owner who asked")
			}
			return upstream(t, nodes[2], "x", nodes[1].ID()) == ""
		})
		brings(t, "another receiver", getting(ctx, nodes[2], "x"), data)
	}
}

// TestLastCallerGone has the only caller of a middle receiver go away (2.14). The
// transfer goes on for the receiver behind it, nobody else is sent there, and
// once that one is gone too the copy is dropped.
func TestLastCallerGone(t *testing.T) {
	links := map[string]*bent{}
	nodes := start(t, 5, func(cfg *cluster.Config) {
		cfg.Fanout = 2
		if cfg.Name == "n1" || cfg.Name == "n2" {
			links[cfg.Name] = bend(t, cfg)
		}
	})
	steady(t, nodes)
	why := ""
	for i := range 10 { // on a busy machine receivers can have other senders, and messages come late
		if why = lastCallerGone(t, nodes, links, phalanx.ObjectID(fmt.Sprint("x", i))); why == "" {
			return
		}
		t.Log(why)
	}
	t.Fatalf("ten times: %s", why)
}

// lastCallerGone returns what was not as planned, or "".
func lastCallerGone(t *testing.T, nodes []*cluster.Node, links map[string]*bent, x phalanx.ObjectID) (why string) {
	s, middle, other, below, late := nodes[0], nodes[1], nodes[2], nodes[3], nodes[4]
	ctx, cancel := context.WithCancel(within(t))
	free := make(chan struct{})
	links["n1"].set(slowly(free))
	data := random(24<<20, 6)
	if _, err := s.Put(ctx, x, data); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		if why == "" {
			return
		}
		close(free)
		if err := s.Delete(within(t), x); err != nil {
			t.Error(err)
		}
	}()
	reads := func(n, from *cluster.Node) bool {
		eventually(t, fmt.Sprint(n.ID(), " has a sender"), func() bool { return upstream(t, s, x, n.ID()) != "" })
		return upstream(t, s, x, n.ID()) == from.ID()
	}

	middleCtx, leaveMiddle := context.WithCancel(ctx)
	defer leaveMiddle()
	belowCtx, leaveBelow := context.WithCancel(ctx)
	defer leaveBelow()
	m := getting(middleCtx, middle, x)
	if !reads(middle, s) {
		return "the middle does not read from the source"
	}
	o := getting(ctx, other, x)
	if !reads(other, s) {
		return "the other does not read from the source"
	}
	b := getting(belowCtx, below, x)
	if !reads(below, middle) {
		return "the one below does not read from the middle"
	}
	early, before := links["n2"].bytesTo("n5"), links["n2"].bytesTo("n4")
	goesOn := func(bytes int64) bool {
		eventually(t, "the transfer goes on", func() bool {
			return links["n2"].bytesTo("n4") > before+bytes || upstream(t, s, x, below.ID()) != middle.ID()
		})
		return upstream(t, s, x, below.ID()) == middle.ID()
	}
	if !goesOn(0) {
		return "the one below has another sender before the middle's caller goes"
	}
	leaveMiddle()
	if g := <-m; !errors.Is(g.err, phalanx.ErrCanceled) {
		t.Fatalf("the middle's caller got %v", g.err)
	}
	before = links["n2"].bytesTo("n4")
	if !goesOn(1 << 20) {
		return "the transfer does not go on"
	}
	l := getting(ctx, late, x)
	if reads(late, middle) {
		return "a receiver was sent to a copy that nobody waits for"
	}

	leaveBelow()
	if g := <-b; !errors.Is(g.err, phalanx.ErrCanceled) {
		return fmt.Sprintf("the caller below got %v", g.err)
	}
	eventually(t, "the middle is not listed", func() bool { return !holds(t, s, x, middle.ID()) || middle.Status().Complete > 0 })
	if middle.Status().Complete > 0 {
		return "the middle has the whole copy"
	}
	quiet(t, middle, 0)
	close(free)
	brings(t, "the other receiver", o, data)
	brings(t, "the late receiver", l, data)
	if n := links["n2"].bytesTo("n5") - early; n > 0 {
		t.Errorf("the middle has sent %d bytes to the late receiver", n)
	}
	return ""
}

// TestSenderThatIsBehind asks a sender for a generation that it does not have yet:
// it says WAIT as long as one can come, and never sends older bytes (3.2).
func TestSenderThatIsBehind(t *testing.T) {
	t.Parallel() // it mostly waits
	nodes := start(t, 2)
	ctx := within(t)
	source, end := io.Pipe()
	put := make(chan error, 1)
	go func() {
		_, err := nodes[0].PutReader(ctx, "x", source, 2<<20)
		put <- err
	}()
	if _, err := end.Write(random(1<<20, 8)); err != nil {
		t.Fatal(err)
	}
	waits := 0
	err := nodes[1].AskAhead(ctx, nodes[0].ID(), "x", func(path []phalanx.NodeID) {
		if len(path) != 1 || path[0] != nodes[0].ID() {
			t.Errorf("the path is %v", path)
		}
		if waits++; waits == 8 { // longer than a sender waits for what it does not expect
			_ = end.CloseWithError(io.ErrUnexpectedEOF)
		}
	})
	if waits < 8 || !errors.Is(err, phalanx.ErrNotFound) {
		t.Errorf("%d times WAIT, and then %v", waits, err)
	}
	refused(t, "the put", <-put, phalanx.ErrAborted)
}
