package detector

import (
	"io"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/leaks"
)

func TestMain(m *testing.M) { leaks.VerifyTestMain(m) }

// An actor that is restarted although it was stopped holds nothing, and takes no messages.
func TestARestartAfterTheStop(t *testing.T) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	system := actors.NewSystem("n1", log)
	defer system.Shutdown()
	d, err := Start(Config{System: system, Self: "n1#1", Clock: actors.NewClock(), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	d.Stop()
	zombie := &instance{d: d}
	pid := system.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return zombie }))
	system.Root.Send(pid, ended{"n2#1"})
	if err := system.Root.PoisonFuture(pid).Wait(); err != nil {
		t.Fatal(err)
	}
	if zombie.timer != nil || zombie.core != nil {
		t.Errorf("it has begun: %+v", zombie)
	}
}
