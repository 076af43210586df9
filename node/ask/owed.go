package ask

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// tellPauses are after how long holdings are told again that were not taken. An owner with much to
// do must not get more of it.
var tellPauses = retry.Pauses{First: 100 * time.Millisecond, Most: 800 * time.Millisecond}

// owed is what a node owes the owner of a shard: to tell it what it holds, until
// that has taken it (specification 2.6). What it was told counts for as long as
// it is the owner, and the shard is not rebuilt.
type owed struct {
	Owner phalanx.NodeID
	Epoch uint64 // the newest that is known

	first  uint64 // the epoch since which it is known to be the owner
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

// Take notes that owner has taken what it was told in epoch.
func (o *owed) Take(owner phalanx.NodeID, epoch uint64) {
	if owner == o.Owner && epoch >= o.first && epoch <= o.Epoch {
		o.taken = true
	}
}

// Open reports whether the owner has not taken it yet.
func (o *owed) Open() bool { return o.Owner != "" && !o.taken }

// Tell reports whether the owner is to be told now, and counts that as done.
func (o *owed) Tell(now time.Duration) bool {
	if !o.Open() || now < o.at() {
		return false
	}
	o.told.Sent(now)
	return true
}

// at returns when the owner is told: at once the first time.
func (o *owed) at() time.Duration {
	if !o.told.Waits() {
		return 0
	}
	return o.told.At(tellPauses)
}
