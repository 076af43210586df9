package workers

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"strconv"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/children"
	"github.com/phalanx-go/phalanx/workflow"
)

// variable makes a process a worker, with these settings.
const variable = "PHALANX_EXAMPLE_WORKER"

// settings of a worker process.
type settings struct {
	Name    string
	Seeds   []string // addresses of others
	Control int      // port of its own; 0: any
	Dir     string   // its folder; "": none
	Log     string   // its log file
	Idle    bool     // it runs no tasks
	Slots   int
	Value   json.RawMessage
}

// said is what a worker says.
type said struct {
	Control string `json:",omitempty"` // it has joined, and listens there
	Counted *counted
}

// counted answers a question.
type counted struct {
	Number uint64 // of the question
	Bytes  uint64 // of objects that the node has received from others
}

// count is the question.
type count struct{ Number uint64 }

// port returns the worker's port. It starts again at the same one, where the others look for it.
func (s said) port() int {
	_, port, _ := net.SplitHostPort(s.Control)
	n, _ := strconv.Atoi(port) // 0: any
	return n
}

// Is reports whether a Crew has started this process: then it calls Be, and nothing else.
func Is() bool { return os.Getenv(variable) != "" }

// Be has this process be a worker until the Crew ends. V is the type of Config.Value, from which tasks makes the tasks.
func Be[V any](tasks func(V) *workflow.Registry) error {
	return BeWith(func(v V, _ string) (*workflow.Registry, *workflow.ActorKinds) { return tasks(v), nil })
}

// BeWith is Be for a worker with actors, too. Its node has some services. The function is also given the name of the worker.
func BeWith[V any](has func(v V, name string) (*workflow.Registry, *workflow.ActorKinds), services ...cluster.Service) error {
	var s settings
	var v V
	if err := json.Unmarshal([]byte(os.Getenv(variable)), &s); err != nil {
		return err
	}
	if err := json.Unmarshal(s.Value, &v); err != nil {
		return err
	}
	ctx, end := children.Lifetime(0)
	defer end()
	file, err := os.OpenFile(s.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	log := logrus.New()
	log.SetOutput(file)
	service := workflow.Settings{Dir: s.Dir, Slots: s.Slots, Log: log}
	if !s.Idle {
		service.Tasks, service.Actors = has(v, s.Name)
	}
	node, err := cluster.Join(ctx, cluster.Config{Name: s.Name, Seeds: s.Seeds, ControlPort: s.Control, Voters: voters, Logger: log,
		Services: append(services, service.Service())})
	if err != nil {
		return err
	}
	children.Say(said{Control: node.ControlAddr()})
	if err := children.Orders(func(c count) {
		children.Say(said{Counted: &counted{c.Number, node.Status().BytesReceived}})
	}); err != nil {
		return err
	}
	return node.Leave(context.Background())
}
