package coordinator_test

import (
	"fmt"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
)

// Of very many sources only some are asked about at a time, so that their owners are not
// flooded; and a shard that does not answer holds up none of the others.
func TestWatchesOfManySourcesAreOpenedInPortions(t *testing.T) {
	const n, atOnce, shards, silent = 6000, 1024, 4, 3
	bubble(t, 10, func(t *testing.T, b *bed) {
		b.dir.shards = shards
		sources := make([]phalanx.ObjectID, n)
		ofSilent := 0
		for i := range sources {
			sources[i] = phalanx.ObjectID(fmt.Sprint("source/", i))
			if sources[i].Shard(shards) == silent {
				ofSilent++
			}
		}
		b.reduce(storenode.Reduce{Target: "sum", Sources: sources, Op: phalanx.Sum})
		answered := map[uint64]bool{}
		for {
			b.dir.mu.Lock()
			open := map[uint64]*watch{}
			for num, w := range b.dir.watches {
				if !answered[num] {
					open[num] = w
				}
			}
			b.dir.mu.Unlock()
			if len(open) > atOnce {
				t.Fatalf("%d watches are not answered yet, want at most %d", len(open), atOnce)
			}
			before := len(answered)
			for num, w := range open {
				if w.id.Shard(shards) != silent {
					answered[num] = true
					w.deliver(directory.Readiness{Object: w.id, State: directory.Unbound})
				}
			}
			if len(answered) == before {
				break
			}
			b.pass(0)
		}
		if len(answered) != n-ofSilent {
			t.Errorf("%d sources were watched and answered, want %d", len(answered), n-ofSilent)
		}
	})
}
