package directory

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	core "github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// A host without a lease keeps what comes until there is the lease that the node wants now, in its
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
	budget := dataplane.NewBudget(1000)
	h := NewHost(HostConfig{Self: "a", System: system, Now: func() time.Duration { return now }, Want: func() { wants++ }, Memory: budget})
	defer func() {
		delete(h.shards, 0)
		h.Close()
	}()
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
	if _, waits := h.gate.Due(); !waits || wants != 2 {
		t.Fatalf("a lease was wanted %d times, something waits: %v", wants, waits)
	}
	h.Leased(now + 300*time.Millisecond)
	expect(1, 2)
	ask(3)
	expect(3)

	now += time.Second // the lease has ended
	ask(4)
	ask(5)
	if budget.Used() == 0 {
		t.Error("what waits does not count against the memory cap")
	}
	now += 200 * time.Millisecond // there is none to be had
	ask(6)
	expect(4, 5, 6)
	h.Leased(now + 300*time.Millisecond)
	now += time.Second
	ask(7)
	if err := budget.ReserveNow(700); err != nil {
		t.Fatal(err)
	}
	ask(8) // there is no room for it to wait
	expect(7, 8)
	if budget.Used() != 700 {
		t.Errorf("%d bytes are reserved, 700 of them by others", budget.Used())
	}
}

// An event that is too large to wait takes no memory.
func TestWhatIsTooLargeToWait(t *testing.T) {
	budget := dataplane.NewBudget(64 << 20)
	h := NewHost(HostConfig{Self: "a", Now: func() time.Duration { return time.Second }, Want: func() {}, Transport: &outbox{}, Memory: budget})
	defer h.Close()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hold(0, core.Request{From: "b", Num: 1, Object: "x", Body: core.PutInline{Bytes: make([]byte, 8<<20)}}) || budget.Used() > 0 {
		t.Errorf("it waits, or %d bytes are reserved", budget.Used())
	}
}

// The host hands on what it has kept when no lease comes, without another request.
func TestWhatWaitsInVainGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, budget := time.Now(), dataplane.NewBudget(1000)
		h := NewHost(HostConfig{Self: "a", Now: func() time.Duration { return time.Since(began) }, Want: func() {}, Transport: &outbox{}, Memory: budget})
		defer h.Close()
		hold := func() bool {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.hold(0, core.Request{From: "b", Num: 1, Object: "x"})
		}
		if !hold() || budget.Used() == 0 {
			t.Fatal("it does not wait")
		}
		time.Sleep(201 * time.Millisecond)
		synctest.Wait()
		if budget.Used() != 0 || hold() {
			t.Fatal("it waits for ever")
		}
	})
}

// A request that waits for a lease is answered if the shard has left the node meanwhile. The
// answer may call the Host.
func TestWhatWaitsForAShardThatLeavesIsAnswered(t *testing.T) {
	for name, lease := range map[string]bool{"with a lease": true, "without one": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, out := time.Now(), &calling{}
				now := func() time.Duration { return time.Since(began) }
				h := NewHost(HostConfig{Self: "a", Now: now, Want: func() {}, Transport: out, Memory: dataplane.NewBudget(1000)})
				defer h.Close()
				out.h, h.shards = h, map[int]*actor.PID{0: {}}
				h.Handle(0, core.Request{From: "b", Num: 7, Object: "x"})
				h.mu.Lock()
				clear(h.shards)
				h.mu.Unlock()
				time.Sleep(100 * time.Millisecond)
				if sent := out.all(); len(sent) > 0 {
					t.Fatalf("it does not wait: %v", sent)
				}
				if lease {
					h.Leased(now() + 300*time.Millisecond)
				} else {
					time.Sleep(101 * time.Millisecond)
					synctest.Wait()
				}
				sent := out.all()
				if len(sent) != 1 {
					t.Fatalf("%v are sent", sent)
				}
				if r, ok := sent[0].(core.Reply); !ok || r.To != "b" || r.Num != 7 || !r.Result.NotOwner {
					t.Errorf("the answer is %v", sent[0])
				}
			})
		})
	}
}

// calling is a Transport that asks a Host whenever it is to send something.
type calling struct {
	h *Host

	mu   sync.Mutex
	sent []any
}

func (c *calling) Send(_ phalanx.NodeID, _ int, v any) error {
	c.h.Roles()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = append(c.sent, v)
	return nil
}

func (c *calling) all() []any {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent
}
