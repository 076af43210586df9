package soak

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/phalanx-go/phalanx/workflow"
)

// tally is a part of a medley: actors to which tasks add numbers, round by round, and whose sums another one reads. Rounds are
// followed by snapshots, or not.
type tally struct {
	Actors int
	Rounds []tallyRound
}

type tallyRound struct {
	Add      int64
	Snapshot bool
}

const (
	mostTallyActors = 6
	mostTallyRounds = 5
)

func newTally(rng *rand.Rand) (t tally) {
	t.Actors = 1 + rng.IntN(mostTallyActors)
	for range 1 + rng.IntN(mostTallyRounds) {
		t.Rounds = append(t.Rounds, tallyRound{rng.Int64N(1000), rng.IntN(2) == 0})
	}
	return t
}

// sum is what all actors hold in the end.
func (t tally) sum() (sum int64) {
	for _, r := range t.Rounds {
		sum += r.Add * int64(t.Actors)
	}
	return sum
}

// count is the state of an actor.
type count struct{ n int64 }

var (
	counts = workflow.Actor("count", 1, func(workflow.ActorContext, int64) (*count, error) { return &count{}, nil }).Snapshots(
		func(c *count) ([]byte, error) { return binary.AppendVarint(nil, c.n), nil },
		func(_ workflow.ActorContext, b []byte) (*count, error) {
			n, _ := binary.Varint(b)
			return &count{n}, nil
		})
	addCount = workflow.Method(counts, "add", func(c *count, _ workflow.ActorContext, n int64) (int64, error) {
		c.n += n
		return c.n, nil
	})
	readCount = workflow.Method(counts, "read", func(c *count, _ workflow.ActorContext, _ int64) (int64, error) { return c.n, nil }).ReadOnly()

	beginTally = workflow.Func1("count", 1, func(c workflow.Context, n int) (all []workflow.ActorRef, err error) {
		for i := range n {
			a, err := counts.Spawn(c, fmt.Sprint(i), 0)
			if err != nil {
				return nil, err
			}
			all = append(all, a)
		}
		return all, nil
	}).With(workflow.NoEffect)
	addTally = workflow.Func2("add", 1, func(c workflow.Context, all []workflow.ActorRef, n int64) ([]workflow.ActorRef, error) {
		for _, a := range all {
			if _, err := addCount.Call(c, a, n); err != nil {
				return nil, err
			}
		}
		return all, nil
	}).With(workflow.NoEffect)
	readTally = workflow.Func1("read", 1, func(c workflow.Context, all []workflow.ActorRef) (sum int64, err error) {
		for _, a := range all {
			n, err := readCount.Call(c, a, 0)
			if err != nil {
				return 0, err
			}
			sum += n
		}
		return sum, nil
	}).With(workflow.NoEffect)
)

func (t tally) workflow() workflow.Step[int64] {
	all := beginTally.Bind(workflow.Value(t.Actors))
	for _, r := range t.Rounds {
		if all = addTally.Bind(all, workflow.Value(r.Add)); r.Snapshot {
			all = all.With(workflow.Snapshot)
		}
	}
	return readTally.Bind(workflow.Read(all))
}
