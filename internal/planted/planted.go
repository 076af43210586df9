// Package planted has the cores make a mistake on purpose, so that it can be
// tested that the simulator would find it. A core asks On where it could go
// wrong; without the build tag "mistakes" that is the constant false, and the
// compiler leaves the mistake out.
package planted

import "fmt"

// Mistake is one thing that a core does wrong.
type Mistake uint8

// The mistakes.
const (
	None                Mistake = iota
	SkipCycleCheck              // directory: a sender is chosen that reads from its receiver
	HandOutLeased               // directory: a sender is given to a second receiver
	ReportDelists               // directory: a failure report takes the sender off the list
	KeepStaleLease              // directory: a lease outlives its sender
	AckWithoutBackup            // directory: a change is acknowledged before the backup has it
	LoseTombstone               // directory: a snapshot for a new replica leaves tombstones out
	LoseWaiter                  // directory: a waiting Get is forgotten when the view changes
	IgnoreGeneration            // directory: Final and Announce count for another generation than they name
	EvictOnlyCopy               // directory: leave to evict is given whatever else is listed
	RestartInPlace              // directory: a Restart keeps the generation
	DeleteKeepsCopies           // directory: holders are not told of a Delete
	HearFormerOwner             // directory: a watch takes what a former owner says late
	EvictOvertakes              // directory: an Evict is sent beside the report that the copy is complete, and no other copy is looked for
	ForgetCopies                // directory: an object of a lost shard is to have one copy
	BelieveAccuser              // directory: one node that finds a digest wrong is believed
	KeepPrefix                  // transfer: the bytes of an older generation stay
	CompleteUnfinal             // transfer: a copy is complete before the owner has said so
	InlineAfterAll              // transfer: an object that others have a part of is finished inline
	SkipClear                   // reduce: an ancestor of a place that failed keeps its result
	FinaliseEarly               // reduce: the target becomes final before its sources
	LeaveEmpty                  // reduce: a delivered place is not replaced when its parent is lost
	AddTwice                    // reduce: a source that has replaced another is placed again
	OutOfOrder                  // reduce: places are not filled in in-order
	PromoteNext                 // view: a replica that is not in sync becomes owner
	OneWitness                  // detect: one witness is enough to remove a node
	CountLeaver                 // directory: a copy of a member that leaves counts as one that stays
	LeaveAfterOneLook           // leave: nobody looks again after the last thing has ended
	GoByOldProposal             // view, leave: a member that has handed over goes although one that it relied on is gone
	WaitUnwatched               // detect: nobody looks at a member whose answer is overdue
	LeaveOpToDeadline           // reduce: the coordinator does not heed a place whose op has failed
	ForgetDeleted               // directory: what was asked before a Delete binds the id after it
	BindBesideOldCopies         // directory: a deleted id is bound while nodes still have the old bytes
	ReleasedIsDeleted           // directory: a deleted id that is bound and released is told as deleted
	mistakes
)

var names = [...]string{"none", "skip the cycle check", "hand out a leased sender", "a report delists the sender", "keep a stale lease",
	"acknowledge without the backup", "lose a tombstone in a move", "lose a waiter at a move", "ignore a generation", "evict the only copy",
	"restart in place", "a delete keeps copies", "hear a former owner", "an eviction overtakes a report",
	"forget the copies of a lost shard", "believe one accuser", "keep the prefix of an older generation", "complete before it is final",
	"finish inline what others have a part of", "skip clearing an ancestor",
	"finalise before the sources are final", "leave a delivered place empty when its parent is lost", "add a source twice after replacement",
	"fill places out of order", "promote a replica that is not in sync", "remove on the word of one witness",
	"count the copy of a member that leaves", "leave after one look",
	"remove a member that relied on one that is gone",
	"wait for a member that nobody watches",
	"leave an op that fails to the deadline",
	"bind a deleted id for a late request",
	"bind a deleted id beside copies of before",
	"tell a released binding of a deleted id as a Delete"}

// String says what the mistake is.
func (m Mistake) String() string {
	if int(m) >= len(names) {
		return fmt.Sprintf("mistake %d", uint8(m))
	}
	return names[m]
}

// All returns every mistake.
func All() []Mistake {
	var all []Mistake
	for m := None + 1; m < mistakes; m++ {
		all = append(all, m)
	}
	return all
}
