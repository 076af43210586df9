package remoting_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster/internal/remoting"
)

func TestNodesTalkWhileOthersStart(t *testing.T) {
	var nodes []*node
	for range 3 {
		n := start(t, remoting.Config{})
		n.echo(t, "echo")
		nodes = append(nodes, n)
		parallel(10*len(nodes), func(i int) {
			for _, to := range nodes {
				nodes[i%len(nodes)].ask(t, to, fmt.Sprint(i))
			}
		})
	}
}

func TestManyLargeMessagesArriveInOneBatch(t *testing.T) {
	a, b := start(t, remoting.Config{}), start(t, remoting.Config{})
	b.echo(t, "echo")
	a.ask(t, b, "connect")
	big := strings.Repeat("x", 60<<10)
	parallel(300, func(int) { a.ask(t, b, big) })
}

func TestRefusedConnectionFailsRequestsAtOnce(t *testing.T) {
	a := start(t, remoting.Config{})
	gone := unused(t)
	for range 3 {
		_, err := a.Request(within(t), a.PID(gone, "echo"), text("hello"))
		if !errors.Is(err, phalanx.ErrUnavailable) || !errors.Is(err, syscall.ECONNREFUSED) || !strings.Contains(err.Error(), gone) {
			t.Fatalf("got %v, want unavailable with the refusal and the address", err)
		}
		if err := a.want(t, gone); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("was told of %v, want refused", err)
		}
	}
}

// unused returns an address where nobody listens.
func unused(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestRequestToNobody(t *testing.T) {
	a, b := start(t, remoting.Config{}), start(t, remoting.Config{})
	_, err := a.Request(within(t), a.PID(b.Address(), "nobody"), text("hello"))
	if !errors.Is(err, phalanx.ErrUnavailable) || !strings.Contains(err.Error(), "nobody at "+b.Address()) {
		t.Errorf("got %v, want unavailable with name and address", err)
	}
}

func TestRequestEndsWithItsContext(t *testing.T) {
	a, b := start(t, remoting.Config{}), start(t, remoting.Config{})
	got := make(chan bool, 1)
	_, err := b.sys.Root.SpawnNamed(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(*wrapperspb.StringValue); ok {
			got <- true
		}
	}), "silent")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-got; cancel() }()
	if _, err := a.Request(ctx, a.PID(b.Address(), "silent"), text("hello")); !errors.Is(err, phalanx.ErrCanceled) {
		t.Errorf("got %v, want canceled", err)
	}
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	if _, err := a.Request(late, a.PID(b.Address(), "silent"), text("hello")); !errors.Is(err, phalanx.ErrDeadline) {
		t.Errorf("got %v, want deadline", err)
	}
}

func TestClosedPeerIsToldOnBothSidesAndComesBack(t *testing.T) {
	a, b, c := start(t, remoting.Config{}), start(t, remoting.Config{}), start(t, remoting.Config{})
	for _, n := range []*node{a, b, c} {
		n.echo(t, "echo")
	}
	a.ask(t, b, "hello")
	a.ask(t, c, "hello")
	ended := make(chan *actor.Terminated, 1)
	pid := a.sys.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
		switch m := ctx.Message().(type) {
		case *actor.Started:
			ctx.Watch(a.PID(b.Address(), "echo"))
			ctx.Request(a.PID(b.Address(), "echo"), text("after the watch"))
		case *wrapperspb.StringValue:
			a.ClosePeer(b.Address())
		case *actor.Terminated:
			ended <- m
		}
	}))
	if m := <-ended; m.GetWho().GetAddress() != b.Address() || m.GetWhy() != actor.TerminatedReason_AddressTerminated {
		t.Errorf("Terminated is %v, want the address of b", m)
	}
	for _, err := range []error{a.want(t, b.Address()), b.want(t, a.Address())} {
		if text := err.Error(); strings.Contains(text, "rpc") || strings.Contains(text, "context") {
			t.Errorf("was told of %v", err)
		}
	}
	a.insist(t, b, "again")
	b.insist(t, a, "again")
	a.ask(t, c, "still")
	for len(c.broken) > 0 {
		t.Errorf("c was told of %v", <-c.broken)
	}
	_ = a.sys.Root.StopFuture(pid).Wait()
}

func TestStopFailsWhatWaitsAndTellsPeers(t *testing.T) {
	a, b := start(t, remoting.Config{}), start(t, remoting.Config{})
	b.echo(t, "echo")
	a.ask(t, b, "hello")
	got := make(chan bool, 1)
	silent, err := b.sys.Root.SpawnNamed(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(*wrapperspb.StringValue); ok {
			got <- true
		}
	}), "silent")
	if err != nil {
		t.Fatal(err)
	}
	to := a.PID(b.Address(), silent.Id)
	failed := make(chan error, 1)
	go func() {
		_, err := a.Request(within(t), to, text("hello"))
		failed <- err
	}()
	<-got
	a.Stop()
	if err := <-failed; !errors.Is(err, phalanx.ErrClosed) {
		t.Errorf("the request failed with %v, want closed", err)
	}
	b.want(t, a.Address())
	if _, err := a.Request(within(t), to, text("hello")); !errors.Is(err, phalanx.ErrClosed) {
		t.Errorf("a later request failed with %v, want closed", err)
	}
	if _, err := a.sys.Root.RequestFuture(to, text("hello"), -1).Result(); !errors.Is(err, actor.ErrDeadLetter) {
		t.Errorf("a later message through the system: %v, want a dead letter", err)
	}
	a.Stop()
	for len(a.broken) > 0 {
		t.Errorf("a was told of %v after its own end", <-a.broken)
	}
}

func TestStopWhileOthersSend(t *testing.T) {
	a, b := start(t, remoting.Config{}), start(t, remoting.Config{})
	b.echo(t, "echo")
	a.ask(t, b, "hello")
	parallel(8, func(i int) {
		if i == 0 {
			a.Stop()
			return
		}
		for range 200 {
			if _, err := a.Request(within(t), a.PID(b.Address(), "echo"), text("x")); errors.Is(err, phalanx.ErrDeadline) {
				t.Error(err)
			}
		}
	})
}

func TestAddressesThatCannotBe(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct{ bind, advertise, want string }{
		{taken.Addr().String(), "", "cannot listen on " + taken.Addr().String() + ": bind: address already in use"},
		{"127.0.0.1", "", `cannot listen on "127.0.0.1": address 127.0.0.1: missing port in address`},
		{"127.0.0.1:http!", "", `"http!" is not a port`},
		{"127.0.0.1:65536", "", `"65536" is not a port`},
		{"0.0.0.0:0", "", "0.0.0.0:0 is every address of this machine"},
		{":0", "", ":0 is every address"},
		{"[::]:0", "", "[::]:0 is every address"},
		{"127.0.0.1:0", "host:port", `cannot advertise "host:port": "port" is not a port`},
		{"127.0.0.1:0", ":7000", `cannot advertise ":7000": the address names no host`},
	} {
		log := quiet()
		_, err := remoting.Start(actors.NewSystem("a", log), remoting.Config{Bind: c.bind, Advertise: c.advertise, Log: log})
		if !errors.Is(err, phalanx.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("bind %q, advertise %q: %v, want invalid with %q", c.bind, c.advertise, err, c.want)
		}
	}
}

func TestAdvertisedAddressIsDialled(t *testing.T) {
	a := start(t, remoting.Config{Bind: "0.0.0.0:0", Advertise: "localhost"})
	if host, port, err := net.SplitHostPort(a.Address()); err != nil || host != "localhost" || port == "0" {
		t.Fatalf("the address is %q, want localhost and the port", a.Address())
	}
	a.echo(t, "echo")
	b := start(t, remoting.Config{})
	b.ask(t, a, "hello")
	b.echo(t, "echo")
	a.ask(t, b, "hello")
	c := start(t, remoting.Config{Advertise: "localhost:7"})
	if c.Address() != "localhost:7" {
		t.Errorf("the address is %q, want localhost:7", c.Address())
	}
}

func TestWatchAcrossNodes(t *testing.T) {
	a, b := start(t, remoting.Config{}), start(t, remoting.Config{})
	b.echo(t, "echo")
	ended := make(chan *actor.Terminated, 10)
	watch := func(addresses ...string) *actor.PID {
		watches := make(chan struct{}) // before what the test sends next
		defer func() { <-watches }()
		return a.sys.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
			switch m := ctx.Message().(type) {
			case *actor.Started:
				for _, address := range addresses {
					ctx.Watch(a.PID(address, "echo"))
				}
				close(watches)
			case *actor.Terminated:
				ended <- m
			}
		}))
	}
	one := watch(b.Address())
	a.ask(t, b, "the watch is there")
	_ = b.sys.Root.StopFuture(b.sys.NewLocalPID("echo")).Wait()
	if m := <-ended; m.GetWhy() != actor.TerminatedReason_Stopped || m.GetWho().GetId() != "echo" {
		t.Errorf("Terminated is %v, want that echo stopped", m)
	}
	gone := unused(t)
	two := watch(b.Address(), gone) // one that is not there any more, and one on no node
	for range 2 {
		switch m := <-ended; m.GetWho().GetAddress() {
		case b.Address():
			if m.GetWhy() != actor.TerminatedReason_NotFound && m.GetWhy() != actor.TerminatedReason_Stopped {
				t.Errorf("Terminated is %v, want not found", m)
			}
		case gone:
			if m.GetWhy() != actor.TerminatedReason_AddressTerminated {
				t.Errorf("Terminated is %v, want the address", m)
			}
		}
	}
	_ = a.sys.Root.StopFuture(one).Wait()
	_ = a.sys.Root.StopFuture(two).Wait()
}

func BenchmarkRequest(b *testing.B) {
	one, two := start(b, remoting.Config{}), start(b, remoting.Config{})
	two.echo(b, "echo")
	to := one.PID(two.Address(), "echo")
	for b.Loop() {
		if _, err := one.Request(b.Context(), to, text("hello")); err != nil {
			b.Fatal(err)
		}
	}
}

// A port that is no node's control port is said to be none.
func TestAStrangerIsNoNode(t *testing.T) {
	a := start(t, remoting.Config{})
	secure := start(t, remoting.Config{Client: &tls.Config{InsecureSkipVerify: true}})
	for _, h2 := range []bool{false, true} {
		server, from := httptest.NewUnstartedServer(http.NotFoundHandler()), a
		if server.EnableHTTP2 = h2; h2 {
			server.StartTLS()
			from = secure
		} else {
			server.Start()
		}
		_, err := from.Request(within(t), from.PID(server.Listener.Addr().String(), "echo"), text("hello"))
		if !errors.Is(err, phalanx.ErrUnavailable) || !strings.Contains(err.Error(), "the port serves HTTP: give the control port of a node") {
			t.Errorf("HTTP/2 %v: %v", h2, err)
		}
		server.CloseClientConnections()
		server.Close()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	if _, err := a.Request(within(t), a.PID(l.Addr().String(), "echo"), text("hello")); !errors.Is(err, phalanx.ErrUnavailable) || !strings.Contains(err.Error(), "has not answered as the control port") {
		t.Errorf("one that hangs up: %v", err)
	}
}
