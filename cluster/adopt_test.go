package cluster_test

import (
	"fmt"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx/cluster"
)

// All actors of the application end with their node, whoever spawned them, and
// also if many others have come and gone before.
func TestLeaveStopsEveryActor(t *testing.T) {
	ended := make(chan string, 200)
	nodes := start(t, 2, func(c *cluster.Config) {
		c.Kinds = map[string]func(*cluster.Node) *actor.Props{"app": func(*cluster.Node) *actor.Props {
			return actor.PropsFromFunc(func(c actor.Context) {
				if _, ok := c.Message().(*actor.Stopped); ok {
					ended <- c.Self().GetId()
				}
			})
		}}
	})
	for i := range 150 {
		pid, err := nodes[i%2].SpawnOn(within(t), nodes[1].ID(), "app", fmt.Sprint("short-", i))
		if err != nil {
			t.Fatal(err)
		}
		_ = nodes[i%2].System().Root.StopFuture(pid).Wait()
		<-ended
	}
	want := map[string]bool{}
	for i, by := range nodes {
		name := fmt.Sprint("long-", i)
		if _, err := by.SpawnOn(within(t), nodes[1].ID(), "app", name); err != nil {
			t.Fatal(err)
		}
		want[name] = true
	}
	if err := nodes[1].Leave(within(t)); err != nil {
		t.Error(err)
	}
	close(ended) // a later one panics
	for name := range ended {
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("still there after Leave: %v", want)
	}
}
