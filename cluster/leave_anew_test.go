package cluster_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
)

// A service orders that the cluster is begun anew, or that its node enters the one that was. A node that leaves does so, and leaves
// later: what it has is there for the others, which enter meanwhile.
func TestLeavingNodeGoesTheOrderedWay(t *testing.T) {
	for name, begins := range map[string]bool{"it begins the cluster": true, "it enters": false} {
		t.Run(name, func(t *testing.T) {
			nodes := start(t, 2, silent)
			steady(t, nodes)
			leaver, other := nodes[1], nodes[0]
			order := func(n *cluster.Node) {
				if begins == (n == leaver) {
					n.Begin(1)
					return
				}
				for _, o := range nodes {
					if o != n {
						n.Enter(o.ControlAddr())
					}
				}
			}
			was := leaver.ID()
			r, w := io.Pipe()
			ended := make(chan error, 1)
			go func() { // keeps it from leaving
				_, err := leaver.PutReader(within(t), "slow", r, 1<<20)
				ended <- err
			}()
			if _, err := w.Write(make([]byte, 100_000)); err != nil {
				t.Fatal(err)
			}
			left := leaving(t, leaver)
			eventually(t, "it takes nothing new", func() bool {
				_, err := leaver.Put(within(t), "refused", []byte("1"))
				return errors.Is(err, phalanx.ErrClosed)
			})
			if !begins {
				order(other)
				eventually(t, "the cluster is begun", func() bool { return other.View().Restarts == 1 })
			}
			order(leaver)
			if err := <-left; !errors.Is(err, phalanx.ErrFenced) || !strings.Contains(err.Error(), "begun anew") {
				t.Fatalf("it left with %v", err)
			}
			_ = w.Close()
			if err := <-ended; err == nil {
				t.Error("half a Put has succeeded")
			}
			eventually(t, "it is in the new cluster", func() bool { return leaver.ID() != was && leaver.View().Restarts == 1 })
			put(t, leaver, "x", random(100_000, 1))
			left = leaving(t, leaver)
			if begins {
				order(other)
			}
			if err := <-left; err != nil {
				t.Fatal(err)
			}
			eventually(t, "the other one is in it, alone", func() bool { v := other.View(); return v.Restarts == 1 && len(v.Members) == 1 })
			has(t, other, "x", random(100_000, 1))
		})
	}
}
