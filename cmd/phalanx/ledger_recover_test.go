package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/workflow"
)

// holders returns how many disks hold the ledger, and the node that leads it, as a node says; 0 if it does not know.
func holders(t *testing.T, addr string) (n int, leader phalanx.NodeID) {
	t.Helper()
	l, err := client(t, addr).WorkflowLedger(t.Context(), 5*time.Second)
	if err != nil {
		return 0, ""
	}
	for _, d := range l.Disks {
		if d.Holds && !d.Failed {
			n++
		}
	}
	return n, phalanx.NodeID(l.Leader)
}

// Two of three nodes with folders are killed, and their folders are gone for good. Calls fail and say so; the command has the
// ledger go on from the third folder, and a run that was under way ends: what was recorded is not done again. Empty folders
// become parts of the ledger, and a node with the folder of one of the lost disks ends its part, and says why.
func TestLedgerLosesTwoOfThreeFolders(t *testing.T) {
	notShort(t)
	dir := t.TempDir()
	firsts, held, open := make(chan workflow.Fence, 10), make(chan bool, 10), make(chan bool)
	first := workflow.Func0("first", 1, func(c workflow.Context) (string, error) {
		firsts <- c.Fence()
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
	join := func(seed string) *cluster.Node {
		t.Helper()
		n, err := cluster.Join(t.Context(), cluster.Config{Name: "tasks", Seeds: []string{seed}, Memory: 64 << 20, Logger: quiet(),
			Services: []cluster.Service{workflow.Settings{Tasks: workflow.Tasks(first, second)}.Service()}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.Close)
		return n
	}
	ports := freePorts(t, 8)
	f := &flagged{control: ports[:4], http: ports[4:], seeds: 3, nodes: make([]*daemon, 4), up: make([]ready, 4)}
	folder := func(name string) string { return "--dir=" + filepath.Join(dir, name) }
	for i, name := range []string{"a", "b", "c"} {
		f.start(t, i, folder(name))
	}
	for i := range 3 {
		f.ready(t, i)
	}
	leads := -1
	until(t, "three disks hold the ledger", func() bool {
		n, leader := holders(t, f.up[0].HTTP)
		for i := range 3 {
			if f.up[i].Node == leader {
				leads = i
			}
		}
		return n == 3 && leads >= 0
	})
	n := join("127.0.0.1:" + f.control[leads])
	if _, err := workflow.Start(t.Context(), n, "order/42", second.Bind(first.Bind())); err != nil {
		t.Fatal(err)
	}
	await(t, "the second task", held)

	// Two machines are lost with their disks. One of these turns up again later.
	lost := []int{(leads + 1) % 3, (leads + 2) % 3}
	f.kill(t, lost...)
	name := func(i int) string { return string(rune('a' + i)) }
	left := filepath.Join(dir, name(leads))
	if err := os.Rename(filepath.Join(dir, name(lost[0])), filepath.Join(dir, "old")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, name(lost[1]))); err != nil {
		t.Fatal(err)
	}
	at := func(i int) *bed {
		return &bed{addr: f.up[i].HTTP, environ: []string{"PHALANX_ADDR=" + f.up[i].HTTP}}
	}
	offline := &bed{environ: clean(os.Environ())}
	said := at(leads).run(t, "", "workflow", "wait", "order/42", "--timeout=3s")
	if !strings.Contains(said, "exit 8") && !strings.Contains(said, "exit 9") {
		t.Errorf("without a majority: %s", said)
	}
	must(t, offline.run(t, "", "workflow", "ledger", "recover", left, "--yes"), "a process uses the folder", "exit 17")

	n.Close()
	f.kill(t, leads)
	close(open)
	must(t, offline.run(t, "", "workflow", "ledger", "recover", left), left+" has most", "the ledger is on 3 disks", "Missing:", "may be on them alone", "give --yes", "exit 17")
	must(t, offline.run(t, "", "workflow", "ledger", "recover", filepath.Join(dir, "old"), left, "--yes"), "2 of the 3 disks that hold the ledger are there", "exit 17")
	must(t, offline.run(t, "", "workflow", "ledger", "recover", dir), "no node has used this folder", "exit 3")
	must(t, offline.run(t, "", "workflow", "ledger", "recover", left, "--yes", "-o", "json"), `"best":"`+left+`"`, `"missing":["`, `"generation":`)
	must(t, offline.run(t, "", "workflow", "ledger", "recover", left, "--yes"), "the only disk that holds the ledger is there", "exit 17")

	f.start(t, leads, "--dir="+left)
	f.ready(t, leads)
	n = join("127.0.0.1:" + f.control[leads])
	must(t, at(leads).run(t, "", "workflow", "wait", "order/42", "--timeout=1m"), `"once and for all"`)
	if len(firsts) != 1 {
		t.Errorf("the first task has run %d times", len(firsts))
	}
	before := <-firsts
	for i, empty := range []string{"d", "e"} {
		f.start(t, lost[i], folder(empty))
		f.ready(t, lost[i])
	}
	until(t, "empty folders hold the ledger", func() bool { n, _ := holders(t, f.up[leads].HTTP); return n == 3 })

	f.start(t, 3, folder("old"))
	f.ready(t, 3)
	until(t, "the old folder's node says that it is not needed", func() bool {
		return strings.Contains(f.nodes[3].errs.String(), "the ledger was recovered without this disk")
	})
	run, err := workflow.Start(t.Context(), n, "order/43", second.Bind(first.Bind()))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := run.Result(t.Context()); err != nil || got != "once and for all" {
		t.Errorf("%q, %v", got, err)
	}
	if after := <-firsts; after.Compare(before) <= 0 || after.Generation <= before.Generation {
		t.Errorf("after the fence %v comes %v", before, after)
	}
	must(t, at(3).run(t, "", "workflow", "status", "order/43"), "order/43")
	if n, leader := holders(t, f.up[3].HTTP); n != 3 || leader == f.up[3].Node {
		t.Errorf("%d disks hold the ledger, and %s leads", n, leader)
	}
	n.Close()
	signalAll(t, syscall.SIGKILL, f.nodes...)
}
