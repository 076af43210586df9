package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/children"
)

// process is a node as the benchmark sees it.
type process struct {
	*children.Child
	id      phalanx.NodeID
	answers chan answer
}

// fleet are the nodes of a cluster, each a process of its own.
type fleet []*process

// launch starts n nodes, which join one after the other.
func launch(n int) (f fleet, err error) {
	defer func() {
		if err != nil {
			f.stop()
		}
	}()
	seed := ""
	for i := range n {
		p, err := start(nodeConfig{Name: fmt.Sprint("node-", i+1), Seed: seed})
		if err != nil {
			return f, err
		}
		f = append(f, p)
		a, err := p.answer()
		if err != nil {
			return f, fmt.Errorf("node %d does not join: %w", i+1, err)
		}
		if p.id = a.Node; i == 0 {
			seed = a.Control
		}
	}
	_, err = f.all(func(int) order { return order{Nodes: n} })
	return f, err
}

func start(c nodeConfig) (*process, error) {
	config, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(os.Args[0])
	// More threads than the few cores that all processes share would only take turns.
	cmd.Env = append(os.Environ(), nodeVar+"="+string(config), "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	p := &process{answers: make(chan answer, 100)} // far more than the orders that wait for one
	p.Child, err = children.Talk(cmd, func(a answer) { p.answers <- a })
	return p, err
}

func (p *process) answer() (answer, error) {
	select {
	case a := <-p.answers:
		if a.Err != "" {
			return a, errors.New(a.Err)
		}
		return a, nil
	case <-p.Done():
		return answer{}, fmt.Errorf("the process has ended: %s", children.How(p.Err()))
	case <-time.After(patience + patience/4):
		return answer{}, errors.New("the node does not answer")
	}
}

// all gives each node its order, and returns their answers.
func (f fleet) all(o func(i int) order) (answers []answer, err error) {
	for i, p := range f {
		if err := p.Tell(o(i)); err != nil {
			return nil, fmt.Errorf("node %d: %w", i+1, err)
		}
	}
	for i, p := range f {
		a, e := p.answer()
		if e != nil {
			err = errors.Join(err, fmt.Errorf("node %d: %w", i+1, e))
		}
		answers = append(answers, a)
	}
	return answers, err
}

// pass runs all hosts of a passage, each on its node, and returns their times.
func (f fleet) pass(p passage, run string) (all []times, err error) {
	owners := make([]phalanx.NodeID, p.Hosts)
	for h := range owners {
		owners[h] = f[h%len(f)].id
	}
	if err := f[0].Tell(order{Prefix: run, Wanted: owners}); err != nil {
		return nil, err
	}
	named, err := f[0].answer()
	if err != nil {
		return nil, err
	}
	p.Names = named.Names
	answers, err := f.all(func(i int) order {
		o := order{Passage: p}
		for h := i; h < p.Hosts; h += len(f) {
			o.Hosts = append(o.Hosts, h)
		}
		return o
	})
	for _, a := range answers {
		all = append(all, a.Times...)
	}
	return all, err
}

func (f fleet) stop() {
	for _, p := range f {
		_ = p.Kill()
	}
}
