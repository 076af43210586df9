package barrier_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/children/nodes"
	"github.com/phalanx-go/phalanx/internal/poll"
)

// order is what a process is to do, one line of JSON.
type order struct {
	Name   string
	Config barrier.Config
	Join   bool           // without the Config
	Hosts  []string       // who enter, each on its own
	Rounds int            // of generations, one after the other
	Hold   phalanx.NodeID // a holder of the semaphore keeps it until this node is no member any more
}

// report is what it says when an order is done, and of events.
type report struct {
	First    []int64 // when each has passed the first round, by the machine's clock
	Passed   []int64 // and the last one
	Left     []int64 // when each has begun to release its semaphore
	Late     int
	Err      string `json:",omitempty"`
	TookOver *actors.BarrierTookOver
	Fired    *actors.BarrierFired
}

// setup has a process carry out orders at once, and tell of events.
func setup(ctx context.Context, self *nodes.Self[report]) func(order) {
	go func() {
		for e := range self.Events(ctx) {
			switch e := e.(type) {
			case actors.BarrierTookOver:
				self.Tell(report{TookOver: &e})
			case actors.BarrierFired:
				self.Tell(report{Fired: &e})
			}
		}
	}()
	return func(o order) { go func() { self.Report(carryOut(self.Node, o)) }() }
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
		first, at, left int64
		late            bool
		err             error
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
					if !poll.Holds(func() bool { return !node.View().Has(o.Hold) }) {
						err = fmt.Errorf("%s is still a member", o.Hold)
					}
					last.left = time.Now().UnixNano()
					err = errors.Join(err, b.Release(ctx, barrier.Entry{Host: h}))
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
		r.First, r.Passed, r.Left = append(r.First, x.first), append(r.Passed, x.at), append(r.Left, x.left)
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
type process = nodes.Node[order, report]

func launch(t testing.TB, n int) []*process { return nodes.Launch[order, report](t, n) }
