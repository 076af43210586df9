package directory

import (
	"io"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/protocol/view"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// A replica whose actor has panicked knows in which view it has lost its state: it asks the
// view to drop it.
func TestAReplicaThatWasRestartedTellsThatItsStateIsLost(t *testing.T) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	system := actors.NewSystem("a", log)
	defer system.Shutdown()
	restarting := actors.Restarting(log)
	lost, began := make(chan uint64, 1), time.Now()
	h := NewHost(HostConfig{Self: "a", System: system, Transport: &outbox{}, Now: func() time.Duration { return time.Since(began) }, Log: log,
		Spawn: func(p *actor.Props, name string) (*actor.PID, error) {
			return system.Root.SpawnNamed(restarting.Guard(p), name)
		},
		CaughtUp:  func(int, uint64, phalanx.NodeID) {},
		LostState: func(_ int, epoch uint64) { lost <- epoch },
		Publish:   func(any) {},
		Memory:    dataplane.NewBudget(1 << 20),
	})
	defer h.Close()
	h.Learn(view.View{Number: 7, Members: []view.Member{{ID: "a"}, {ID: "b"}}, Shards: []view.Shard{{Epoch: 5, Owner: "a", Backup: "b"}}})
	system.Root.Send(h.shards[0], actors.Crash{})
	select {
	case epoch := <-lost:
		if epoch != 5 {
			t.Errorf("it tells of epoch %d", epoch)
		}
	case <-time.After(10 * time.Second):
		t.Error("it tells nothing")
	}
}
