package keeper_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/children"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/internal/poll"
	node "github.com/phalanx-go/phalanx/node/ledger"
	"github.com/phalanx-go/phalanx/protocol/ledger"
	"github.com/phalanx-go/phalanx/workflow/internal/disk"
	"github.com/phalanx-go/phalanx/workflow/internal/keeper"
)

// processVariable makes the test binary a node.
const processVariable = "PHALANX_TEST_KEEPER"

// place is how a process takes part.
type place struct {
	Name, Dir, Seed string
	Port            int
	Alone           time.Duration // ledger.BootConfig.AloneAfter
	Within          time.Duration // it joins, or ends
}

// said is a line of a process.
type said struct {
	Control  string         // it has joined
	Cluster  phalanx.NodeID // of its view, then and after it has joined again
	Restarts uint64
	Refused  string // it has not joined

	Epoch uint64 // of a tenure, which has begun
	Rows  int    // that it has
	Disks int    // the ledger is on so many
	Acked int    // rows that an order has appended
}

// be is a process: it appends as many rows as an order says.
func be(value string) error {
	var p place
	if err := json.Unmarshal([]byte(value), &p); err != nil {
		return err
	}
	ctx, end := children.Lifetime(time.Second)
	defer end()
	d, err := disk.Open(p.Dir, disk.Options{})
	if err != nil {
		return err
	}
	k, err := keeper.New(keeper.Settings{Store: d, Host: p.Name, Times: node.Config{Boot: ledger.BootConfig{AloneAfter: p.Alone}}})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var tenure durable.Tenure
	go func() {
		_ = k.Run(ctx, func(t durable.Tenure) {
			rows := 0
			if err := t.Scan("row/", func(ledger.Row) bool { rows++; return true }); err != nil {
				rows = -1
			}
			mu.Lock()
			tenure = t
			mu.Unlock()
			children.Say(said{Epoch: t.Epoch(), Rows: rows})
		})
	}()
	log := logrus.New()
	log.SetLevel(logrus.WarnLevel)
	cfg := cluster.Config{Name: p.Name, ControlPort: p.Port, Memory: 64 << 20, Logger: log, Services: []cluster.Service{k.Service()}}
	if p.Seed != "" {
		cfg.Seeds = []string{p.Seed}
	}
	joining, cancel := context.WithTimeout(ctx, p.Within)
	defer cancel()
	n, err := cluster.Join(joining, cfg)
	if err != nil {
		children.Say(said{Refused: err.Error()})
		return err
	}
	in := func(control string) {
		children.Say(said{Control: control, Cluster: n.View().Cluster, Restarts: n.View().Restarts})
	}
	go func() {
		for e := range n.Events(ctx) {
			switch e := e.(type) {
			case actors.NodeRejoined:
				in("again")
			case actors.ReplicaReplaced:
				children.Say(said{Disks: len(e.Now)})
			}
		}
	}()
	in(n.ControlAddr())
	return children.Orders(func(rows int) {
		mu.Lock()
		t := tenure
		mu.Unlock()
		for i := range rows {
			if err := put(t, fmt.Sprintf("row/%d/%d", t.Epoch(), i), "value"); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return
			}
		}
		children.Say(said{Acked: rows})
	})
}

// process is a node in a process of its own.
type process struct {
	*children.Child
	t     *testing.T
	place place

	mu   sync.Mutex
	said []said
}

// launch starts the process of a place.
func launch(t *testing.T, p place) *process {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	one := &process{t: t, place: p}
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), processVariable+"="+string(b))
	var log bytes.Buffer
	cmd.Stderr = &log
	one.Child, err = children.Talk(cmd, func(s said) {
		one.mu.Lock()
		defer one.mu.Unlock()
		one.said = append(one.said, s)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = one.Kill()
		<-one.Done()
		if t.Failed() {
			t.Logf("%s said %+v\n%s", p.Name, one.lines(), log.Bytes())
		}
	})
	return one
}

func (p *process) lines() []said {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]said(nil), p.said...)
}

// last returns the last line that is as wanted.
func (p *process) last(want func(said) bool) (s said, ok bool) {
	for _, one := range p.lines() {
		if want(one) {
			s, ok = one, true
		}
	}
	return s, ok
}

// await waits for such a line.
func (p *process) await(what string, want func(said) bool) said {
	p.t.Helper()
	var s said
	poll.Until(p.t, p.place.Name+" says "+what, func() (ok bool) {
		s, ok = p.last(want)
		return ok
	})
	return s
}

func joined(s said) bool { return s.Control != "" }

// kill ends the process with SIGKILL.
func (p *process) kill() {
	if err := p.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Error(err)
	}
	<-p.Done()
}

// again starts the process of the same place again, with no seed: its folder has to know the others.
func (p *process) again(within time.Duration) *process {
	next := p.place
	next.Seed, next.Within = "", within
	return launch(p.t, next)
}

// newest returns the process whose tenure has the greatest epoch, above a given one.
func newest(t *testing.T, above uint64, all ...*process) (*process, said) {
	t.Helper()
	var at *process
	var tenure said
	poll.Until(t, "a tenure", func() bool {
		for _, p := range all {
			if s, ok := p.last(func(s said) bool { return s.Epoch > above }); ok && s.Epoch > tenure.Epoch {
				at, tenure = p, s
			}
		}
		return at != nil
	})
	return at, tenure
}

// processes starts three processes whose folders hold a ledger with 100 rows, and returns the epoch.
func processes(t *testing.T) ([]*process, uint64) {
	var all []*process
	seed := ""
	for i := range 3 {
		p := launch(t, place{Name: fmt.Sprint("n", i+1), Dir: t.TempDir(), Seed: seed, Alone: 2 * time.Second, Within: time.Minute})
		control := p.await("that it has joined", joined).Control
		_, port, err := net.SplitHostPort(control)
		if err != nil {
			t.Fatal(err)
		}
		p.place.Port, _ = strconv.Atoi(port)
		if seed == "" {
			seed = control
		}
		all = append(all, p)
	}
	poll.Until(t, "the ledger is on three disks", func() bool {
		for _, p := range all {
			if _, ok := p.last(func(s said) bool { return s.Disks == 3 }); ok {
				return true
			}
		}
		return false
	})
	l, tenure := newest(t, 0, all...)
	if err := l.Tell(100); err != nil {
		t.Fatal(err)
	}
	l.await("that the rows are durable", func(s said) bool { return s.Acked == 100 })
	return all, tenure.Epoch
}
