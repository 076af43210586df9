package barrier

import (
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	core "github.com/phalanx-go/phalanx/protocol/barrier"
)

// What application actors send to the actor that node.Service(Name) is. It answers
// the actors of its node only, and takes pointers to these. Deadline is for how long
// it may take, a minute if it is 0; who asks for longer says so.
type (
	// Enter enters a barrier; it is answered by Entered, when the sender goes on.
	Enter struct {
		Name       string
		Generation uint64
		Config     Config
		Label      string
		Host       string // empty: the node
		Deadline   time.Duration
	}

	// Release releases a semaphore; it is answered by Released.
	Release struct {
		Name       string
		Generation uint64
		Config     Config
		Label      string
		Host       string
		Deadline   time.Duration
	}

	// Hosts asks who was let through; it is answered by Passed.
	Hosts struct {
		Name       string
		Generation uint64
		Deadline   time.Duration
	}

	// Watch has the barrier's callbacks sent to To, or to the sender: an Asked, whose
	// sender is to be sent the Verdict, and Notice. It is answered by Watching.
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

	// Told is a Notice of the barrier called Name.
	Told struct {
		Name       string
		Generation uint64
		Notice
	}
)

// Messages of this package to the actor.
type (
	asked struct {
		call    core.Call
		watcher *watcher
		to      *actor.PID // of an actor that watches
		watch   *watch
		hold    *Hold // that it makes
		end     func(ending)
		taken   atomic.Bool // by its end, or by a caller that has gone
		id      uint64
		timer   *time.Timer
		why     error // it was given up
	}
	givenUp struct {
		*asked
		cause error
	}
	unwatch struct {
		key core.Key
		cfg Config
		w   *watcher
	}
)

// ending is how a call ends: with what the core says, or given up for a cause.
type ending struct {
	done  core.Done
	given core.GivenUp
	cause error
}
