package store

import (
	"sync"
	"testing"

	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// The answer to the report of a copy may say which Reduce has made it while a call asks
// for that. The race detector watches.
func TestLearnWhileItIsAsked(t *testing.T) {
	table := NewTable(dataplane.NewBudget(1 << 20))
	c := small(t, table, "target", 30, true)
	var learning sync.WaitGroup
	learning.Go(func() {
		table.learn("target", c.Gen, directory.Result{State: directory.Finished, Gen: c.Gen, Tag: "tag", Note: []byte("answer")})
	})
	before := table.isTagged(c.info(), "other")
	learning.Wait()
	if before || table.isTagged(c.info(), "other") || !table.isTagged(c.info(), "tag") {
		t.Errorf("it is tagged %q", c.Tag)
	}
}
