package barrier_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/barrier/message"
	"github.com/phalanx-go/phalanx/cluster"
)

// The callbacks of one node decide about entries at others.
func TestCallbacks(t *testing.T) {
	nodes := start(t, 3)
	cfg := barrier.Config{Max: 2, Callback: true, CallbackTimeout: 10 * time.Second, Timeout: time.Minute}
	var asked, fired atomic.Int32
	told := make(chan barrier.Notice, 10)
	stop, err := open(t, nodes[2], "asks", cfg).Watch(within(t), barrier.Callbacks{
		Enter: func(q barrier.Question) bool {
			if n := asked.Add(1); n == 2 && !q.WouldRelease {
				t.Errorf("%+v", q)
			}
			return q.Entry.Host == "third" // which Max would not have waited for
		},
		Notify: func(n barrier.Notice) {
			fired.Add(1)
			told <- n
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	out := enter(t, within(t), nodes, "asks", cfg, "first", "second")
	eventually(t, "both are asked about", func() bool { return asked.Load() == 2 })
	select {
	case o := <-out:
		t.Fatalf("vetoed, and %+v", o)
	default: // what is told in the end says it as well: that three had entered
	}
	if _, err := open(t, nodes[0], "asks", cfg).Enter(within(t), barrier.Entry{Host: "third"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if o := <-out; o.err != nil {
			t.Error(o.err)
		}
	}
	if n := <-told; n.What != barrier.Fired || n.N != 3 {
		t.Errorf("%+v", n)
	}
}

// A callback that panics, and one whose node has gone, have no say.
func TestACallbackThatPanics(t *testing.T) {
	nodes := start(t, 2)
	cfg := barrier.Config{Max: 2, Callback: true, CallbackTimeout: 100 * ms}
	stop, err := open(t, nodes[1], "panics", cfg).Watch(within(t), barrier.Callbacks{Enter: func(barrier.Question) bool { panic("the application's") }})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	out := enter(t, within(t), nodes, "panics", cfg, "a", "b")
	for range 2 {
		if o := <-out; o.err != nil {
			t.Error(o.err)
		}
	}
}

// A Watch that is given up says whom it has waited for, and does not end another one
// of the same node, which goes on when there is another manager.
func TestAWatchThatIsGivenUp(t *testing.T) {
	nodes := start(t, 2)
	guest, err := cluster.Join(within(t), config("guest", nodes[0].ControlAddr()))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a view of all", func() bool { return len(nodes[0].View().Members) == 3 })
	name := ""
	for i := 0; name == "" || barrier.ManagersOf(nodes[0].View(), name)[0] != guest.ID(); i++ {
		name = fmt.Sprint("given up/", i)
	}
	silent, _ := guest.Service(barrier.Name)
	if err := guest.System().Root.StopFuture(silent).Wait(); err != nil {
		t.Fatal(err)
	}
	cfg := barrier.Config{Max: 1, Callback: true, CallbackTimeout: 10 * time.Second}
	pid, _ := nodes[0].Service(barrier.Name)
	first := nodes[0].System().Root.RequestFuture(pid, &message.Watch{Name: name, Config: cfg, Deadline: 300 * ms}, 20*time.Second)
	b := open(t, nodes[0], name, cfg)
	second := make(chan error, 1)
	go func() {
		_, err := b.Watch(within(t), barrier.Callbacks{Enter: func(q barrier.Question) bool { return q.Entry.Host == "b" }})
		second <- err
	}()
	r, err := first.Result()
	if err != nil {
		t.Fatal(err)
	}
	var failed *phalanx.Error
	is(t, r.(*message.Watching).Err, phalanx.ErrDeadline)
	if err := r.(*message.Watching).Err; !errors.As(err, &failed) || failed.Node != guest.ID() || !strings.Contains(err.Error(), "has not answered") {
		t.Error(err)
	}
	if err := guest.Leave(within(t)); err != nil {
		t.Fatal(err)
	}
	if err := <-second; err != nil {
		t.Fatal(err)
	}
	out := enter(t, within(t), nodes[1:], name, cfg, "a")
	if _, err := open(t, nodes[1], name, cfg).Enter(within(t), barrier.Entry{Host: "b"}); err != nil {
		t.Error(err)
	}
	if o := <-out; o.err != nil {
		t.Error(o.err)
	}
}
