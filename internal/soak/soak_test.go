package soak_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/internal/leaks"
	"github.com/phalanx-go/phalanx/internal/soak"
)

// These make the test binary a node: one with this name and these seeds, or one of workflows.
const (
	nodeVar     = "PHALANX_SOAK_NODE"
	workflowVar = "PHALANX_SOAK_WORKFLOW_NODE"
)

func TestMain(m *testing.M) {
	if node := os.Getenv(nodeVar); node != "" {
		all := strings.Split(node, ",")
		if err := soak.Node(all[0], all[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if node := os.Getenv(workflowVar); node != "" {
		var w soak.WorkflowNode
		if err := errors.Join(json.Unmarshal([]byte(node), &w), w.Run()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	leaks.VerifyTestMain(m)
}

func command(name string, seeds []string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), nodeVar+"="+strings.Join(append([]string{name}, seeds...), ","))
	return cmd
}

func workflowCommand(n soak.WorkflowNode) *exec.Cmd {
	as, _ := json.Marshal(n) // always can be
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workflowVar+"="+string(as))
	return cmd
}

var long = flag.Bool("soak", false, "run processes under random faults for minutes")

func TestSoak(t *testing.T) {
	if !*long {
		t.Skip("only with -soak")
	}
	res, err := soak.Run(t.Context(), soak.Config{Nodes: 5, For: 25 * time.Second, Seed: 2, Command: command,
		Log: func(s string) { t.Log(s) }})
	if err != nil {
		t.Error(err)
	}
	if !res.OK {
		t.Errorf("%s\n%s", strings.Join(res.Wrong, "\n"), strings.Join(res.Events, "\n"))
	}
	t.Logf("%+v", res)
}

// TestSoakWorkflows has faults happen after which the cluster recovers soon; with -soak each kind that this process can cause.
func TestSoakWorkflows(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	lasts, kinds := 8*time.Second, []string{"kill", "stop", "leave", "restart"}
	if *long {
		lasts, kinds = 2*time.Minute, nil
	}
	res, err := soak.RunWorkflows(t.Context(), soak.WorkflowConfig{Nodes: 4, For: lasts, Seed: 2, Faults: kinds, Command: workflowCommand,
		Log: func(s string) { t.Log(s) }})
	if err != nil {
		t.Error(err)
	}
	if !res.OK || len(res.Runs) != 3 || len(res.Faults) == 0 {
		t.Errorf("%s\n%s", strings.Join(res.Wrong, "\n"), strings.Join(res.Events, "\n"))
	}
	t.Logf("%+v", res)
}

// TestUpgrade has node after node come back with another version of a task, and with another environment, while runs go on. A run
// that no node can execute any more goes on with the new version.
func TestUpgrade(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	var mu sync.Mutex
	builds := map[int]int{}
	res, err := soak.RunWorkflows(t.Context(), soak.WorkflowConfig{Nodes: 4, For: 2 * time.Second, Seed: 1, Faults: []string{"upgrade"},
		Command: func(n soak.WorkflowNode) *exec.Cmd {
			mu.Lock()
			defer mu.Unlock()
			builds[n.Build]++
			cmd := workflowCommand(n)
			cmd.Env = append(cmd.Env, fmt.Sprint("PHALANX_SOAK_BUILD=", n.Build))
			return cmd
		}, Log: func(s string) { t.Log(s) }})
	if err != nil {
		t.Error(err)
	}
	if !res.OK || res.Upgraded == 0 || builds[0] != 4 || builds[1] != 4 {
		t.Errorf("%d runs went on with another version, starts of builds: %v: %s\n%s", res.Upgraded, builds, strings.Join(res.Wrong, "\n"), strings.Join(res.Events, "\n"))
	}
	t.Logf("%+v", res)
}
