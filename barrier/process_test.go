package barrier_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/children"
)

// processVar has the test binary be a node, with this configuration.
const processVar = "PHALANX_BARRIER_PROCESS"

type processConfig struct {
	Name string
	Seed string
}

// order is what a process is to do, one line of JSON.
type order struct {
	Name   string
	Config barrier.Config
	Join   bool     // without the Config
	Hosts  []string // who enter, each on its own
	Rounds int      // of generations, one after the other
	Hold   time.Duration
}

// report is what it says: that it has joined, when an order is done, and of events.
type report struct {
	Control  string         `json:",omitempty"`
	Node     phalanx.NodeID `json:",omitempty"`
	First    []int64        // when each has passed the first round, by the machine's clock
	Passed   []int64        // and the last one
	Late     int
	Err      string `json:",omitempty"`
	TookOver *actors.BarrierTookOver
	Fired    *actors.BarrierFired
}

// beProcess is a node until its standard input ends.
func beProcess(config string) error {
	var p processConfig
	if err := json.Unmarshal([]byte(config), &p); err != nil {
		return err
	}
	ctx, end := children.Lifetime(time.Minute)
	defer end()
	cfg := configOf(p)
	node, err := cluster.Join(ctx, cfg)
	if err != nil {
		return err
	}
	say := make(chan report)
	go func() {
		out := json.NewEncoder(os.Stdout)
		for r := range say {
			_ = out.Encode(r)
		}
	}()
	say <- report{Control: node.ControlAddr(), Node: node.ID()}
	go func() {
		for e := range node.Events(ctx) {
			switch e := e.(type) {
			case actors.BarrierTookOver:
				say <- report{TookOver: &e}
			case actors.BarrierFired:
				say <- report{Fired: &e}
			}
		}
	}()
	orders := os.NewFile(3, "orders")
	for in := bufio.NewScanner(orders); in.Scan(); {
		var o order
		if err := json.Unmarshal(in.Bytes(), &o); err != nil {
			return err
		}
		go func() { say <- carryOut(node, o) }()
	}
	return nil
}

func configOf(p processConfig) cluster.Config {
	cfg := config(p.Name)
	if p.Seed != "" {
		cfg.Seeds = []string{p.Seed}
	}
	return cfg
}

// barrier returns the barrier of a round.
func (o *order) barrier(node *cluster.Node, g uint64) (*barrier.Barrier, error) {
	if o.Join {
		return barrier.Join(node, o.Name, barrier.WithGeneration(g))
	}
	return barrier.Open(node, o.Name, o.Config, barrier.WithGeneration(g))
}

// carryOut has all hosts of an order enter, and says when each has passed.
func carryOut(node *cluster.Node, o order) report {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	type one struct {
		first, at int64
		late      bool
		err       error
	}
	all := make(chan one, len(o.Hosts))
	for _, h := range o.Hosts {
		go func() {
			var last one
			for g := range max(1, o.Rounds) {
				b, err := o.barrier(node, uint64(g))
				if err == nil {
					var p barrier.Passage
					p, err = b.Enter(ctx, barrier.Entry{Host: h})
					last.late = last.late || p.Late
				}
				if last.at = time.Now().UnixNano(); g == 0 {
					last.first = last.at
				}
				if err == nil && o.Config.Semaphore.Count > 0 {
					time.Sleep(o.Hold)
					err = b.Release(ctx, barrier.Entry{Host: h})
				}
				if last.err = err; err != nil {
					break
				}
			}
			all <- last
		}()
	}
	var r report
	var errs []error
	for range o.Hosts {
		x := <-all
		r.First, r.Passed = append(r.First, x.first), append(r.Passed, x.at)
		if x.late {
			r.Late++
		}
		errs = append(errs, x.err)
	}
	if err := errors.Join(errs...); err != nil {
		r.Err = err.Error()
	}
	return r
}

// process is a node as the tests see it.
type process struct {
	*children.Child
	node    phalanx.NodeID
	control string
	orders  *os.File
	done    chan report
	events  chan report
}

// launch starts nodes, each a process of its own.
func launch(t testing.TB, n int) []*process {
	t.Helper()
	var all []*process
	for i := range n {
		p := processConfig{Name: fmt.Sprint("p", i)}
		if i > 0 {
			p.Seed = all[0].control
		}
		all = append(all, launchOne(t, p))
	}
	// The last one knows all; the others will, before they are asked for much.
	return all
}

func launchOne(t testing.TB, cfg processConfig) *process {
	t.Helper()
	text, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, said, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), processVar+"="+string(text))
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = said, os.Stderr, []*os.File{read}
	p := &process{orders: write, done: make(chan report, 100), events: make(chan report, 1000)}
	if p.Child, err = children.Run(cmd); err != nil {
		t.Fatal(err)
	}
	_, _ = read.Close(), said.Close()
	joined := make(chan report, 1)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		in := bufio.NewScanner(out)
		in.Buffer(nil, 64<<20)
		for in.Scan() {
			var r report
			switch err := json.Unmarshal(in.Bytes(), &r); {
			case err != nil:
			case r.Control != "":
				joined <- r
			case r.TookOver != nil, r.Fired != nil:
				p.events <- r
			default:
				p.done <- r
			}
		}
	}()
	t.Cleanup(func() {
		_ = p.Kill()
		_ = write.Close()
		<-gone
		_ = out.Close()
	})
	select {
	case r := <-joined:
		p.node, p.control = r.Node, r.Control
	case <-time.After(20 * time.Second):
		t.Fatalf("%s does not join", cfg.Name)
	}
	return p
}

// tell gives an order.
func (p *process) tell(t testing.TB, o order) {
	t.Helper()
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.orders.Write(append(b, '\n')); err != nil {
		t.Fatal(err)
	}
}

// await returns what becomes of an order.
func (p *process) await(t testing.TB) report {
	t.Helper()
	select {
	case r := <-p.done:
		return r
	case <-time.After(time.Minute):
		t.Fatalf("%s does not answer", p.node)
		return report{}
	}
}
