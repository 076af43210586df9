package cluster_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// A node that the others remove although it lives is back by itself, with its
// complete copies, its application's actors and what they hold.
func TestARemovedNodeJoinsAgain(t *testing.T) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	said := logtest.NewLocal(log)
	nodes := start(t, 5, func(c *cluster.Config) { c.Logger = log })
	ctx := within(t)
	victim := nodes[3]
	was := victim.ID()
	only, small := random(3<<20, 1), random(1000, 2)
	for id, data := range map[phalanx.ObjectID][]byte{"only": only, "small": small} {
		if _, err := victim.Put(ctx, id, data); err != nil {
			t.Fatal(err)
		}
	}
	replies := make(chan any, 10)
	app, err := victim.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case string:
			c.Request(victim.Store(), &storenode.Get{Object: phalanx.ObjectID(m)})
		case *storenode.Got:
			replies <- m
		}
	}), "app")
	if err != nil {
		t.Fatal(err)
	}
	victim.System().Root.Send(app, "only")
	held := (<-replies).(*storenode.Got)
	if held.Err != nil {
		t.Fatal(held.Err)
	}
	waits := make(chan error, 1) // for what nobody puts
	go func() {
		_, err := victim.Get(ctx, "never")
		waits <- err
	}()
	for victim.Status().Fetching == 0 {
		runtime.Gosched()
	}

	events := victim.Events(ctx)
	nodes[0].Oust(was)
	var back actors.NodeRejoined
	for e := range events {
		if r, ok := e.(actors.NodeRejoined); ok {
			back = r
			break
		}
	}
	if back.Was != was || back.Node != victim.ID() || back.Node == was || back.Node.Name() != was.Name() {
		t.Errorf("%s is back as %s, says %+v", was, victim.ID(), back)
	}
	for _, want := range []string{"the cluster has removed this node, which joins again", "has joined again as " + string(back.Node)} {
		if !slices.ContainsFunc(said.AllEntries(), func(e *logrus.Entry) bool { return strings.Contains(e.Message, want) }) {
			t.Errorf("the log does not say that %q", want)
		}
	}
	if err := <-waits; !errors.Is(err, phalanx.ErrFenced) {
		t.Errorf("what waited ended with %v", err)
	}
	if _, err := nodes[0].Stat(ctx, "only"); err != nil {
		t.Error(err)
	}
	for id, data := range map[phalanx.ObjectID][]byte{"only": only, "small": small} {
		for _, n := range []*cluster.Node{nodes[0], victim} {
			v, err := n.Get(ctx, id)
			if err != nil {
				t.Fatalf("%s: %v", n.ID(), err)
			}
			if !bytes.Equal(v.Bytes(), data) {
				t.Errorf("%s got other bytes of %s", n.ID(), id)
			}
			v.Release()
		}
	}
	if !bytes.Equal(held.View.Bytes(), only) {
		t.Error("the view that the actor holds has changed")
	}
	victim.System().Root.Send(app, "small") // it goes on
	if got := (<-replies).(*storenode.Got); got.Err != nil || !bytes.Equal(got.View.Bytes(), small) {
		t.Errorf("the actor got %v", got.Err)
	}
	if _, err := victim.Put(ctx, "after", only); err != nil {
		t.Error(err)
	}
	for _, n := range nodes {
		if has := n.View().Has(victim.ID()); !has || n.View().Has(was) {
			t.Errorf("%s has a view with %v", n.ID(), n.View().Members)
		}
	}
	_ = victim.System().Root.StopFuture(app).Wait() // releases what it held
	if err := nodes[0].Delete(ctx, "only"); err != nil {
		t.Error(err)
	}
}

// A process with the name of a node that lives is refused, and that one goes on.
func TestANameThatIsTaken(t *testing.T) {
	nodes := start(t, 4)
	ctx := within(t)
	_, err := cluster.Join(ctx, cluster.Config{Name: "n4", Memory: 64 << 20, Seeds: []string{nodes[0].ControlAddr()}})
	if !errors.Is(err, phalanx.ErrRefused) || !strings.Contains(err.Error(), string(nodes[3].ID())) {
		t.Errorf("it ended with %v", err)
	}
	put(t, nodes[3], "x", []byte("x"))
	if has := nodes[0].View().Has(nodes[3].ID()); !has || nodes[3].Err() != nil {
		t.Errorf("it is a member: %v, and ended with %v", has, nodes[3].Err())
	}
}
