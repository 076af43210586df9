package ask

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// request is a request that is neither answered nor forgotten.
type request struct {
	directory.Request
	by        any
	joined    []any // more callers that get the answer: their equal reports have joined this one
	watch     bool
	held      bool // a report, behind another one about the same object
	shard     int
	owner     phalanx.NodeID
	epoch     uint64         // of the shard, when it was last sent
	began     time.Duration  // or when the owner last answered that the request waits
	again     time.Duration  // when it is repeated
	times     int            // how often it was sent to this owner
	watched   heard          // of a watch
	ackTo     phalanx.NodeID // the owner to which WatchAcked is sent; "": none
	ackAt     time.Duration
	heard     time.Duration // when the owner answered last, or a new one took over
	told      time.Duration // when impatient last heard of silence
	impatient any           // the caller that hears of silence; nil: none
}

// content reports whether r is a watch that was answered, and not repeated since: it waits
// for nothing.
func (r *request) content() bool { return r.watch && r.times == 0 }

// lasts reports whether r goes on until it is answered or forgotten. A request that binds an
// id must not, unless it waits at the owner: once the tombstone has ended it would bind anew.
// Nor does a Delete, whose caller's deadline is sooner, or a report, for whose answer no caller waits.
func (r *request) lasts() bool {
	switch b := r.Body.(type) {
	case directory.Locate, directory.AwaitCopies, directory.Final, directory.Abort, directory.Restart, directory.Evict,
		directory.Watch, directory.Stat, directory.List:
		return true
	case directory.PutInline: // of a generation that was begun
		return !b.Gen.IsZero()
	}
	return false
}
