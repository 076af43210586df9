package membership

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/view"
)

func TestNodesAgree(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			nodes := joined(t, n)
			agree(t, nodes...)
			for _, n := range nodes {
				<-n.leased
			}
		})
	}
}

func TestNodesThatJoinAtOnce(t *testing.T) {
	first := start(t, "first")
	if err := first.Join(within(t)); err != nil {
		t.Fatal(err)
	}
	all := []*node{first}
	for i := range 4 {
		seeds := []string{first.address()}
		if i > 0 {
			seeds = append(seeds, all[i].address()) // which joins itself meanwhile
		}
		all = append(all, start(t, fmt.Sprint("n", i), seeds...))
	}
	var wg sync.WaitGroup
	for _, n := range all[1:] {
		wg.Go(func() {
			if err := n.Join(within(t)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	agree(t, all...)
}

func TestSeedThatIsThisNodeAlone(t *testing.T) {
	n := start(t, "a")
	n.cfg.Seeds = []string{n.address()}
	if err := n.Join(within(t)); err != nil {
		t.Fatal(err)
	}
	agree(t, n)
}

func TestSeedByName(t *testing.T) {
	nodes := joined(t, 1)
	_, port, _ := net.SplitHostPort(nodes[0].address())
	b := start(t, "b", "localhost:"+port)
	if err := b.Join(within(t)); err != nil {
		t.Fatal(err)
	}
	agree(t, nodes[0], b)
}

func TestWrongSeedsAreNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // accepts, and says nothing
	silent, alone := l.Addr().String(), start(t, "alone")
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	n := start(t, "n", silent, alone.address(), gone.Addr().String(), "no-such-host.invalid:7000")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err = n.Join(ctx)
	if !errors.Is(err, phalanx.ErrDeadline) {
		t.Fatalf("got %v, want deadline", err)
	}
	for _, want := range []string{
		"seed " + silent + ": ",
		"seed " + alone.address() + ": the node is in no cluster either",
		"seed " + gone.Addr().String() + ": ", "connection refused",
		"seed no-such-host.invalid:7000: ", "lookup",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
}

func TestSeedsThatCannotBe(t *testing.T) {
	for seed, want := range map[string]string{
		"host":        `seed "host": address host: missing port`,
		":7000":       `seed ":7000": the address names no host`,
		"host:0":      `"0" is not a port`,
		"host:peanut": `"peanut" is not a port`,
	} {
		n := start(t, "n", seed)
		if err := n.Join(within(t)); !errors.Is(err, phalanx.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want invalid with %q", err, want)
		}
	}
}

func TestCanceledJoin(t *testing.T) {
	n := start(t, "n", "127.0.0.1:1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.Join(ctx); !errors.Is(err, phalanx.ErrCanceled) {
		t.Errorf("got %v, want canceled", err)
	}
}

func TestLaterIncarnationReplacesTheEarlier(t *testing.T) {
	nodes := joined(t, 2)
	again := startOf(t, "n1", 2, nodes[0].address())
	nodes[0].Propose(view.AddMember{Member: again.cfg.Self, Replaces: "n1#1"}) // as if that one had not answered
	<-nodes[1].fenced
	if err := again.Join(within(t)); err != nil {
		t.Fatal(err)
	}
	agree(t, nodes[0], again)
	old := startOf(t, "n1", 1, nodes[0].address())
	if err := old.Join(within(t)); !errors.Is(err, phalanx.ErrRefused) {
		t.Errorf("the earlier incarnation joins with %v, want refused", err)
	}
}

func TestLeaveHandsOver(t *testing.T) {
	nodes := joined(t, 4)
	agree(t, nodes...)
	for len(nodes) > 0 { // the first votes, and leads
		n := nodes[0]
		nodes = nodes[1:]
		if err := n.Leave(within(t)); err != nil {
			t.Fatalf("with %d others: %v", len(nodes), err)
		}
		n.Stop()
		if len(nodes) > 0 {
			v := agree(t, nodes...)
			for i, s := range v.Shards {
				if s.LostAt != 0 {
					t.Errorf("shard %d was lost when %s left: %v", i, n.id(), s)
				}
			}
		}
		select {
		case <-n.fenced:
			t.Errorf("%s was told that it was removed, but it left", n.id())
		default:
		}
	}
}

func TestTwoLeaveAtOnce(t *testing.T) {
	nodes := joined(t, 5)
	agree(t, nodes...)
	var wg sync.WaitGroup
	for _, n := range nodes[:2] {
		wg.Go(func() {
			if err := n.Leave(within(t)); err != nil {
				t.Error(err)
			}
			n.Stop()
		})
	}
	wg.Wait()
	agree(t, nodes[2:]...)
}

func TestLeaveThatCannotHandOver(t *testing.T) {
	nodes := joined(t, 3)
	agree(t, nodes...)
	leaver, rest := nodes[2], nodes[:2]
	for _, n := range nodes {
		n.mu.Lock()
		n.lazy = true
		n.mu.Unlock()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := leaver.Leave(ctx); !errors.Is(err, phalanx.ErrDeadline) || !strings.Contains(err.Error(), "were not handed over") {
		t.Errorf("got %v, want deadline and what was not handed over", err)
	}
	fenced, err := rest[0].await(within(t), func(v view.View) bool { return !v.Has(leaver.id()) })
	if err != nil || fenced {
		t.Errorf("it is still in the view %v", rest[0].View())
	}
}

// A panic while an effect is carried out loses neither it nor the core.
func TestPanicKeepsTheVote(t *testing.T) {
	nodes := joined(t, 3)
	agree(t, nodes...)
	for _, n := range nodes {
		n.mu.Lock()
		n.panic = true
		n.mu.Unlock()
	}
	late := start(t, "late", nodes[2].address())
	if err := late.Join(within(t)); err != nil {
		t.Fatal(err)
	}
	agree(t, append(nodes, late)...)
	for _, n := range nodes {
		n.mu.Lock()
		if n.panic {
			t.Errorf("%s did not panic", n.id())
		}
		n.mu.Unlock()
	}
}

// A core that panicked is not used again: it may have forgotten its vote.
func TestPanicInTheCoreFences(t *testing.T) {
	n := start(t, "n")
	cfg := n.cfg
	n.Stop()
	m, err := startWith(cfg, nil) // panics on the first tick
	if err != nil {
		t.Fatal(err)
	}
	<-n.fenced
	if err := m.Join(within(t)); !errors.Is(err, phalanx.ErrFenced) {
		t.Errorf("it joins with %v, want fenced", err)
	}
	m.Stop()
	select {
	case <-n.fenced:
		t.Error("it was told twice")
	default:
	}
}
