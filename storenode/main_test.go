package storenode

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The library's dead letters leave their throttle behind, which ends by itself.
		goleak.IgnoreAnyFunction("github.com/asynkron/protoactor-go/actor.NewThrottle.func1"),
		goleak.IgnoreAnyFunction("github.com/asynkron/protoactor-go/actor.startTimer.func1"),
	)
}
