package barrier

import (
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	core "github.com/phalanx-go/phalanx/protocol/barrier"
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
		joins   bool          // its Config is the one that others give
		refused Config        // of these, the one that the barrier does not go by any more
		began   time.Duration // by the node's clock
		patient bool          // its caller does not say how long it may take
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

// ending is how a call ends: with what the core says and the Config that it went by, or given up
// for a cause.
type ending struct {
	done  core.Done
	given core.GivenUp
	cause error
	bad   error // what is wrong with it, by the Config that others gave
}
