package actors_test

import (
	"sync/atomic"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/poll"
)

// Messages that come while an actor is being spawned reach it, each once.
func TestMessagesToAnActorThatIsBeingSpawned(t *testing.T) {
	sys := actors.NewSystem("x", quiet())
	for range 200 {
		var sent, seen atomic.Int32
		pid := sys.NewLocalPID("early")
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
				}
				if ref, there := sys.ProcessRegistry.GetLocal("early"); there {
					ref.SendUserMessage(pid, 1)
					sent.Add(1)
				}
			}
		}()
		props := actor.PropsFromFunc(func(c actor.Context) {
			if _, is := c.Message().(int); is {
				seen.Add(1)
			}
		}, actor.WithMailbox(actors.Early(actor.Unbounded())))
		if _, err := sys.Root.SpawnNamed(props, "early"); err != nil {
			t.Fatal(err)
		}
		poll.Until(t, "a message", func() bool { return sent.Load() > 0 })
		close(stop)
		<-stopped
		poll.Until(t, "all messages", func() bool { return seen.Load() == sent.Load() })
		if err := sys.Root.StopFuture(pid).Wait(); err != nil {
			t.Fatal(err)
		}
	}
}
