package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/children"
)

// nodeVar makes the program a node, with this configuration.
const nodeVar = "PHALANX_BARRIERS_NODE"

// patience bounds each order of a node.
const patience = 2 * time.Minute

const memory = 256 << 20 // of each node

type nodeConfig struct {
	Name string
	Seed string // control address of another node; empty: it is the first
}

// order is an order to a node, one line of JSON. The node answers each with one line. It waits
// until Nodes members have joined, looks for the Wanted names, or has Hosts pass barriers.
type order struct {
	Nodes   int              `json:",omitempty"`
	Prefix  string           `json:",omitempty"` // of wanted names
	Wanted  []phalanx.NodeID `json:",omitempty"` // the members that manage these names
	Hosts   []int            `json:",omitempty"`
	Passage passage
}

type answer struct {
	Err     string         `json:",omitempty"`
	Control string         `json:",omitempty"` // in the first answer: where others join
	Node    phalanx.NodeID `json:",omitempty"`
	Names   [][2]string    `json:",omitempty"`
	Times   []times        `json:",omitempty"`
}

func join(ctx context.Context, c nodeConfig) (*cluster.Node, error) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	cfg := cluster.Config{Name: c.Name, Memory: memory, Deadline: patience, Logger: log, Services: []cluster.Service{barrier.Service()}}
	if c.Seed != "" {
		cfg.Seeds = []string{c.Seed}
	}
	return cluster.Join(ctx, cfg)
}

// beNode runs a node until the parent process ends it.
func beNode(config string) error {
	var c nodeConfig
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return err
	}
	ctx, end := children.Lifetime(time.Second)
	defer end()
	node, err := join(ctx, c)
	if err != nil {
		return err
	}
	children.Say(answer{Control: node.ControlAddr(), Node: node.ID()})
	return children.Orders(func(o order) {
		a, err := o.carryOut(ctx, node)
		if err != nil {
			a.Err = err.Error()
		}
		children.Say(a)
	})
}

func (o order) carryOut(ctx context.Context, n *cluster.Node) (a answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch {
	case o.Nodes > 0:
		return a, joined(ctx, n, o.Nodes)
	case len(o.Wanted) > 0:
		a.Names = managedBy(n, o.Prefix, o.Wanted)
		return a, nil
	}
	a.Times, err = o.Passage.run(ctx, n, o.Hosts)
	return a, err
}

// joined waits until so many members are in the node's view.
func joined(ctx context.Context, n *cluster.Node, nodes int) error {
	for len(n.View().Members) != nodes {
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("only %d of %d nodes have joined: %w", len(n.View().Members), nodes, err)
		}
	}
	return nil
}

// managedBy returns, for each member, two names of barriers whose primary manager it is.
func managedBy(n *cluster.Node, prefix string, members []phalanx.NodeID) [][2]string {
	v := n.View()
	names := make([][2]string, len(members))
	for h, id := range members {
		for found, try := 0, 0; found < len(names[h]); try++ { // a member manages one of as many names as there are members
			name := fmt.Sprintf("%s/%d/%d", prefix, h, try)
			if barrier.ManagersOf(v, name)[0] == id {
				names[h][found] = name
				found++
			}
		}
	}
	return names
}
