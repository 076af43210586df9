package replica

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// Backups is a primary's knowledge of its key's backups, and of the batch that is on its way to
// them: there is one at a time. The state stays as it is until all have confirmed the batch.
type Backups struct {
	all   []backup
	batch Version
	stamp time.Duration // of this batch
	first time.Duration // when it was sent first, or the last piece of a state before it
	sends retry.Backoff
}

// backup is one of them.
type backup struct {
	node   phalanx.NodeID
	lacks  bool // the batch
	has    bool // the state of this term, before the batch
	copied int  // if not, how many items of it
}

// Begin sends a batch to the backups.
func (b *Backups) Begin(now time.Duration, batch Version, nodes []phalanx.NodeID) {
	if !slices.EqualFunc(b.all, nodes, func(one backup, n phalanx.NodeID) bool { return one.node == n }) {
		b.all = make([]backup, len(nodes))
		for i, n := range nodes {
			b.all[i].node = n
		}
	}
	for i := range b.all {
		b.all[i].lacks, b.all[i].copied = true, 0
	}
	b.batch, b.stamp, b.first, b.sends = batch, max(b.stamp+1, now), now, retry.Backoff{}
}

// Forget gives up the batch, and takes the backups for nodes that have no state: in a new term, or
// as the state is another one.
func (b *Backups) Forget() { b.all = nil }

// Lacks reports whether a node has not confirmed the batch.
func (b *Backups) Lacks(n phalanx.NodeID) bool {
	one := b.find(n)
	return one != nil && one.lacks
}

// Confirmed reports whether all backups have the batch.
func (b *Backups) Confirmed() bool {
	return !slices.ContainsFunc(b.all, func(one backup) bool { return one.lacks })
}

// Lagging returns the backups that lack the batch although it was sent so many times, in order.
func (b *Backups) Lagging(times int) (all []phalanx.NodeID) {
	for _, one := range b.all {
		if one.lacks && b.sends.Times() >= times {
			all = append(all, one.node)
		}
	}
	return all
}

// Stamp is the stamp of all pieces of the state before the batch.
func (b *Backups) Stamp() time.Duration { return b.stamp }

// From returns from which item on a backup gets the state before the batch; false: it has the state.
func (b *Backups) From(n phalanx.NodeID) (item int, state bool) {
	one := b.find(n)
	return one.copied, !one.has
}

// Sent takes note that the batch was sent to all backups that lack it.
func (b *Backups) Sent(now time.Duration) { b.sends.Sent(now) }

// At returns when the batch is sent again.
func (b *Backups) At(p retry.Pauses) time.Duration { return b.sends.At(p) }

// Took returns how long ago the batch was sent first.
func (b *Backups) Took(now time.Duration) time.Duration { return now - b.first }

// Awaits reports whether a node's confirmation counts: it is of the present batch, and the node
// has not confirmed that.
func (b *Backups) Awaits(from phalanx.NodeID, batch Version) bool {
	return batch == b.batch && b.Lacks(from)
}

// Confirmation is a backup's answer about the batch, if it is awaited.
type Confirmation struct {
	Need  bool          // it lacks the state before the batch
	Have  int           // the number of items that it has
	Stamp time.Duration // of the pieces that it has
}

// Outcome is the consequence of a confirmation.
type Outcome uint8

// The outcomes.
const (
	Nothing   Outcome = iota
	Confirmed         // this backup has made the batch
	Send              // the primary sends it the missing items at once
)

// Confirm takes a backup's answer.
func (b *Backups) Confirm(now time.Duration, from phalanx.NodeID, c Confirmation) Outcome {
	switch one := b.find(from); {
	case !c.Need:
		one.has, one.lacks = true, false
		return Confirmed
	case one.has: // it has lost it
		one.has = false
		return Send
	case c.Stamp == b.stamp && c.Have != one.copied: // else it is repeated when it is time
		one.copied = c.Have
		b.first, b.sends = now, retry.Once(now)
		return Send
	}
	return Nothing
}

func (b *Backups) find(n phalanx.NodeID) *backup {
	if i := slices.IndexFunc(b.all, func(one backup) bool { return one.node == n }); i >= 0 {
		return &b.all[i]
	}
	return nil
}
