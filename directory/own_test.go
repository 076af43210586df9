package directory_test

import (
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/directory"
	core "github.com/phalanx-go/phalanx/protocol/directory"
)

// The bytes that come from the node's own shard are copied: who gets them may change them.
func TestBytesOfTheOwnShardAreCopied(t *testing.T) {
	for _, owner := range []phalanx.NodeID{"me", "a"} {
		bubble(t, func(c *directory.Client, w *wire) {
			c.Learn(owned(1, owner))
			var got []byte
			c.Request("x", 7, core.Locate{}, func(_ phalanx.NodeID, r core.Result) { got = r.Inline })
			kept := []byte("bytes")
			c.Replied(owner, core.Reply{To: "me", Num: 7, Object: "x", Epoch: 1, Result: core.Result{Inline: kept}})
			if len(got) != 5 || (&got[0] == &kept[0]) != (owner == "a") {
				t.Errorf("of %s: %q", owner, got)
			}
		})
	}
}
