package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx/internal/bed"
)

// lead is how long before its start the nodes hear of a run.
const lead = 60 * time.Millisecond

// slowNode is the node whose link can be slower.
const slowNode = 1

// process is a node as the benchmark sees it.
type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan answer // closed when the process has ended
	errors  strings.Builder
}

// nodes are the nodes of a cluster, each a process on a host of its own.
type nodes []*process

// warmest bounds the memory that a node touches before it joins.
const warmest = 1 << 30

// startNodes starts n nodes, which join one after the other, for objects of up to size bytes.
func startNodes(b *bed.Bed, n int, size int64) (all nodes, err error) {
	defer func() {
		if err != nil {
			all.stop()
		}
	}()
	seed := ""
	for i := range n {
		p, err := startNode(b, workerConfig{Rank: i, Addr: b.Addr(i), Seed: seed, Warm: min(3*size+64<<20, warmest)})
		if err != nil {
			return all, err
		}
		all = append(all, p)
		a, err := p.answer()
		if err != nil {
			return all, fmt.Errorf("node %d does not join: %w", i, err)
		}
		if i == 0 {
			seed = a.Control
		}
	}
	time.Sleep(2 * time.Second) // until shards have moved to the new nodes
	return all, nil
}

func startNode(b *bed.Bed, c workerConfig) (*process, error) {
	config, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: b.Command(c.Rank, os.Args[0]), answers: make(chan answer, 1)}
	// More threads than the few cores that all processes share would only take turns.
	p.cmd.Env = append(os.Environ(), workerVar+"="+string(config), "GOMAXPROCS=1")
	p.cmd.Stderr = &p.errors
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.answers)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var a answer
			if json.Unmarshal(lines.Bytes(), &a) != nil {
				return
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
			_ = p.cmd.Wait()
			return a, fmt.Errorf("the process has ended: %s", strings.TrimSpace(p.errors.String()))
		case a.Err != "":
			return a, errors.New(a.Err)
		}
		return a, nil
	case <-time.After(patience + patience/4):
		return answer{}, errors.New("the node does not answer")
	}
}

// all gives an order to all nodes, and waits for their answers.
func (ns nodes) all(o order) ([]answer, error) {
	b, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	for _, p := range ns {
		_, _ = p.in.Write(append(b, '\n')) // a process that has ended does not answer
	}
	var answers []answer
	for i, p := range ns {
		a, e := p.answer()
		if e != nil {
			err = errors.Join(err, fmt.Errorf("%s, %s: node %d: %w", o.job, o.Do, i, e))
		}
		answers = append(answers, a)
	}
	return answers, err
}

func (ns nodes) stop() {
	for _, p := range ns {
		_ = p.cmd.Process.Kill()
	}
	for _, p := range ns {
		for range p.answers {
		}
		_ = p.cmd.Wait()
	}
}

// runPhalanx does the jobs, which are for the same number of nodes, on a new
// cluster. The first run of each warms up.
func runPhalanx(b *bed.Bed, jobs []job, each func(sample)) error {
	largest := slices.MaxFunc(jobs, func(a, b job) int { return cmp.Compare(a.Size, b.Size) })
	ns, err := startNodes(b, largest.Nodes, largest.Size)
	if err != nil {
		return err
	}
	defer ns.stop()
	for j, todo := range jobs {
		for run := -1; run < todo.Runs; run++ {
			o := order{Do: "prepare", Name: fmt.Sprintf("%s/%d/%d", todo.Op, j, run), job: todo}
			if _, err := ns.all(o); err != nil {
				return err
			}
			time.Sleep(50 * time.Millisecond) // the work after a Put must not count for the run
			o.Do, o.At = "run", monotonic()+lead.Nanoseconds()
			answers, err := ns.all(o)
			if err != nil {
				return err
			}
			s := sample{System: "phalanx", job: todo, Run: run}
			ms := func(at int64) float64 { return float64(at-o.At) / 1e6 }
			for i, a := range answers {
				if todo.Slow > 0 && i == slowNode {
					continue
				}
				s.Last, s.Late = max(s.Last, ms(a.End)), max(s.Late, ms(a.Start))
			}
			s.Root = ms(answers[0].End)
			if o.Do = "finish"; run >= 0 {
				each(s)
			}
			if _, err := ns.all(o); err != nil {
				return err
			}
		}
	}
	return nil
}
