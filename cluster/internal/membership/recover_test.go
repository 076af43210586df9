package membership

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Two of three voters are gone for good. One of the living nodes forms the cluster anew, and
// then nodes join as ever.
func TestRecover(t *testing.T) {
	nodes := joined(t, 5)
	agree(t, nodes...)
	if _, err := nodes[3].Recover(within(t), true); !errors.Is(err, phalanx.ErrRefused) || !strings.Contains(err.Error(), "hears the majority") {
		t.Errorf("while the majority lives: %v", err)
	}
	rest := nodes[2:]
	for _, n := range nodes[:2] {
		n.Stop()
		for _, other := range rest {
			other.suspect(n.id())
		}
	}
	for _, n := range rest {
		lost(t, n)
	}
	v, err := nodes[3].Recover(within(t), false)
	if err != nil {
		t.Fatal(err)
	}
	if v.Former != nodes[3].id() || v.Form() == 0 || len(v.Members) != 3 || len(v.Missing) != 2 {
		t.Errorf("it has formed %v", v)
	}
	agree(t, rest...)
	late := start(t, "late", nodes[4].address())
	if err := late.Join(within(t)); err != nil {
		t.Fatal(err)
	}
	is, err := late.await(within(t), func(v view.View) bool { return len(v.Members) == 4 })
	if err != nil || is {
		t.Errorf("it sees %v: %v", late.View(), err)
	}
}

// A voter that is alone among those that answer is not enough, unless the operator says so.
func TestRecoverByFew(t *testing.T) {
	nodes := joined(t, 3)
	agree(t, nodes...)
	for _, n := range nodes[:2] {
		n.Stop()
		nodes[2].suspect(n.id())
	}
	lost(t, nodes[2])
	_, err := nodes[2].Recover(within(t), false)
	if !errors.Is(err, phalanx.ErrUnavailable) || !strings.Contains(err.Error(), "1 of 3 members answer, and 2 are needed; missing: "+string(nodes[0].id())) {
		t.Errorf("by one of three: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := nodes[2].Recover(ctx, false); !errors.Is(err, phalanx.ErrDeadline) {
		t.Errorf("within a millisecond: %v", err)
	}
	if _, err := nodes[2].Recover(within(t), true); err != nil {
		t.Error(err)
	}
	agree(t, nodes[2])
}

// lost waits until n takes the majority for lost.
func lost(t *testing.T, n *node) {
	t.Helper()
	for {
		select {
		case m := <-n.majority:
			if m.Lost {
				return
			}
		case <-within(t).Done():
			t.Fatalf("%s does not see that the majority is lost", n.id())
		}
	}
}
