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
	None              Mistake = iota
	SkipCycleCheck            // directory: a sender is chosen that reads from its receiver
	HandOutLeased             // directory: a sender is given to a second receiver
	ReportDelists             // directory: a failure report takes the sender off the list
	KeepStaleLease            // directory: a lease outlives its sender
	AckWithoutBackup          // directory: a change is acknowledged before the backup has it
	LoseTombstone             // directory: a snapshot for a new replica leaves tombstones out
	LoseWaiter                // directory: a waiting Get is forgotten when the view changes
	IgnoreGeneration          // directory: Final and Announce count for another generation than they name
	EvictOnlyCopy             // directory: leave to evict is given whatever else is listed
	RestartInPlace            // directory: a Restart keeps the generation
	DeleteKeepsCopies         // directory: holders are not told of a Delete
	KeepPrefix                // transfer: the bytes of an older generation stay
	CompleteUnfinal           // transfer: a copy is complete before the owner has said so
	SkipClear                 // reduce: an ancestor of a place that failed keeps its result
	FinaliseEarly             // reduce: the target becomes final before its sources
	LeaveEmpty                // reduce: a delivered place is not replaced when its parent is lost
	AddTwice                  // reduce: a source that has replaced another is placed again
	OutOfOrder                // reduce: places are not filled in in-order
	PromoteNext               // view: a replica that is not in sync becomes owner
	OneWitness                // detect: one witness is enough to remove a node
	mistakes
)

var names = [...]string{"none", "skip the cycle check", "hand out a leased sender", "a report delists the sender", "keep a stale lease",
	"acknowledge without the backup", "lose a tombstone in a move", "lose a waiter at a move", "ignore a generation", "evict the only copy",
	"restart in place", "a delete keeps copies", "keep the prefix of an older generation", "complete before it is final", "skip clearing an ancestor",
	"finalise before the sources are final", "leave a delivered place empty when its parent is lost", "add a source twice after replacement",
	"fill places out of order", "promote a replica that is not in sync", "remove on the word of one witness"}

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
