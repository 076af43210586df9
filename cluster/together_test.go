package cluster_test

import (
	"io"
	"sync"
	"testing"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/phalanx-go/phalanx/cluster"
)

// All but one leave at the same time: nobody waits for those that go as well,
// and shards that are handed to and fro find their replica.
func TestLeavingTogether(t *testing.T) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	said := logtest.NewLocal(log)
	nodes := start(t, 6, func(c *cluster.Config) { c.Logger = log })
	if _, err := nodes[3].Put(within(t), "kept", make([]byte, 100_000)); err != nil {
		t.Fatal(err)
	}
	if err := nodes[0].Prefetch(within(t), "kept", nodes[0].ID()); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, n := range nodes[1:] {
		wg.Go(func() {
			if err := n.Leave(within(t)); err != nil {
				t.Errorf("%s: %v", n.ID(), err)
			}
		})
	}
	wg.Wait()
	v, err := nodes[0].Get(within(t), "kept")
	if err != nil {
		t.Fatal(err)
	}
	v.Release()
	for _, e := range said.AllEntries() {
		if e.Level <= logrus.ErrorLevel {
			t.Errorf("%s %v", e.Message, e.Data)
		}
	}
}
