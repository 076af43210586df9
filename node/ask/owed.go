package ask

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

const (
	tellAgain = 100 * time.Millisecond // holdings that were not taken, then twice as late
	tellMax   = 800 * time.Millisecond // at most: an owner with much to do must not get more of it
)

// owed is what a node owes the owner of a shard: to tell it what it holds, until
// that has taken it (specification 2.6). What it was told counts for as long as
// it is the owner, and the shard is not rebuilt.
type owed struct {
	Owner phalanx.NodeID
	Epoch uint64 // the newest that is known

	first  uint64 // the epoch since which it is known to be the owner
	lostAt uint64
	taken  bool
	told   bool
	again  time.Duration // when it is told again
	wait   time.Duration // and how long after that
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
	switch {
	case !o.Open() || o.told && now < o.again:
		return false
	case !o.told:
		o.told, o.wait = true, tellAgain
	default:
		o.wait = min(2*o.wait, tellMax)
	}
	o.again = now + o.wait
	return true
}
