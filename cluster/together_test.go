package cluster_test

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
)

// All but one leave at the same time: nobody waits for those that go as well or
// hands anything over to them, and shards that come back find their replica.
func TestLeavingTogether(t *testing.T) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	said := logtest.NewLocal(log)
	nodes := start(t, 6, func(c *cluster.Config) { c.Logger = log })
	const each = 5
	id := func(i, k int) phalanx.ObjectID { return phalanx.ObjectID(fmt.Sprintf("kept/%d/%d", i, k)) }
	for i, n := range nodes {
		for k := range each {
			if _, err := n.Put(within(t), id(i, k), bytes.Repeat([]byte{byte(i), byte(k)}, 60_000)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := nodes[0].Prefetch(within(t), id(3, 0), nodes[5].ID()); err != nil { // a copy that nobody has to keep
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
	for i := range nodes {
		for k := range each {
			v, err := nodes[0].Get(within(t), id(i, k))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(v.Bytes(), bytes.Repeat([]byte{byte(i), byte(k)}, 60_000)) {
				t.Errorf("%s has other bytes", id(i, k))
			}
			v.Release()
		}
	}
	for _, e := range said.AllEntries() {
		if e.Level <= logrus.ErrorLevel {
			t.Errorf("%s %v", e.Message, e.Data)
		}
	}
}
