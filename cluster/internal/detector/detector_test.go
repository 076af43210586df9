package detector

import (
	"io"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/leaks"
	"github.com/phalanx-go/phalanx/protocol/detect"
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

// An instance that follows a panic suspects no node, and takes back the suspicions before it: their nodes may have
// come back, and no instance would notice that.
func TestSuspicionsEndWithAPanic(t *testing.T) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	system := actors.NewSystem("n1", log)
	defer system.Shutdown()
	trusted := make(chan phalanx.NodeID, 1)
	d, err := Start(Config{System: system, Self: "n1#1", Clock: actors.NewClock(), Log: log,
		OnSuspect: func(detect.Suspect) {}, OnTrust: func(node phalanx.NodeID) { trusted <- node }})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Stop()
	if _, err := system.Root.RequestFuture(d.pid, &actor.Touch{}, 10*time.Second).Result(); err != nil { // the first instance has begun
		t.Fatal(err)
	}
	(&instance{d: d}).do(detect.Suspect{Node: "n2#1", Cause: detect.Refused})
	if _, suspected := d.Suspicion("n2#1"); !suspected {
		t.Fatal("it suspects no node")
	}
	d.tell(actors.Crash{})
	select {
	case node := <-trusted:
		if node != "n2#1" {
			t.Errorf("it trusts %s", node)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it trusts no node")
	}
	if s, suspected := d.Suspicion("n2#1"); suspected {
		t.Errorf("it suspects a node: %+v", s)
	}
}
