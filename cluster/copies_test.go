package cluster_test

import (
	"context"
	"errors"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// unread is a reader that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("it is read")
	return 0, errors.New("it is read")
}

// A Put of more copies than there are members says so and puts nothing. It does not wait
// to its deadline.
func TestMoreCopiesThanMembers(t *testing.T) {
	t.Parallel() // it mostly waits
	nodes := start(t, 2)
	ctx, n := within(t), nodes[1]
	do, _ := spawnAsker(t, n)
	says := []string{"put", "9 copies", "2 members", string(nodes[0].ID()), string(n.ID())}
	_, err := n.Put(ctx, "many", random(1000, 1), cluster.WithCopies(9))
	refused(t, "bytes", err, phalanx.ErrUnavailable, says...)
	_, err = n.PutReader(ctx, "many", unread{t}, 100_000, cluster.WithCopies(9))
	refused(t, "a reader", err, phalanx.ErrUnavailable, says...)
	refused(t, "a message", do(&storenode.Put{Object: "many", Bytes: random(1000, 1), Copies: 9}).(*storenode.PutDone).Err, phalanx.ErrUnavailable, says...)
	refused(t, "a message within a context", do(&storenode.Within{Context: ctx, Request: &storenode.Put{Object: "many", Bytes: random(1000, 1), Copies: 9}}).(*storenode.PutDone).Err, phalanx.ErrUnavailable, says...)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err = n.Put(gone, "many", random(1000, 1), cluster.WithCopies(9))
	refused(t, "a caller that has gone", err, phalanx.ErrCanceled, "put")
	if _, err := n.Stat(ctx, "many"); !errors.Is(err, phalanx.ErrNotFound) {
		t.Errorf("it was put: %v", err)
	}
	for _, copies := range []int{0, 1, 2} {
		if done := do(&storenode.Put{Object: "few", Bytes: random(1000, 1), Copies: copies}).(*storenode.PutDone); done.Err != nil {
			t.Errorf("%d copies: %v", copies, done.Err)
		}
	}
}

// A Put counts the members that had joined before it, also those of which its node has not
// learned yet.
func TestCopiesOnMembersThatHaveJustJoined(t *testing.T) {
	nodes := start(t, 3)
	if _, err := nodes[0].Put(within(t), "kept", random(100_000, 1), cluster.WithCopies(3)); err != nil {
		t.Error(err)
	}
}
