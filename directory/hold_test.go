package directory

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	core "github.com/phalanx-go/phalanx/protocol/directory"
)

// What comes to a node without a lease waits for the lease that the node wants now, in its
// order, but not for long: then shards do without, as there is none to be had.
func TestWhatComesWaitsForALease(t *testing.T) {
	system := actors.NewSystem("a", logrus.New())
	var mu sync.Mutex
	var got []uint64
	arrived := make(chan struct{}, 100)
	pid := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if r, ok := c.Message().(core.Request); ok {
			mu.Lock()
			got = append(got, r.Num)
			mu.Unlock()
			arrived <- struct{}{}
		}
	}))
	defer func() { _ = system.Root.StopFuture(pid).Wait() }()
	now, wants := time.Second, 0
	h := NewHost(HostConfig{Self: "a", System: system, Now: func() time.Duration { return now }, Want: func() { wants++ }})
	h.shards[0] = pid
	ask := func(num uint64) { h.Handle(0, core.Request{From: "b", Num: num, Object: phalanx.ObjectID("x")}) }
	expect := func(nums ...uint64) {
		t.Helper()
		for range nums {
			<-arrived
		}
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(got, nums) {
			t.Fatalf("it has got %v, not %v", got, nums)
		}
		got = nil
	}
	ask(1)
	ask(2)
	if len(h.held) != 2 || wants != 2 {
		t.Fatalf("%d wait, a lease was wanted %d times", len(h.held), wants)
	}
	h.Leased(now + 300*time.Millisecond)
	expect(1, 2)
	ask(3)
	expect(3)

	now += time.Second // the lease has ended
	ask(4)
	now += holdFor
	ask(5)
	expect(4, 5)
	ask(6)
	expect(6)
	h.Leased(now + 300*time.Millisecond)
	now += time.Second
	for n := range uint64(mostHeld) {
		ask(n)
	}
	if len(h.held) != mostHeld {
		t.Errorf("%d wait", len(h.held))
	}
	ask(mostHeld)
	if len(h.held) != 0 {
		t.Errorf("%d more wait", len(h.held))
	}
}
