package main

import (
	"bufio"
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
	orders  *os.File
	answers chan answer // closed when the process has ended
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
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	out, said, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	defer said.Close()
	cmd := exec.Command(os.Args[0])
	// More threads than the few cores that all processes share would only take turns.
	cmd.Env = append(os.Environ(), nodeVar+"="+string(config), "GOMAXPROCS=1")
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = said, os.Stderr, []*os.File{read}
	p := &process{orders: write, answers: make(chan answer, 1)}
	if p.Child, err = children.Run(cmd); err != nil {
		return nil, errors.Join(err, write.Close(), out.Close())
	}
	go func() {
		defer close(p.answers)
		defer out.Close()
		in := bufio.NewScanner(out)
		in.Buffer(nil, maxLine)
		for in.Scan() {
			var a answer
			if err := json.Unmarshal(in.Bytes(), &a); err != nil {
				a.Err = err.Error()
			}
			p.answers <- a
		}
	}()
	return p, nil
}

func (p *process) answer() (answer, error) {
	select {
	case a, ok := <-p.answers:
		switch {
		case !ok:
			return a, errors.New("the process has ended")
		case a.Err != "":
			return a, errors.New(a.Err)
		}
		return a, nil
	case <-time.After(patience + patience/4):
		return answer{}, errors.New("the node does not answer")
	}
}

// all gives each node its order, and returns their answers.
func (f fleet) all(o func(i int) order) (answers []answer, err error) {
	for i, p := range f {
		b, err := json.Marshal(o(i))
		if err == nil {
			_, err = p.orders.Write(append(b, '\n'))
		}
		if err != nil {
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
	b, err := json.Marshal(order{Prefix: run, Wanted: owners})
	if err == nil {
		_, err = f[0].orders.Write(append(b, '\n'))
	}
	if err != nil {
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
		_ = p.orders.Close()
		for range p.answers {
		}
	}
}
