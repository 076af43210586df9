package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/children"
	"github.com/phalanx-go/phalanx/internal/leaks"
)

// processes is how many processes the cluster has; this one is the first.
const processes = 6

// seedVar tells a child process whom to join. The test binary is its program.
const seedVar = "PHALANX_E2E_SEED"

// patience bounds every wait.
const patience = time.Minute

// agents are the actors that carry out orders, one in each process.
var agents []agent

type agent struct {
	node *cluster.Node // through which it is reached
	on   phalanx.NodeID
	pid  *actor.PID
}

func TestMain(m *testing.M) {
	if seed := os.Getenv(seedVar); seed != "" {
		if err := child(seed, os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code, err := withCluster(m.Run)
	if err == nil {
		err = leaks.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func kinds() map[string]func(*cluster.Node) *actor.Props {
	return map[string]func(*cluster.Node) *actor.Props{"agent": newWorker}
}

// child is a node until the parent has it end.
func child(seed, name string) error {
	life, end := children.Lifetime(patience)
	defer end()
	ctx, cancel := context.WithTimeout(life, patience)
	defer cancel()
	node, err := cluster.Join(ctx, cluster.Config{Name: name, Seeds: []string{seed}, Kinds: kinds()})
	if err != nil {
		return err
	}
	<-life.Done()
	ctx, cancel = context.WithTimeout(context.Background(), patience)
	defer cancel()
	return node.Leave(ctx)
}

// withCluster runs f while there is a cluster with an agent on each node.
func withCluster(f func() int) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	node, err := cluster.Join(ctx, cluster.Config{Name: "e2e-0", Kinds: kinds()})
	if err != nil {
		return 1, err
	}
	var commands []*exec.Cmd
	for i := 1; i < processes; i++ {
		cmd := exec.Command(os.Args[0], fmt.Sprint("e2e-", i))
		cmd.Env = append(os.Environ(), seedVar+"="+node.ControlAddr())
		cmd.Stderr = os.Stderr
		commands = append(commands, cmd)
	}
	others, err := children.Start(commands...)
	if err != nil {
		return 1, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for _, e := range []error{others.Stop(ctx), node.Leave(ctx)} {
			if err == nil {
				err = e
			}
		}
	}()
	if err := full(ctx, node, others); err != nil {
		return 1, err
	}
	for _, m := range node.View().Members {
		pid, err := node.SpawnOn(ctx, m.ID, "agent", "agent")
		if err != nil {
			return 1, err
		}
		agents = append(agents, agent{node, m.ID, pid})
	}
	return f(), nil
}

// full waits until all processes are members.
func full(ctx context.Context, node *cluster.Node, others *children.Children) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := node.Events(ctx) // every one that joins from now on is an event
	for len(node.View().Members) < processes {
		select {
		case _, ok := <-events:
			if !ok {
				return fmt.Errorf("%d of %d processes have joined: %w", len(node.View().Members), processes, ctx.Err())
			}
		case err := <-others.Failed():
			return err
		}
	}
	return nil
}
