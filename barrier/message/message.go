// Package message has what application actors and the barriers of their node send to
// each other: the calls of package barrier as messages.
package message

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	core "github.com/phalanx-go/phalanx/protocol/barrier"
)

// Of package barrier.
type (
	Config = core.Config
	Entry  = core.Entry
)

// What application actors send to the actor that node.Service(Name) is. It answers
// the actors of its node only, and takes pointers to these. Deadline is for how long
// it may take; 0: a minute longer than Config.Timeout. A Config that is zero is the one that
// others give, as that of barrier.Join.
type (
	// Enter enters a barrier; it is answered by Entered, when the sender goes on.
	Enter struct {
		Name       string
		Generation uint64
		Config     Config
		Entry      Entry
		Deadline   time.Duration
	}

	// Release releases a semaphore; it is answered by Released.
	Release struct {
		Name       string
		Generation uint64
		Config     Config
		Entry      Entry
		Deadline   time.Duration
	}

	// Leave leaves a double barrier; it is answered by Left, when all have who are inside.
	Leave struct {
		Name       string
		Generation uint64
		Config     Config
		Entry      Entry
		Deadline   time.Duration
	}

	// Remove ends a barrier; it is answered by Removed.
	Remove struct {
		Name       string
		Generation uint64
		Deadline   time.Duration
	}

	// Hosts asks who was let through; it is answered by Passed.
	Hosts struct {
		Name       string
		Generation uint64
		Deadline   time.Duration
	}

	// Watch has the barrier's callbacks sent to To, or to the sender: an Asked, whose
	// sender is to be sent the Verdict, and Notified. It is answered by Watching.
	Watch struct {
		Name       string
		Generation uint64
		Config     Config
		To         *actor.PID
		Deadline   time.Duration
	}
)

// The answers.
type (
	Entered struct {
		Passage
		Err error
	}
	Released struct{ Err error }
	Left     struct{ Err error }
	Removed  struct{ Err error }
	Passed   struct {
		Hosts map[string][]string
		Err   error
	}
	Watching struct{ Err error }
)

// What is sent to an actor that watches.
type (
	// Asked is a question of the barrier called Name. Its sender is to be sent a
	// Verdict with the same Ask.
	Asked struct {
		Name       string
		Generation uint64
		Ask        uint64
		Question
		Releasing bool // it is asked how many come after one that has released a semaphore
		Suggested int
	}

	// Verdict answers an Asked.
	Verdict struct {
		Name       string
		Generation uint64
		Ask        uint64
		Fire       bool // false is a veto
		N          int  // how many come, if it was asked for a release
	}

	// Notified is a Notice of the barrier called Name.
	Notified struct {
		Name       string
		Generation uint64
		Notice
	}
)

// Passage is how one was let through.
type Passage struct {
	Late  bool   // after the barrier had fired without it
	Term  uint64 // of the manager that said so
	Batch uint64 // within the term, of what the manager had decided until then
}

// Fence returns the number of the passage.
func (p Passage) Fence() Fence { return Fence{p.Term, p.Batch} }

// Question asks whether the barrier is to fire.
type Question struct {
	Entry        Entry // who enters; empty if the callback was not called for Config.CallbackTimeout
	WouldRelease bool  // the barrier would fire
	Knee         bool  // since a knee was found
}

// Notice says what has happened.
type Notice struct {
	What   core.What
	Entry  Entry    // that comes late, or held a semaphore for too long
	Cause  string   // why the barrier has fired
	N, Max int      // units that are there, and of how many
	Absent []string // who is not there: of Config.Expect, or else the members on which nobody has entered
	Lost   []string // units that are there, and whose nodes are gone: nobody can tell them
}
