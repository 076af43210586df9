package main

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/children"
	"github.com/phalanx-go/phalanx/workflow"
)

// voters is how many nodes decide who is in the cluster: two of them may be dead at once.
const voters = 5

// workerVar has the program be a worker, with this settings.
const workerVar = "PHALANX_HASHDAG_WORKER"

// settings of a worker process, whose log is in the folder of the effects.
type settings struct {
	Name    string
	Seeds   []string // addresses of others
	Control int      // port of its own; 0: any
	Dir     string   // its folder; "": none
	Outside outside
}

// joined is what a worker says once it takes part.
type joined struct{ Control string }

// port returns the worker's port. It starts again at the same one, where the others look for it.
func (j joined) port() int {
	_, port, _ := net.SplitHostPort(j.Control)
	n, _ := strconv.Atoi(port) // 0: any
	return n
}

// beWorker is a worker process, until its standard input ends.
func beWorker(as string) error {
	var s settings
	if err := json.Unmarshal([]byte(as), &s); err != nil {
		return err
	}
	ctx, end := children.Lifetime(0)
	defer end()
	file, err := os.OpenFile(filepath.Join(s.Outside.Dir, s.Name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	log := logrus.New()
	log.SetOutput(file)
	tasks := workflow.Settings{Dir: s.Dir, Slots: 1, Log: log, Tasks: workflow.Tasks(s.Outside.task())}
	node, err := cluster.Join(ctx, cluster.Config{Name: s.Name, Voters: voters, Seeds: s.Seeds, ControlPort: s.Control, Logger: log, Services: []cluster.Service{tasks.Service()}})
	if err != nil {
		return err
	}
	children.Say(joined{node.ControlAddr()})
	<-ctx.Done()
	return node.Leave(context.Background())
}
