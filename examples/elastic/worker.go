package main

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/group"
	"github.com/phalanx-go/phalanx/internal/children"
	"github.com/phalanx-go/phalanx/internal/digits"
)

// workerVar has the program be a worker, with this settings.
const workerVar = "PHALANX_ELASTIC_WORKER"

// settings of a worker process.
type settings struct {
	Name string
	Seed string // address of another worker
	Task task
}

// order is what a worker is told, a line of JSON.
type order struct {
	Form     []group.Member `json:",omitempty"` // begin, as one of these
	Await    bool           `json:",omitempty"` // come in when the others let it
	Newcomer *group.Member  `json:",omitempty"` // let it come in
}

// report is what a worker says.
type report struct {
	Event    string // joined, step, out, revoked, shrunk, grown, done
	At       int64  // by the machine's clock
	Node     phalanx.NodeID
	Control  string
	Group    string
	Step     int
	Rank     int
	Size     int
	Accuracy float64
	Digest   uint64
	Text     string
}

// beWorker is a worker process, until its standard input ends.
func beWorker(as string) error {
	var s settings
	if err := json.Unmarshal([]byte(as), &s); err != nil {
		return err
	}
	ctx, end := children.Lifetime(time.Minute)
	defer end()
	log := logrus.New()
	log.SetOutput(io.Discard)
	cfg := cluster.Config{Name: s.Name, Logger: log, Services: []cluster.Service{barrier.Service(), group.Service()}}
	if s.Seed != "" {
		cfg.Seeds = []string{s.Seed}
	}
	node, err := cluster.Join(ctx, cfg)
	if err != nil {
		return err
	}
	say := func(r report) {
		r.At, r.Node = time.Now().UnixNano(), node.ID()
		children.Say(r)
	}
	say(report{Event: "joined", Control: node.ControlAddr()})
	train, test, err := digits.Load()
	if err != nil {
		return err
	}
	t := &trainer{task: s.Task, train: train, now: s.Task.begin(), say: say, came: make(chan struct{})}
	failed := make(chan error, 1)
	err = children.Orders(func(o order) {
		if o.Newcomer != nil {
			t.learn(*o.Newcomer)
			return
		}
		go func() {
			if err := t.life(ctx, node, o); err != nil {
				say(report{Event: "failed", Text: err.Error()})
				failed <- err
				return
			}
			say(report{Event: "done", Step: t.now.step, Size: t.g.Size(), Digest: t.now.digest(), Accuracy: s.Task.model().Accuracy(t.now.params, test)})
		}()
	})
	if err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	default:
	}
	leave, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return node.Leave(leave)
}

// life is a worker's whole training.
func (t *trainer) life(ctx context.Context, node *cluster.Node, o order) (err error) {
	if o.Await {
		err = t.enter(ctx, node)
	} else {
		t.g, err = group.Form(ctx, node, "elastic", o.Form)
	}
	if err != nil {
		return err
	}
	return t.run(ctx)
}
