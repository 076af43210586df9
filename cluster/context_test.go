package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// mutely is a reader that gives nothing before its context ends.
type mutely struct{ context.Context }

func (m mutely) Read([]byte) (int, error) {
	<-m.Done()
	return 0, m.Err()
}

// Every call whose context ends fails with an error that is that of the context too, which
// is what Go programs ask for.
func TestErrorsOfAContextThatEnds(t *testing.T) {
	t.Parallel() // it mostly waits
	silentKind := actor.PropsFromFunc(func(actor.Context) {})
	nodes := start(t, 3, silent, tight)
	steady(t, nodes)
	n, other := nodes[0], nodes[1]
	mute, err := other.Spawn(silentKind, "mute")
	if err != nil {
		t.Fatal(err)
	}
	far := actor.NewPID(other.ControlAddr(), mute.Id)
	put(t, nodes[2], "full", random(roomOf/4*3, 1))
	full, err := other.Get(within(t), "full") // while it is read, another of its size has no room there
	if err != nil {
		t.Fatal(err)
	}
	defer full.Release()
	put(t, n, "large", random(roomOf/4*3, 2))
	none := []phalanx.ObjectID{"none", "none2"}
	sum := storenode.Reduce{Target: "sum", Sources: none, Op: "sum"}
	calls := map[string]func(context.Context) error{
		"get":  func(ctx context.Context) error { _, err := n.Get(ctx, "none"); return err },
		"open": func(ctx context.Context) error { _, err := n.Open(ctx, "none"); return err },
		"put into a full store": func(ctx context.Context) error {
			_, err := other.Put(ctx, "fuller", random(roomOf/4*3, 3))
			return err
		},
		"put of a slow reader": func(ctx context.Context) error {
			_, err := n.PutReader(ctx, phalanx.ObjectID(fmt.Sprint("slow", time.Now().UnixNano())), mutely{ctx}, 100_000)
			return err
		},
		"get that has no room": func(ctx context.Context) error { _, err := other.Get(ctx, "large"); return err },
		"watch": func(ctx context.Context) error {
			return n.Watch(ctx, "none", func(cluster.Locations) bool { return true })
		},
		"prefetch":   func(ctx context.Context) error { return n.Prefetch(ctx, "none", other.ID()) },
		"gather":     func(ctx context.Context) error { _, err := n.Gather(ctx, none, 1); return err },
		"all-gather": func(ctx context.Context) error { _, err := n.AllGather(ctx, none); return err },
		"reduce":     func(ctx context.Context) error { _, err := n.Reduce(ctx, sum); return err },
		"all-reduce": func(ctx context.Context) error { _, _, err := n.AllReduce(ctx, sum); return err },
		"request":    func(ctx context.Context) error { _, err := n.Request(ctx, far, &emptypb.Empty{}); return err },
		"join": func(ctx context.Context) error {
			_, err := cluster.Join(ctx, cluster.Config{Name: "late", Memory: 1 << 20, Seeds: []string{"127.0.0.1:1"}})
			return err
		},
		"read": func(ctx context.Context) error {
			id := phalanx.ObjectID(fmt.Sprint("begun", time.Now().UnixNano()))
			making, stop := context.WithCancel(context.Background())
			defer stop()
			from, to := io.Pipe()
			go func() { _, _ = n.PutReader(making, id, from, 1_000_000); _ = from.Close() }()
			go func() { _, _ = to.Write(random(200_000, 4)) }()
			defer to.Close()
			r, err := n.Open(ctx, id)
			if err != nil {
				return err
			}
			defer r.Close()
			_, err = io.Copy(io.Discard, r)
			return err
		},
	}
	ended := map[string]func(context.Context) error{ // calls that have an answer soon
		"put":    func(ctx context.Context) error { _, err := n.Put(ctx, "x", []byte("x")); return err },
		"stat":   func(ctx context.Context) error { _, err := n.Stat(ctx, "x"); return err },
		"list":   func(ctx context.Context) error { _, err := n.List(ctx, ""); return err },
		"delete": func(ctx context.Context) error { return n.Delete(ctx, "x") },
		"try":    func(ctx context.Context) error { _, err := n.TryGet(ctx, "x"); return err },
		"tree":   func(ctx context.Context) error { _, err := n.Tree(ctx, "x"); return err },
		"spawn":  func(ctx context.Context) error { _, err := n.SpawnOn(ctx, other.ID(), "kind", ""); return err },
		"leave":  n.Leave,
	}
	check := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s ended with %v, want %v", what, err, want)
		}
		if not := map[error]error{context.Canceled: context.DeadlineExceeded, context.DeadlineExceeded: context.Canceled}[want]; errors.Is(err, not) {
			t.Errorf("%s ended with %v, which is %v", what, err, not)
		}
		var e *phalanx.Error
		if !errors.As(err, &e) {
			t.Errorf("%s ended with a %T", what, err)
		}
	}
	for name, call := range calls {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		check(name+" with a deadline", call(ctx), context.DeadlineExceeded)
		cancel()
		ctx, cancel = context.WithCancel(context.Background())
		time.AfterFunc(100*time.Millisecond, cancel)
		check(name+" that is canceled", call(ctx), context.Canceled)
		ended[name] = call
	}
	for name, call := range ended {
		ctx, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
		check(name+" after the deadline", call(ctx), context.DeadlineExceeded)
		cancel()
		ctx, cancel = context.WithCancel(context.Background())
		cancel()
		check(name+" after it was canceled", call(ctx), context.Canceled)
	}
}

// A Join whose context has ended before a seed was asked says so, without an empty part.
func TestJoinWithAnEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := cluster.Join(ctx, cluster.Config{Name: "late", Memory: 64 << 20, Seeds: []string{"127.0.0.1:1"}})
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), ": :") {
		t.Errorf("it ended with %v", err)
	}
}
