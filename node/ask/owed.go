package ask

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// tellPauses are the pauses before a node repeats holdings that the owner has not taken. A busy
// owner must not get more work.
var tellPauses = retry.Pauses{First: 100 * time.Millisecond, Most: 800 * time.Millisecond}

// owed is a node's duty to list its copies to the owner of a shard, until the owner has
// taken the list (specification 2.6). The list counts for as long as that node is the
// owner, and the shard is not rebuilt.
type owed struct {
	Owner phalanx.NodeID
	Epoch uint64 // the newest known

	first  uint64 // the epoch since which Owner is known to own the shard
	lostAt uint64
	taken  bool
	told   retry.Backoff
}

// Learn takes the shard's row in a new view. next says that no view was missed:
// there was no other owner in between.
func (o *owed) Learn(owner phalanx.NodeID, epoch, lostAt uint64, next bool) {
	switch {
	case o.Owner == owner && o.Epoch == epoch:
	case next && o.Owner == owner && o.lostAt == lostAt:
		o.Epoch = epoch
	default:
		*o = owed{Owner: owner, Epoch: epoch, first: epoch, lostAt: lostAt}
	}
}

// Take notes that owner has taken the list of epoch.
func (o *owed) Take(owner phalanx.NodeID, epoch uint64) {
	if owner == o.Owner && epoch >= o.first && epoch <= o.Epoch {
		o.taken = true
	}
}

// Open reports whether the owner has not taken the list yet.
func (o *owed) Open() bool { return o.Owner != "" && !o.taken }

// Tell reports whether the node lists its copies to the owner now, and counts that as done.
func (o *owed) Tell(now time.Duration) bool {
	if !o.Open() || now < o.at() {
		return false
	}
	o.told.Sent(now)
	return true
}

// at returns when the owner gets the list: at once the first time.
func (o *owed) at() time.Duration {
	if !o.told.Waits() {
		return 0
	}
	return o.told.At(tellPauses)
}
