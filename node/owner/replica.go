package owner

import (
	"fmt"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Replicates reports whether a node has a replica of a shard.
func Replicates(self phalanx.NodeID, s view.Shard) bool {
	return s.Owner == self || s.Backup == self || s.Next == self
}

// Configure returns a shard's part of a view for the replicas of the shard.
func Configure(v view.View, shard int) directory.Configure {
	s := v.Shards[shard]
	members, leaving := v.IDs("")
	return directory.Configure{Epoch: s.Epoch, Owner: s.Owner, Backup: s.Backup, Next: s.Next, Members: members, Leaving: leaving, Number: v.Number, LostAt: s.LostAt}
}

// NotHere answers a request for a shard of which this node has no replica; false: ev is none.
func NotHere(self phalanx.NodeID, shard int, ev directory.Event) (directory.Reply, bool) {
	r, ok := ev.(directory.Request)
	return directory.Reply{To: r.From, Num: r.Num, Object: r.Object, Result: directory.Result{
		Kind: phalanx.ErrUnavailable, NotOwner: true, Text: fmt.Sprintf("%s does not own shard %d", self, shard)}}, ok
}
