package directory

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	core "github.com/phalanx-go/phalanx/protocol/directory"
)

// How long a shard was not warm counts from when its owner learned that it is that,
// also if its backup changes meanwhile.
func TestHowLongAShardWasNotWarm(t *testing.T) {
	now, warm := time.Minute, []any(nil)
	s := &shard{number: 3, host: NewHost(HostConfig{Self: "a", Transport: &outbox{}, Now: func() time.Duration { return now },
		Publish: func(ev any) { warm = append(warm, ev) }})}
	s.core = core.New(core.Config{Self: "a"})
	s.take(core.Configure{Epoch: 1, Owner: "b", Members: []phalanx.NodeID{"b"}})
	now += time.Second
	s.take(core.Configure{Epoch: 2, Owner: "a", Members: []phalanx.NodeID{"a", "b"}})
	now += time.Second
	s.take(core.Configure{Epoch: 3, Owner: "a", Members: []phalanx.NodeID{"a"}})
	s.step(core.Lease{Until: time.Hour})
	now += time.Second
	s.step(core.Holdings{From: "a", Epoch: 3, Round: 1, End: true})
	if want := (actors.ShardWarm{Shard: 3, Epoch: 3, Took: 2 * time.Second}); len(warm) != 1 || warm[0] != want {
		t.Errorf("published %v, want %v", warm, want)
	}
}
