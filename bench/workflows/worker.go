package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/children"
	"github.com/phalanx-go/phalanx/workflow"
)

// workerVar has the program be a worker, with this role.
const workerVar = "PHALANX_WORKFLOWS_WORKER"

// role says what a node has. Everything is by name, so that worker processes can be told.
type role struct {
	Name  string
	Seeds []string
	Dir   string   // of its disk; "": none
	Tasks []string // that it can run
}

// joined is what a worker says once it takes part.
type joined struct{ Control string }

func (r role) join(ctx context.Context) (*cluster.Node, error) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	var tasks []workflow.AnyTask
	for _, name := range r.Tasks {
		tasks = append(tasks, allTasks[name])
	}
	s := workflow.Settings{Dir: r.Dir, Tasks: workflow.Tasks(tasks...), Slots: 64, Log: log}
	if r.Dir != "" {
		s.Dir = filepath.Join(r.Dir, r.Name)
	}
	service, err := s.Open()
	if err != nil {
		return nil, err
	}
	return cluster.Join(ctx, cluster.Config{Name: r.Name, Seeds: r.Seeds, Logger: log, Services: []cluster.Service{service}})
}

// beWorker is a worker process, until its standard input ends.
func beWorker(as string) error {
	var r role
	if err := json.Unmarshal([]byte(as), &r); err != nil {
		return err
	}
	ctx, end := children.Lifetime(0)
	defer end()
	node, err := r.join(ctx)
	if err != nil {
		return err
	}
	children.Say(joined{node.ControlAddr()})
	<-ctx.Done()
	return node.Leave(context.Background())
}

// worker is a process of a role.
type worker struct {
	role
	*children.Child
}

// startWorker returns once the worker has joined.
func startWorker(ctx context.Context, r role) (*worker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	as, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env, cmd.Stderr = append(os.Environ(), workerVar+"="+string(as)), os.Stderr
	said := make(chan joined, 1)
	child, err := children.Talk(cmd, func(j joined) { said <- j })
	if err != nil {
		return nil, err
	}
	select {
	case <-said:
		return &worker{r, child}, nil
	case <-child.Done():
		return nil, fmt.Errorf("worker %s ends: %s", r.Name, children.How(child.Err()))
	case <-ctx.Done():
		child.Abandon()
		return nil, context.Cause(ctx)
	}
}
