package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// demoKilled is a process that was killed.
type demoKilled struct {
	Node   phalanx.NodeID `json:"node"`
	PID    int            `json:"pid"`
	During string         `json:"during"`
}

// demoEvent is something that this node saw after a kill.
type demoEvent struct {
	Event  string         `json:"event"`
	Killed phalanx.NodeID `json:"killed"`
	MS     float64        `json:"ms"` // since the kill
	Text   string         `json:"text"`
}

const (
	killLook     = time.Millisecond // between two looks at a tree
	killPatience = 20 * time.Second // until all is restored
)

// killer kills children of a demo, one after the other, and notes the cluster's
// recovery.
type killer struct {
	a      *app
	c      *demoCluster
	ctx    context.Context
	cancel context.CancelFunc
	rounds int
	work   sync.WaitGroup

	kills sync.WaitGroup // in reduces

	mu     sync.Mutex
	left   int // to be killed
	every  int // rounds between two kills
	next   int // the first round for the next
	busy   bool
	round  chan struct{} // closed when the next one begins
	failed error
	killed []demoKilled
	seen   []demoEvent
	at     time.Time // of the last kill
	down   bool      // its node is out of the view, as an event has said
	moved  int       // shards, since then
	told   bool      // the recovery is complete
}

func (a *app) newKiller(ctx context.Context, c *demoCluster, cfg demoConfig) *killer {
	k := &killer{a: a, c: c, rounds: cfg.rounds, left: cfg.kill, every: cfg.rounds / (cfg.kill + 1), next: cfg.rounds / (cfg.kill + 1), seen: []demoEvent{}, killed: []demoKilled{}, told: true}
	k.ctx, k.cancel = context.WithCancel(ctx)
	events := c.node.Events(k.ctx)
	k.work.Go(func() {
		for e := range events {
			k.note(e)
		}
	})
	return k
}

// stop returns the killed nodes and the events that were seen.
func (k *killer) stop() ([]demoKilled, []demoEvent) {
	k.cancel()
	k.kills.Wait()
	k.work.Wait()
	return k.killed, k.seen
}

// has reports whether a node was killed.
func (k *killer) has(node phalanx.NodeID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.ContainsFunc(k.killed, func(d demoKilled) bool { return d.Node == node })
}

// note keeps the events of recovery; one line tells that shards move.
func (k *killer) note(e actors.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.told {
		return
	}
	switch e.(type) {
	case actors.ShardMoved:
		k.moved++
	case actors.NodeSuspected, actors.NodeDown, actors.SenderLost, actors.TransferResumed, actors.PlaceLost, actors.PlaceReplaced,
		actors.AncestorsCleared, actors.ShardLost, actors.ObjectLost, actors.ActorRestarted:
		k.tell(e.Kind(), e.String())
		if d, ok := e.(actors.NodeDown); ok && d.Node == k.killed[len(k.killed)-1].Node {
			k.down = true
		}
	}
}

func (k *killer) tell(kind, text string) {
	ev := demoEvent{Event: kind, Killed: k.killed[len(k.killed)-1].Node, MS: float64(time.Since(k.at).Microseconds()) / 1000, Text: text}
	k.seen = append(k.seen, ev)
	k.a.say("", "+%7.1f ms  %s", ev.MS, text)
}

// kill ends a child and waits until the cluster could lose another.
func (k *killer) kill(node phalanx.NodeID, during string) error {
	var pid int
	for i, p := range k.c.children.PIDs() {
		if node.Name() == childName(i) {
			pid = p
		}
	}
	k.mu.Lock()
	k.killed = append(k.killed, demoKilled{Node: node, PID: pid, During: during})
	k.left--
	k.a.say("kill", "process %d, node %s, dies by SIGKILL in the middle of the %s", pid, node, during)
	k.at, k.down, k.moved, k.told = time.Now(), false, 0, false
	k.mu.Unlock()
	if err := k.c.children.Kill(pid); err != nil {
		return err
	}
	return k.restored(node)
}

// restored waits until there are all voters and each shard has a backup again.
func (k *killer) restored(node phalanx.NodeID) error {
	ctx, cancel := context.WithTimeout(k.ctx, killPatience)
	defer cancel()
	look := time.NewTicker(killLook)
	defer look.Stop()
	for {
		v := k.c.node.View()
		if !v.Has(node) && v.Redundant(0) && k.end(v) {
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return &phalanx.Error{Op: "demo", Node: node, Kind: phalanx.ErrDeadline,
				Err: fmt.Errorf("the node was killed, and after %v the cluster has not recovered: %d voters, %d shards without a backup", killPatience, len(v.Voters), v.Bare())}
		}
	}
}

// end tells that all is restored, once the event has come that the node is down: a
// view can be seen before its events.
func (k *killer) end(v view.View) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.down {
		return false
	}
	k.tell("Restored", fmt.Sprintf("%d voters, and a backup for each of %d shards; %d got another owner", len(v.Voters), len(v.Shards), k.moved))
	k.told = true
	return true
}

// inBroadcast kills a node while it has a part of the object, best a node that sends it
// on. The function that it returns waits for the end of it.
func (k *killer) inBroadcast(ctx context.Context, id phalanx.ObjectID) (end func() error) {
	if k.left == 0 {
		return func() error { return nil }
	}
	over, done := make(chan struct{}), make(chan error, 1)
	k.work.Go(func() {
		node := k.look(ctx, id, over, func(t cluster.Tree) phalanx.NodeID {
			var best phalanx.NodeID
			for _, n := range t.Nodes {
				if n.Complete || n.Node == k.c.node.ID() {
					continue
				}
				best = n.Node
				if slices.ContainsFunc(t.Edges, func(e cluster.TreeEdge) bool { return e.From == n.Node }) {
					break
				}
			}
			return best
		})
		if node == "" {
			done <- nil
			return
		}
		done <- k.kill(node, "broadcast")
	})
	return func() error {
		close(over)
		err := <-done
		k.c.others = slices.DeleteFunc(k.c.others, k.has)
		return err
	}
}

// look waits until choose finds a node in the tree of an object.
func (k *killer) look(ctx context.Context, id phalanx.ObjectID, over <-chan struct{}, choose func(cluster.Tree) phalanx.NodeID) phalanx.NodeID {
	look := time.NewTicker(killLook)
	defer look.Stop()
	for {
		if t, err := k.c.node.Tree(ctx, id); err == nil {
			if node := choose(t); node != "" {
				return node
			}
		}
		select {
		case <-look.C:
		case <-over:
			return ""
		case <-ctx.Done():
			return ""
		case <-k.ctx.Done():
			return ""
		}
	}
}

// inReduce kills one node that has a place in a reduce, in some rounds.
func (k *killer) inReduce(round int, target phalanx.ObjectID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.round != nil {
		close(k.round)
	}
	over := make(chan struct{})
	k.round = over
	due := round >= k.next || k.rounds-round <= 2*k.left
	if k.left == 0 || k.busy || k.failed != nil || !due {
		return
	}
	k.busy = true
	k.kills.Go(func() {
		var err error
		node := k.look(k.ctx, target, over, func(t cluster.Tree) phalanx.NodeID {
			if t.Kind != "reduce" || t.State != "begun" {
				return ""
			}
			for _, n := range t.Nodes {
				if n.Node != k.c.node.ID() && n.Node != "" {
					return n.Node
				}
			}
			return ""
		})
		if node != "" {
			err = k.kill(node, "reduce")
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.busy, k.failed = false, err
		if node != "" {
			k.next = round + k.every
		}
	})
}

// done waits for the last recovery, and fails if not all were killed and
// survived.
func (k *killer) done() error {
	k.kills.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failed == nil && k.left > 0 {
		return invalid("--rounds: %d nodes of --kill could not be killed within a reduce; %d rounds were too few", k.left, k.rounds)
	}
	return k.failed
}
