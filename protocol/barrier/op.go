package barrier

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// OpKind is a kind of change.
type OpKind uint8

// The kinds of changes, and which fields of an Op they use.
const (
	OpAdvance OpKind = iota // time has passed
	OpEnter                 // Entry, Node, Attempt: it has reached the barrier (REACHED, SEMAPHORE_REACHED)
	OpRelease               // Entry, Attempt: it has left the critical section, or does not wait any more (SEMAPHORE_RELEASED)
	OpWatch                 // Node: the callbacks are there
	OpUnwatch               // Node: they are no more
	OpVerdict               // Ask, Yes, N: a callback's answer
	OpGone                  // Node: it is no member any more
	OpClose                 // it is over, and is forgotten but for that
	OpRemove                // Node, Attempt: it ends, and its name is as new
	OpLeave                 // Entry, Node, Attempt: it leaves a double barrier
	opKinds
)

// Op is a change of a barrier. Barriers that take the same changes in the same
// order are alike.
type Op struct {
	Kind    OpKind
	At      time.Duration // by the barrier's clock, which starts with it and never goes back
	Entry   Entry
	Node    phalanx.NodeID // the participant's
	Attempt uint64         // a later one of the same entry is greater
	Holds   bool           // it was let through by a semaphore whose state was lost
	Ask     uint64
	Yes     bool
	N       int
}

// Verdict is the answer to a participant.
type Verdict uint8

// The verdicts.
const (
	Registered Verdict = iota // it waits
	Fire                      // it goes on; by a semaphore: it holds it
	LateFire                  // it goes on, after the barrier has fired without it
	Behind                    // CATCH_UP: the barrier has fired without it
	Released                  // it does not hold the semaphore any more, and does not wait for it
	TimedOut                  // the semaphore was taken from it
	Mismatch                  // the barrier has another Config; Field names the difference
	Doubtful                  // all managers of the barrier have died, and whether it had fired is not known
	Deleted                   // the barrier was removed while it waited
	Leaving                   // it leaves a double barrier, and waits until all participants inside leave
	Departed                  // all participants inside a double barrier have left it
	Outside                   // it is not inside a double barrier, and cannot leave it
	verdicts
)

func (v Verdict) String() string {
	return [...]string{"registered", "fire", "late fire", "catch up", "released", "timed out", "mismatch", "unknown", "deleted", "leaving", "departed", "outside"}[v]
}

// Cause is why a barrier has fired.
type Cause uint8

// The causes.
const (
	NotFired   Cause = iota
	ByMax            // all were there
	ByPercent        // enough were there, and MinWait had passed
	ByTimeout        // Timeout had passed
	ByKnee           // the arrivals slowed down
	ByCallback       // a callback said so
	causes
)

func (c Cause) String() string {
	return [...]string{"not fired", "all are there", "enough are there", "timeout", "knee", "callback"}[c]
}

// Effect is an effect of a Barrier.
type Effect interface{ effect() }

type (
	// Answer tells a participant how it stands.
	Answer struct {
		Nodes   []phalanx.NodeID
		Entry   Entry
		Attempt uint64
		Verdict Verdict
		Old     bool // it is of before the barrier was removed
	}

	// Ended tells a node that the barrier was removed, as its Attempt wanted.
	Ended struct {
		Node    phalanx.NodeID
		Attempt uint64
	}

	// Asked wants to know from the callbacks whether the barrier is to fire, or with
	// Releasing how many entries replace one that has left. Without an answer WouldRelease, or
	// Suggest, counts.
	Asked struct {
		Ask          uint64
		Entry        Entry // empty: no participant has entered since the last one
		WouldRelease bool
		Knee         bool
		Releasing    bool
		Suggest      int
	}

	// Happened is something that people want to know.
	Happened struct {
		What    What
		Entry   Entry
		Cause   Cause
		N       int           // units that are there
		Max     int           // of how many
		Absent  []string      // units of Expect that are not there
		Lost    []string      // units that are there and whose nodes are not
		After   time.Duration // since the first entry; of a holder, since it was let through
		Missing int           // how many are not there
	}
)

// What is a kind of Happened.
type What uint8

// The kinds of Happened.
const (
	Entered What = iota
	HasFired
	CameLate
	HolderExpired
	HolderGone
	KneeFound
	WasRemoved
	HasEmptied // all participants inside a double barrier have left it
	whats
)

func (Ended) effect()    {}
func (Answer) effect()   {}
func (Asked) effect()    {}
func (Happened) effect() {}
