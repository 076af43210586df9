package workflow

import (
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx/messages"
)

// Event is a step that ends when the run is sent the signal called name; its output is what the signal brings. It waits after
// others if some are given. It panics if no codec takes T, or without a name.
func Event[T any](name string, others ...AnyStep) Step[T] {
	if name == "" || len(name) > maxName {
		panic(fmt.Sprintf("workflow: an event is called %q; it needs a name of up to %d bytes", name, maxName))
	}
	return After(Step[T]{&node{kind: messages.CallEvent, name: name, makes: codecFor[T]()}}, others...)
}

// Sleep is a step that ends d after it has begun, which is when the others have ended. It panics if d is negative.
func Sleep(d time.Duration, others ...AnyStep) Step[None] {
	if d < 0 {
		panic(fmt.Sprintf("workflow: nobody sleeps for %v", d))
	}
	return After(Step[None]{&node{kind: messages.CallSleep, pause: d, makes: codecFor[None]()}}, others...)
}
