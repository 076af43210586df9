package cluster_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if config := os.Getenv(benchVar); config != "" { // a node of a benchmark
		if err := runNode(config); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(touchVar) != "" {
		touch()
		return
	}
	goleak.VerifyTestMain(m,
		// The library's dead letters leave their throttle behind, which ends by itself.
		goleak.IgnoreAnyFunction("github.com/asynkron/protoactor-go/actor.NewThrottle.func1"),
		goleak.IgnoreAnyFunction("github.com/asynkron/protoactor-go/actor.startTimer.func1"),
	)
}
