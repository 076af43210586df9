package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
)

// leavers is a node of which each Leave takes its whole time.
type leavers struct {
	id      phalanx.NodeID
	unready error
	leave   func(try int) error
	tries   int
	done    chan struct{}
	closed  bool
}

func (n *leavers) ID() phalanx.NodeID     { return n.id }
func (n *leavers) Status() cluster.Status { return cluster.Status{Unready: n.unready} }
func (n *leavers) Done() <-chan struct{}  { return n.done }
func (n *leavers) Close()                 { n.closed = true; close(n.done) }

func (n *leavers) Leave(ctx context.Context) error {
	<-ctx.Done()
	n.tries++
	err := n.leave(n.tries)
	if err == nil {
		close(n.done)
	}
	return err
}

// A node that is removed while it leaves, just before its time is over, joins again and leaves. Only a node that
// had been removed before it began to leave, and has not joined again in all that time, ends.
func TestANodeIsRemovedAsItLeaves(t *testing.T) {
	fenced := &phalanx.Error{Op: "leave", Kind: phalanx.ErrFenced}
	n := &leavers{id: "n#1", done: make(chan struct{})}
	n.leave = func(try int) error {
		if try == 1 {
			n.unready = fenced
			return fenced
		}
		return nil // it has joined again meanwhile
	}
	if err := leave(n, time.Millisecond, quiet()); err != nil || n.closed || n.tries != 2 {
		t.Errorf("removed as it leaves: %v after %d attempts, closed: %v", err, n.tries, n.closed)
	}
	n = &leavers{id: "n#1", unready: fenced, done: make(chan struct{}), leave: func(int) error { return fenced }}
	if err := leave(n, time.Millisecond, quiet()); !errors.Is(err, phalanx.ErrFenced) || !n.closed || n.tries != 1 {
		t.Errorf("removed before: %v after %d attempts, closed: %v", err, n.tries, n.closed)
	}
}

// A node that has ended can be asked to leave.
func TestANodeThatHasEndedLeaves(t *testing.T) {
	n, err := cluster.Join(t.Context(), cluster.Config{Name: "n1", Memory: 16 << 20, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	n.Close()
	if err := leave(n, time.Minute, quiet()); err != nil {
		t.Error(err)
	}
}
