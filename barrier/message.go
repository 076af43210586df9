package barrier

import (
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	core "github.com/phalanx-go/phalanx/protocol/barrier"
)

// The package's own messages to the actor.
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
		joins   bool          // other participants give its Config
		refused Config        // a Config of theirs that the barrier does not use any more
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

// ending is the end of a call: the core's answer and the Config that it used, or the cause for
// giving up.
type ending struct {
	done  core.Done
	given core.GivenUp
	cause error
	bad   error // its mistake, by the Config that others gave
}
