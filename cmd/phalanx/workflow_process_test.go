package main

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/workflow"
)

// A run goes on when all nodes were killed and start again over their folders: what is recorded is not done again.
func TestRunOutlivesAllNodes(t *testing.T) {
	dir := t.TempDir()
	firsts, held, open := make(chan string, 10), make(chan bool, 10), make(chan bool)
	first := workflow.Func0("first", 1, func(c workflow.Context) (string, error) {
		firsts <- c.Key()
		return "once", nil
	})
	second := workflow.Func1("second", 1, func(c workflow.Context, in string) (string, error) {
		held <- true
		select {
		case <-open:
			return in + " and for all", nil
		case <-c.Done():
			return "", c.Err()
		}
	}).With(workflow.Idempotent)
	// join has the test take part with the tasks, in the cluster of the nodes that dev has started.
	join := func(up []child) *cluster.Node {
		t.Helper()
		n, err := cluster.Join(t.Context(), cluster.Config{Name: "tasks", Seeds: []string{up[0].Control}, Memory: 64 << 20, Logger: quiet(),
			Services: []cluster.Service{workflow.Settings{Tasks: workflow.Tasks(first, second)}.Service()}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.Close)
		return n
	}
	begin := func() (*daemon, []child) {
		t.Helper()
		d := start(t, "dev", "--nodes=3", "-o", "json", "--http=127.0.0.1:0", "--memory=64MB", "--log-level=error", "--dir="+dir)
		var up struct{ Nodes []child }
		d.line(t, &up)
		if len(up.Nodes) != 3 {
			t.Fatalf("%d nodes are ready: %s", len(up.Nodes), d.errs)
		}
		return d, up.Nodes
	}

	d, nodes := begin()
	n := join(nodes)
	if _, err := workflow.Start(t.Context(), n, "order/42", second.Bind(first.Bind())); err != nil {
		t.Fatal(err)
	}
	await(t, "the second task", held)
	for _, c := range nodes {
		if err := syscall.Kill(c.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	}
	n.Close()
	_ = d.Wait()
	close(open)

	d, nodes = begin()
	join(nodes)
	b := &bed{addr: nodes[2].HTTP, environ: []string{"PHALANX_ADDR=" + nodes[2].HTTP}}
	must(t, b.run(t, "", "workflow", "wait", "order/42", "--timeout=1m"), `"once and for all"`)
	must(t, b.run(t, "", "workflow", "ls", "order/"), "finished  order/42\n")
	if len(firsts) != 1 {
		t.Errorf("the first task has run %d times", len(firsts))
	}
	if got := b.run(t, "", "workflow", "rm", "order/42"); !strings.Contains(got, "order/42: forgotten") {
		t.Error(got)
	}
	_ = d.Process.Kill() // its nodes end with it
	_ = d.Wait()
}

func await(t *testing.T, what string, ch <-chan bool) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(time.Minute):
		t.Fatalf("%s has not begun", what)
	}
}
