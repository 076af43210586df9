package cluster_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// A node that has handed over everything ends when its time is over, though no
// majority of the voters is left to agree that it is removed; Leave says so. Another member lives.
func TestLeaveOfANodeThatNobodyRemoves(t *testing.T) {
	t.Parallel() // it mostly waits
	for patience := 4 * time.Second; ; patience *= 2 {
		err := leaveUnseen(t, patience)
		if err == nil && patience < 20*time.Second { // on a busy machine it can have left before the others died
			continue
		}
		if !errors.Is(err, phalanx.ErrDeadline) || !strings.Contains(err.Error(), "have not agreed to remove it") {
			t.Errorf("it says %v", err)
		}
		return
	}
}

// leaveUnseen has a node leave within patience, and most voters die once it has nothing left but
// a Put, which is given up after half of that time.
func leaveUnseen(t *testing.T, patience time.Duration) error {
	t.Helper()
	nodes := start(t, 4, silent)
	steady(t, nodes)
	leaver := nodes[3]
	r, w := io.Pipe()
	defer w.Close()
	put := make(chan error, 1)
	go func() {
		_, err := leaver.PutReader(within(t), "slow", r, 1<<20)
		put <- err
	}()
	if _, err := w.Write(make([]byte, 100_000)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	left := make(chan error, 1)
	go func() { left <- leaver.Leave(ctx) }()
	eventually(t, "it has no shard", func() bool {
		m, ok := leaver.View().Member(leaver.ID())
		return !ok || m.Leaving && leaver.View().Held(leaver.ID()) == 0
	})
	die(nodes[:2]...)
	err := <-left
	if err := <-put; err == nil {
		t.Error("half a Put has succeeded")
	}
	<-leaver.Done()
	return err
}
