package remoting_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster/internal/remoting"
	"github.com/phalanx-go/phalanx/internal/leaks"
)

func TestMain(m *testing.M) { leaks.VerifyTestMain(m) }

// node is one of several in this process.
type node struct {
	*remoting.Remoting
	sys    *actor.ActorSystem
	log    *logtest.Hook
	broken chan brokenPeer
}

type brokenPeer struct {
	address string
	err     error
}

func start(t testing.TB, cfg remoting.Config) *node {
	t.Helper()
	log, hook := logtest.NewNullLogger()
	log.SetLevel(logrus.WarnLevel)
	n := &node{sys: actors.NewSystem(t.Name(), log), log: hook, broken: make(chan brokenPeer, 1000)}
	cfg.Log, cfg.OnBroken = log, func(address string, err error) { n.broken <- brokenPeer{address, err} }
	r, err := remoting.Start(n.sys, cfg)
	if err != nil {
		t.Fatal(err)
	}
	n.Remoting = r
	t.Cleanup(r.Stop)
	return n
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func text(s string) *wrapperspb.StringValue { return wrapperspb.String(s) }

// echo answers every text, and counts none.
func (n *node) echo(t testing.TB, name string) {
	t.Helper()
	_, err := n.sys.Root.SpawnNamed(actor.PropsFromFunc(func(c actor.Context) {
		if m, ok := c.Message().(*wrapperspb.StringValue); ok && c.Sender() != nil {
			c.Respond(m)
		}
	}), name)
	if err != nil {
		t.Fatal(err)
	}
}

// ask sends s to the echo at another node and fails unless it comes back.
func (n *node) ask(t *testing.T, other *node, s string) {
	t.Helper()
	m, err := n.Request(within(t), n.PID(other.Address(), "echo"), text(s))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.(*wrapperspb.StringValue).GetValue(); got != s {
		t.Fatalf("the answer is %.20q, want %.20q", got, s)
	}
}

// insist is ask for a connection that has just broken: the request or its answer
// may get lost with it.
func (n *node) insist(t *testing.T, other *node, s string) {
	t.Helper()
	ctx := within(t)
	for {
		try, cancel := context.WithTimeout(ctx, time.Second)
		_, err := n.Request(try, n.PID(other.Address(), "echo"), text(s))
		cancel()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// want waits until n was told that the connection with address broke.
func (n *node) want(t *testing.T, address string) error {
	t.Helper()
	for {
		select {
		case b := <-n.broken:
			if b.address == address {
				return b.err
			}
		case <-within(t).Done():
			t.Fatalf("was not told that the connection with %s broke", address)
		}
	}
}

func parallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}
