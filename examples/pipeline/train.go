package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/digits"
	"github.com/phalanx-go/phalanx/storenode"
)

// actors is how many train.
const actors = 8

// member is an actor as the task sees it.
type member struct {
	pid  *actor.PID
	node phalanx.NodeID
	part int
}

// session is one attempt of a task to train an epoch by actors on all workers.
type session struct {
	node    *cluster.Node
	epoch   epoch
	state   state
	parts   []int // how many samples each part has
	members []member
	lost    int // actors whose nodes have died
}

// begin puts what the actors need, and starts them. A worker that dies meanwhile has none.
func (s *session) begin(ctx context.Context, hidden int, data []float32, workers []phalanx.NodeID) error {
	samples, err := parseSamples(data)
	if err != nil {
		return err
	}
	for _, p := range digits.Split(samples, actors) {
		s.parts = append(s.parts, len(p))
	}
	b, err := json.Marshal(plan{actors, hidden})
	if err != nil {
		return err
	}
	if _, err := s.node.Put(ctx, s.epoch.plan(), b); err != nil {
		return err
	}
	if err := s.put(ctx, s.epoch.data(), data); err != nil {
		return err
	}
	for part := range actors {
		on := workers[part%len(workers)]
		pid, err := s.node.SpawnOn(ctx, on, kind, s.epoch.trainer(part))
		if err != nil && s.node.View().Has(on) {
			return fmt.Errorf("the actor %d on %s: %w", part, on, err)
		}
		if err == nil {
			s.members = append(s.members, member{pid, on, part})
		}
	}
	return nil
}

func (s *session) put(ctx context.Context, id phalanx.ObjectID, a []float32) error {
	_, err := s.node.Put(ctx, id, cluster.BytesOf(a), cluster.WithArray(phalanx.Float32, int64(len(a))))
	return err
}

// round makes one step with the gradients of all actors that are left.
func (s *session) round(ctx context.Context, round int) error {
	if err := s.put(ctx, s.epoch.weights(round), s.state.params); err != nil {
		return err
	}
	for try := 0; ; try++ {
		if s.shrink(); len(s.members) == 0 {
			return errors.New("all actors are lost")
		}
		res, err := s.reduce(ctx, round, try)
		if err == nil {
			return s.step(ctx, round, try, res)
		}
		if ctx.Err() != nil || !s.shrinks() {
			return err
		}
	}
}

// shrink goes on without the actors whose nodes have died.
func (s *session) shrink() {
	view := s.node.View()
	var left []member
	for _, m := range s.members {
		if view.Has(m.node) {
			left = append(left, m)
		}
	}
	s.lost += len(s.members) - len(left)
	s.members = left
}

// shrinks reports whether a node with actors has died.
func (s *session) shrinks() bool {
	view := s.node.View()
	for _, m := range s.members {
		if !view.Has(m.node) {
			return true
		}
	}
	return false
}

// glance is how often a task looks whether a node has died.
const glance = 10 * time.Millisecond

// reduce adds up the gradients. It gives up when a node with actors dies.
func (s *session) reduce(ctx context.Context, round, try int) (storenode.ReduceResult, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	go func() {
		tick := time.NewTicker(glance)
		defer tick.Stop()
		for !s.shrinks() {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
		cancel()
	}()
	var sources []phalanx.ObjectID
	for _, m := range s.members {
		sources = append(sources, s.epoch.gradient(round, m.part))
	}
	return s.node.Reduce(ctx, storenode.Reduce{Target: s.epoch.sum(round, try), Sources: sources, Op: phalanx.Sum})
}

// step moves the weights, and deletes the objects of the round.
func (s *session) step(ctx context.Context, round, try int, res storenode.ReduceResult) error {
	samples := 0
	for _, id := range res.In {
		part, err := strconv.Atoi(string(id[strings.LastIndexByte(string(id), '/')+1:]))
		if err != nil {
			return err
		}
		samples += s.parts[part]
	}
	v, err := s.node.Get(ctx, s.epoch.sum(round, try))
	if err != nil {
		return err
	}
	defer v.Release()
	a, err := cluster.ArrayOf[float32](v)
	if err != nil {
		return err
	}
	s.state.adam.Step(s.state.params, a.Values(), samples)
	s.delete(ctx, append(res.In, s.epoch.sum(round, try), s.epoch.weights(round))...)
	return nil
}

// endWait bounds what a task does after its last round.
const endWait = 2 * time.Second

// end stops the actors.
func (s *session) end() {
	ctx, cancel := context.WithTimeout(context.Background(), endWait)
	defer cancel()
	for _, m := range s.members {
		s.node.System().Root.Stop(m.pid)
	}
	s.delete(ctx, s.epoch.plan(), s.epoch.data())
}

// delete deletes what nobody needs any more. What it does not reach the driver deletes after the run.
func (s *session) delete(ctx context.Context, ids ...phalanx.ObjectID) {
	for _, id := range ids {
		_ = s.node.Delete(ctx, id)
	}
}
