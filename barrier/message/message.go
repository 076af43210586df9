// Package message has the messages between application actors and the barriers of their
// node: the calls of package barrier as messages.
package message

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	core "github.com/phalanx-go/phalanx/protocol/barrier"
)

// Types of package barrier.
type (
	Config = core.Config
	Entry  = core.Entry
)

// Application actors send these to the actor node.Service(Name). It answers the
// actors of its node only, and takes pointers to these. Deadline bounds the call's
// duration; 0: a minute longer than Config.Timeout. With a zero Config the sender takes the
// Config that others give, as barrier.Join does.
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

	// Leave leaves a double barrier; Left answers it, when all participants inside have left.
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

	// Hosts asks for the hosts that were let through; Passed answers it.
	Hosts struct {
		Name       string
		Generation uint64
		Deadline   time.Duration
	}

	// Watch has the barrier's callbacks sent to To, or to the sender: Notified, and Asked,
	// whose sender needs a Verdict. Watching answers it.
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

// Messages to an actor that watches, and its answer.
type (
	// Asked is a question of the barrier called Name. The actor answers its sender with
	// a Verdict of the same Ask.
	Asked struct {
		Name       string
		Generation uint64
		Ask        uint64
		Question
		Releasing bool // the question is how many entries replace one that has released a semaphore
		Suggested int
	}

	// Verdict answers an Asked.
	Verdict struct {
		Name       string
		Generation uint64
		Ask        uint64
		Fire       bool // false is a veto
		N          int  // how many entries come, after a release
	}

	// Notified is a Notice of the barrier called Name.
	Notified struct {
		Name       string
		Generation uint64
		Notice
	}
)

// Passage says how an entry was let through.
type Passage struct {
	Late  bool   // after the barrier had fired without it
	Term  uint64 // of the manager that said so
	Batch uint64 // within the term: the manager's last batch of changes until then
}

// Fence returns the number of the passage.
func (p Passage) Fence() Fence { return Fence{p.Term, p.Batch} }

// Question asks whether the barrier is to fire.
type Question struct {
	Entry        Entry // the new entry; empty if the callback was not called for Config.CallbackTimeout
	WouldRelease bool  // the barrier would fire
	Knee         bool  // the cause is a knee
}

// Notice tells an event.
type Notice struct {
	What   core.What
	Entry  Entry    // that comes late, or held a semaphore for too long
	Cause  string   // why the barrier has fired
	N, Max int      // units that are there, and of how many
	Absent []string // missing units of Config.Expect, or else the members from which no participant has entered
	Lost   []string // units that have entered, and whose nodes are gone
}
