package cluster_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
)

// unavailable waits for a call that has to end in ErrUnavailable, long before its
// deadline.
func unavailable(t *testing.T, what string, since time.Time, errs <-chan error) {
	t.Helper()
	err := <-errs
	var e *phalanx.Error
	if !errors.As(err, &e) || e.Kind != phalanx.ErrUnavailable || e.Node == "" {
		t.Errorf("%s ended after %v with %v, want unavailable, and whose fault it is", what, time.Since(since), err)
	}
	if took := time.Since(since); took > 20*time.Second {
		t.Errorf("%s ended after %v", what, took)
	}
}

// errOf has the error of a Get told where errors are.
func errOf(c <-chan got) <-chan error {
	errs := make(chan error, 1)
	go func() { errs <- (<-c).err }()
	return errs
}

// reading opens an object and tells how that ends, or the reading.
func reading(ctx context.Context, n *cluster.Node, id phalanx.ObjectID) <-chan error {
	errs := make(chan error, 1)
	go func() {
		r, err := n.Open(ctx, id)
		if err == nil {
			_, err = io.Copy(io.Discard, r)
			_ = r.Close()
		}
		errs <- err
	}()
	return errs
}

// die ends nodes as if they had crashed.
func die(nodes ...*cluster.Node) {
	var wg sync.WaitGroup
	for _, n := range nodes {
		wg.Go(n.Die)
	}
	wg.Wait()
}

// The origin is lost with the majority of the voters. Its receiver hears that the
// directory is silent, and so does who reads from that one, which is alive and has
// them wait.
func TestBehindARelayInAMinority(t *testing.T) {
	nodes, links := startBent(t, 5, "n2", "n4")
	steady(t, nodes)
	origin, relay, last := nodes[1], nodes[3], nodes[4]
	if voters := nodes[0].Status().Voters; !slices.Contains(voters, origin.ID()) || !slices.Contains(voters, nodes[2].ID()) {
		t.Skipf("the voters are %v", voters)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	if _, err := origin.Put(ctx, "x", random(24<<20, 6)); err != nil {
		t.Fatal(err)
	}
	links["n2"].set(slowly(nil))
	calls := map[string]<-chan error{"the relay's Get": errOf(getting(ctx, relay, "x"))}
	eventually(t, "the relay reads", func() bool { return links["n2"].bytesTo("n4") > 0 })
	calls["the last one's Get"] = errOf(getting(ctx, last, "x"))
	eventually(t, "the last one reads from the relay", func() bool { return links["n4"].bytesTo("n5") > 0 })
	calls["the last one's Open"] = reading(ctx, last, "x")
	die(origin, nodes[2])
	cut := time.Now()
	for what, errs := range calls {
		unavailable(t, what, cut, errs)
	}
	die(nodes[0], relay, last) // nobody could remove them from the view
}

// Every byte is there, and the owner does not say that they are final: not to those
// who read them from another node, and not on the node that has put them.
func TestUnfinishedInAMinority(t *testing.T) {
	nodes := start(t, 5)
	steady(t, nodes)
	if voters := nodes[0].Status().Voters; !slices.Contains(voters, nodes[1].ID()) || !slices.Contains(voters, nodes[2].ID()) {
		t.Skipf("the voters are %v", voters)
	}
	maker, receiver := nodes[3], nodes[4]
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	source, sink := io.Pipe()
	put := make(chan error, 1)
	go func() {
		_, err := maker.PutReader(ctx, "x", source, 2<<20)
		put <- err
	}()
	if _, err := sink.Write(random(1<<20, 8)); err != nil {
		t.Fatal(err)
	}
	calls := map[string]<-chan error{"the Put": put, "a Get": errOf(getting(ctx, receiver, "x"))}
	eventually(t, "it is read", func() bool { return receiver.Status().BytesReceived > 1<<19 })
	calls["an Open"] = reading(ctx, receiver, "x")
	calls["a Get where it is made"] = errOf(getting(ctx, maker, "x"))
	calls["an Open where it is made"] = reading(ctx, maker, "x")
	die(nodes[1], nodes[2])
	cut := time.Now()
	for _, n := range []*cluster.Node{nodes[0], maker, receiver} {
		eventually(t, "no owner has a lease any more", func() bool { return n.Status().MajorityLost })
	}
	if _, err := sink.Write(random(1<<20, 9)); err != nil {
		t.Fatal(err)
	}
	_ = sink.Close()
	for what, errs := range calls {
		unavailable(t, what, cut, errs)
	}
	die(nodes[0], maker, receiver)
}

// A source that pauses keeps its readers waiting, as long as the owner is there.
func TestASourceThatPauses(t *testing.T) {
	t.Parallel() // it mostly waits
	nodes := start(t, 3)
	steady(t, nodes)
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	source, sink := io.Pipe()
	put := make(chan error, 1)
	go func() {
		_, err := nodes[0].PutReader(ctx, "x", source, 2<<20)
		put <- err
	}()
	data := random(2<<20, 8)
	if _, err := sink.Write(data[:1<<20]); err != nil {
		t.Fatal(err)
	}
	gets := map[string]<-chan got{}
	for _, n := range nodes {
		gets[string(n.ID())] = getting(ctx, n, "x")
	}
	time.Sleep(9 * time.Second) // the source pauses longer than its readers wait for an owner that is silent
	if _, err := sink.Write(data[1<<20:]); err != nil {
		t.Fatal(err)
	}
	_ = sink.Close()
	for name, g := range gets {
		brings(t, name, g, data)
	}
	if err := <-put; err != nil {
		t.Error(err)
	}
}
