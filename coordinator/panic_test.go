package coordinator_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// The caller goes away, and the actor fails while it handles that. The caller has its answer all
// the same, from the instance that failed or from the next one.
func TestPanicAsACallerGoesAway(t *testing.T) {
	for _, limit := range []int{10, 0} {
		bubble(t, limit, func(t *testing.T, b *bed) {
			places, panics := b.env.PlacesOn, false
			b.env.PlacesOn = func(n phalanx.NodeID) (*actor.PID, bool) {
				if panics {
					panics = false
					panic("once")
				}
				return places(n)
			}
			ctx, cancel := context.WithCancel(context.Background())
			r, done := sumAB, make(chan error, 1)
			go func() { _, err := b.env.Run(ctx, r, nil); done <- err }()
			synctest.Wait()
			reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
			b.ready("a", large, "n1#1")
			b.ready("b", large, "n2#1")
			panics = true
			cancel()
			b.pass(3 * time.Second)
			if panics {
				t.Fatal("no panic")
			}
			if limit > 0 {
				reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
				b.pass(time.Second)
				reply[directory.Abort](b, directory.Result{})
			}
			b.pass(10 * time.Minute)
			if n := len(b.dir.watches); n > 0 {
				t.Errorf("limit %d: %d watches are never forgotten", limit, n)
			}
			select {
			case <-done:
			default:
				t.Errorf("limit %d: the caller has no answer after 10 min", limit)
			}
		})
	}
}

// An observer panics when it hears of the end of a Reduce. The caller has the result all the same.
func TestPanicAsTheResultIsPublished(t *testing.T) {
	for _, limit := range []int{10, 0} {
		bubble(t, limit, func(t *testing.T, b *bed) {
			publish, panics := b.env.Store.Publish, true
			b.env.Store.Publish = func(ev any) {
				if _, ok := ev.(actors.ReduceCompleted); ok && panics {
					panics = false
					panic("once")
				}
				publish(ev)
			}
			out := b.reduce(sumAB)
			reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
			b.ready("a", large, "n1#1")
			b.ready("b", large, "n2#1")
			b.rootDone(phalanx.Digest{9})
			_, final := asked[directory.Final](b)
			reply[directory.Final](b, directory.Result{State: directory.Finished, Gen: gen(5)})
			b.pass(3 * time.Second)
			if panics {
				t.Fatal("no panic")
			}
			if limit > 0 {
				reply[directory.Begin](b, directory.Result{State: directory.Finished, Gen: gen(5), Meta: large, Digest: final.Digest, Note: final.Note})
			}
			b.pass(10 * time.Minute)
			if len(b.dir.watches) > 0 {
				t.Errorf("limit %d: %d watches are never forgotten", limit, len(b.dir.watches))
			}
			select {
			case <-out:
			default:
				t.Errorf("limit %d: the caller has no answer after 10 min", limit)
			}
		})
	}
}

// The actor fails while it sends the first commands: that it has begun is told once.
func TestPanicAsPlacesAreCommanded(t *testing.T) {
	bubble(t, 10, func(t *testing.T, b *bed) {
		places, panics := b.env.PlacesOn, false
		b.env.PlacesOn = func(n phalanx.NodeID) (*actor.PID, bool) {
			if panics {
				panics = false
				panic("once")
			}
			return places(n)
		}
		b.reduce(sumAB)
		reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
		b.ready("a", large, "n1#1")
		panics = true
		b.ready("b", large, "n2#1")
		b.pass(3 * time.Second)
		if panics {
			t.Fatal("no panic")
		}
		reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
		b.ready("a", large, "n1#1")
		b.ready("b", large, "n2#1")
		b.pass(3 * time.Second)
		started := 0
		for _, ev := range b.events {
			if _, ok := ev.(actors.ReduceStarted); ok {
				started++
			}
		}
		tree, _ := b.env.Tree("sum")
		if started != 1 || tree.Degree == 0 {
			t.Errorf("%d ReduceStarted, degree %d", started, tree.Degree)
		}
	})
}
