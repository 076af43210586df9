package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
)

// The measurements of the directory: the first node makes calls, one after the other,
// about objects of shards that it does not hold.
const (
	lookup = "look-up"         // asks for the holders of an object
	write  = "directory write" // deletes an object that never was: the owner and its backup note the tombstone
)

var directoryOps = []string{lookup, write}

// calls is how many calls one run makes.
const calls = 500

// callDirectory returns the median time of a call.
func callDirectory(ctx context.Context, n *cluster.Node, o order) (time.Duration, error) {
	var took []time.Duration
	for i := 0; len(took) < calls; i++ {
		id := phalanx.ObjectID(fmt.Sprintf("%s/%d", o.Name, i))
		v := n.View()
		if s := v.Shards[id.Shard(len(v.Shards))]; s.Owner == n.ID() || s.Backup == n.ID() {
			continue
		}
		began := time.Now()
		if err := callOnce(ctx, n, o.Op, id); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

func callOnce(ctx context.Context, n *cluster.Node, op string, id phalanx.ObjectID) error {
	if op == write {
		return n.Delete(ctx, id)
	}
	_, err := n.Stat(ctx, id)
	if errors.Is(err, phalanx.ErrNotFound) {
		return nil // the owner has answered
	}
	return err
}
