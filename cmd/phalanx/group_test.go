package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/group"
)

// The program's nodes take part in barriers. They run no application that could be
// in a group, and show those of others.
func TestGroupOfApplications(t *testing.T) {
	d := start(t, "node", "-o", "json", "--control-port=0", "--data-port=0", "--http=127.0.0.1:0", "--memory=64MB", "--log-level=error")
	var r ready
	d.line(t, &r)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	log := logrus.New()
	log.SetOutput(io.Discard)
	var nodes []*cluster.Node
	for i := range 2 {
		n, err := cluster.Join(ctx, cluster.Config{Name: fmt.Sprint("app", i), Logger: log, Memory: 64 << 20, Seeds: []string{r.Control},
			Services: []cluster.Service{barrier.Service(), group.Service()}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := n.Leave(ctx); err != nil {
				t.Error(err)
			}
		}()
		nodes = append(nodes, n)
	}
	if _, ok := nodes[1].ServiceOn(r.Node, barrier.Name); !ok {
		t.Errorf("%s does not take part in barriers", r.Node)
	}
	members := group.Everyone(nodes[1])
	if len(members) != 2 {
		t.Fatalf("everyone is %v", members)
	}
	formed := make(chan error, 1)
	go func() { _, err := group.Form(ctx, nodes[0], "train", members); formed <- err }()
	g, err := group.Form(ctx, nodes[1], "train", members)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-formed; err != nil {
		t.Fatal(err)
	}
	if err := g.Revoke(ctx, "plan B"); err != nil {
		t.Fatal(err)
	}
	b := &bed{addr: r.HTTP, environ: []string{"PHALANX_ADDR=" + r.HTTP}}
	shown := ""
	for !strings.Contains(shown, `: "plan B"`) { // its view may not have the nodes yet
		if shown = b.run(t, "", "group", "train"); ctx.Err() != nil {
			t.Fatal(shown)
		}
	}
	must(t, shown, "train: 2 members\n", "  revoked  by "+string(nodes[1].ID())+" at ", "live  0  "+string(nodes[0].ID()), "live  1  "+string(nodes[1].ID()))
	d.interrupt(t, os.Interrupt)
}
