package soak

import (
	"context"
	"net"
	"runtime"
	"strconv"
	"time"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/children"
	"github.com/phalanx-go/phalanx/internal/hashdag"
	"github.com/phalanx-go/phalanx/internal/reservation"
	"github.com/phalanx-go/phalanx/workflow"
)

// WorkflowNode is a process that keeps, decides and executes runs of workflows. The driver makes it; it goes to the process as JSON.
type WorkflowNode struct {
	Name     string
	Seeds    []string // addresses of the others
	Bind     string   // its own address
	Control  int      // its port; 0: any
	Dir      string   // its folder; "": none
	Effects  string   // folder outside of the cluster
	Store    string   // socket of the store of trips
	Versions []int    // of the task that hashes
	Build    int      // how often the node was upgraded
}

const (
	slots = 16 // attempts at once: a trip that waits for a lock keeps one
	// replaceAfter is how long a disk may be away: one that is killed, or hangs, is not replaced.
	replaceAfter   = 20 * time.Second
	workflowVoters = 5 // two of them may be away: one that hangs, and one that is removed by mistake
)

// Run is the inside of the process: it carries out the driver's orders until the driver asks it to leave.
func (w WorkflowNode) Run() error {
	runtime.GOMAXPROCS(1) // as many nodes as there are share the machine
	life, end := children.Lifetime(leaveGrace)
	defer end()
	ctx, cancel := context.WithTimeout(life, joining)
	defer cancel()
	outside := &world{Outside: hashdag.Outside{Dir: w.Effects}, Trips: reservation.Outside{Store: reservation.Client{Address: w.Store}, Dir: w.Effects}}
	settings := workflow.Settings{Dir: w.Dir, Slots: slots, Tasks: outside.registry(w.Versions...), Actors: workflow.Actors(counts), ReplaceAfter: replaceAfter}
	service, err := settings.Open()
	if err != nil {
		return err
	}
	node, err := cluster.Join(ctx, cluster.Config{Name: w.Name, Cluster: "soak", Seeds: w.Seeds, Bind: w.Bind, Insecure: w.Bind != loopback, ControlPort: w.Control,
		Alone: len(w.Seeds) == 0, Voters: workflowVoters, Memory: nodeMemory, Deadline: callDeadline, Services: []cluster.Service{service}})
	if err != nil {
		return err
	}
	return serve(life, &server{node: node, world: outside})
}

const loopback = "127.0.0.1"

// portOf returns the port of an address, at which a process starts again.
func portOf(address string) int {
	_, port, _ := net.SplitHostPort(address)
	n, _ := strconv.Atoi(port) // 0: any
	return n
}
