package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/children"
	"github.com/phalanx-go/phalanx/internal/training"
)

// demoCluster is the cluster that demo shows: this process is its first node,
// which has the file and trains; the others are child processes.
type demoCluster struct {
	node     *cluster.Node
	children *children.Children
	others   []phalanx.NodeID // that live
	killer   *killer
}

// demoKinds are the actors that run on every node of the demo.
func demoKinds() map[string]func(*cluster.Node) *actor.Props {
	kinds := map[string]func(*cluster.Node) *actor.Props{digesterKind: newDigester}
	maps.Copy(kinds, training.Kinds())
	return kinds
}

// demoNodeCommand is the command of the child processes.
func (a *app) demoNodeCommand() *cobra.Command {
	var seed, name string
	cmd := &cobra.Command{
		Use:    "node",
		Short:  "A node of a demo, which ends with its parent",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: action(func(context.Context, []string) error {
			runtime.GOMAXPROCS(1) // as many nodes as there are share the machine
			life, end := children.Lifetime(demoEnd)
			defer end()
			ctx, cancel := context.WithTimeout(life, demoPatience)
			defer cancel()
			node, err := cluster.Join(ctx, cluster.Config{Name: name, Cluster: "demo", Seeds: []string{seed}, Kinds: demoKinds()})
			if err != nil {
				return err
			}
			<-life.Done()
			if errors.Is(context.Cause(life), children.ErrOrphan) {
				return nil // and at once: there is no node to hand over to
			}
			ctx, cancel = context.WithTimeout(context.Background(), demoEnd)
			defer cancel()
			return node.Leave(ctx)
		}),
	}
	cmd.Flags().StringVar(&seed, "seed", "", "whom to join")
	cmd.Flags().StringVar(&name, "name", "", "name of the node")
	return cmd
}

// startDemo starts the nodes and returns when all are in the view.
func (a *app) startDemo(ctx context.Context, cfg demoConfig) (*demoCluster, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, demoPatience)
	defer cancel()
	bar := a.count("starting nodes", cfg.nodes)
	defer bar.end()
	node, err := cluster.Join(ctx, cluster.Config{Name: "n1", Cluster: "demo", Kinds: demoKinds()})
	if err != nil {
		return nil, err
	}
	c := &demoCluster{node: node}
	exe, err := os.Executable()
	if err == nil {
		c.children, err = children.Start(a.demoProcesses(exe, node.ControlAddr(), cfg.nodes-1)...)
	}
	if err == nil {
		err = c.full(ctx, cfg.nodes, bar)
	}
	if err != nil {
		return nil, errors.Join(err, c.stop())
	}
	for _, m := range node.View().Members {
		if m.ID != node.ID() {
			c.others = append(c.others, m.ID)
		}
	}
	bar.end()
	a.say("nodes", "%d processes are a cluster: this one (pid %d) and %d children, in %.2f s", cfg.nodes, os.Getpid(), len(c.others), time.Since(began).Seconds())
	return c, nil
}

// childName is the name of the node in the child that was started as number i.
func childName(i int) string { return fmt.Sprint("n", i+2) }

func (a *app) demoProcesses(exe, seed string, n int) []*exec.Cmd {
	var all []*exec.Cmd
	for i := range n {
		cmd := exec.Command(exe, "demo", "node", "--seed", seed, "--name", childName(i))
		cmd.Env, cmd.Stderr = a.environ, a.stderr
		all = append(all, cmd)
	}
	return all
}

// full waits until n nodes are members.
func (c *demoCluster) full(ctx context.Context, n int, bar *counter) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := c.node.Events(ctx) // each node that joins from now on is an event
	for {
		joined := len(c.node.View().Members)
		if bar.set(joined); joined == n {
			return nil
		}
		select {
		case _, ok := <-events:
			if !ok {
				return &phalanx.Error{Op: "demo", Kind: phalanx.ErrDeadline, Err: fmt.Errorf("%d of %d nodes have joined: %w", joined, n, ctx.Err())}
			}
		case err := <-c.children.Failed():
			return err
		}
	}
}

// watch returns a context that ends when a child does, which is then its cause.
func (c *demoCluster) watch(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case err := <-c.children.Failed():
			cancel(err)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// stop ends all nodes, this process's last, whatever became of the context.
func (c *demoCluster) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), demoEnd)
	defer cancel()
	var err error
	if c.children != nil {
		err = c.children.Stop(ctx)
	}
	return errors.Join(err, c.node.Leave(ctx))
}
