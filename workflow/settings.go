package workflow

import (
	"fmt"
	"runtime"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/node/ledger"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
	"github.com/phalanx-go/phalanx/workflow/internal/disk"
	"github.com/phalanx-go/phalanx/workflow/internal/keeper"
)

// Name is the name of the service's actor, and of the feature that members have in the view.
const Name = "workflows"

// Settings say how a node takes part in workflows. The zero value is a node that starts runs and waits for them, and
// executes nothing.
type Settings struct {
	// Dir is the node's folder for the ledger and for checkpoints; it is made if it is not there. "": the node keeps
	// nothing durable, and executes tasks only. Without any folder in the cluster no run can be started.
	Dir   string
	Tasks *Registry // that the node can run; nil: none
	// Actors are the kinds of actors that may live on the node; nil: none. Tasks make actors on the nodes that have their kind.
	Actors *ActorKinds
	Slots  int                // attempts that may run here at once; default twice the number of CPUs
	Log    logrus.FieldLogger // default: the node's
	// ReplaceAfter is how long a disk of the ledger may be away until another one takes its place; default 10 min. The node that
	// leads decides by its own.
	ReplaceAfter time.Duration

	space      func() (durable.Space, error) // of the disk: tests set it
	endProcess func(why string)              // tests set it
	host       string                        // tells machines apart: tests set it
	ledger     func(durable.Log) durable.Log // stands before the ledger: tests set it
}

// Service has a node take part in workflows: it belongs into cluster.Config.Services.
func Service() cluster.Service { return Settings{}.Service() }

// Service is Service with other settings than the default ones. It opens the folder, and is for one node. If the
// folder cannot be used every call on the node is ErrUnavailable and says why; Open says it before the node joins.
func (s Settings) Service() cluster.Service { return s.service(openFolder(s)) }

// Open is Service, or the error that says why the folder cannot be used, and what to do.
func (s Settings) Open() (cluster.Service, error) {
	f := openFolder(s)
	return s.service(f), f.err
}

func (s Settings) service(f folder) cluster.Service {
	if s.Slots <= 0 {
		s.Slots = 2 * runtime.NumCPU()
	}
	service := cluster.Service{Name: Name, Durable: true, Actor: func(n *cluster.Node) *actor.Props {
		o := openService(n, s, f)
		return actor.PropsFromProducer(func() actor.Actor { return &service{node: n, open: o} }, actor.WithMailbox(actor.UnboundedLockfree()))
	}}
	if f.keeper != nil {
		service.With = []cluster.Service{f.keeper.Service()}
	}
	return service
}

// folder is a node's folder, with its part of the ledger.
type folder struct {
	disk   durable.Store  // nil: there is none
	keeper *keeper.Keeper // nil: the folder cannot be used
	err    error          // why
}

// openFolder opens the folder. A node without one, or whose folder cannot be used, keeps no replica.
func openFolder(s Settings) (f folder) {
	if s.Dir != "" {
		d, err := disk.Open(s.Dir, disk.Options{Log: s.Log})
		if err != nil {
			return folder{err: err}
		}
		f.disk = d
	}
	k, err := keeper.New(keeper.Settings{Store: f.disk, Host: s.host, Times: ledger.Config{AwayAfter: max(s.ReplaceAfter, 0)}})
	if err != nil {
		panic(fmt.Sprintf("workflow: the settings of the ledger: %v", err)) // they are the defaults, or in their bounds
	}
	f.keeper = k
	return f
}

// exitOutlived is the exit code of a process in which an attempt outlives the node's lease.
const exitOutlived = 70

// offer is what the node offers to controllers.
func (s Settings) offer(disk string) core.Offer {
	o := core.Offer{Slots: s.Slots, Disk: disk}
	if s.Tasks == nil {
		return o
	}
	o.Functions = append(o.Functions, core.Reduces)
	for _, name := range s.Tasks.Names() {
		t := s.Tasks.tasks[name]
		o.Functions = append(o.Functions, core.Function{Name: t.name, Version: t.version})
	}
	return o
}
