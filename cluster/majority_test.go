package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
)

// lines counts what nodes log of the majority, by node.
type lines struct {
	mu sync.Mutex
	of map[string][]string
}

func (l *lines) Levels() []logrus.Level { return logrus.AllLevels }

func (l *lines) Fire(e *logrus.Entry) error {
	if strings.Contains(e.Message, "majority of the voters") {
		l.mu.Lock()
		defer l.mu.Unlock()
		node := fmt.Sprint(e.Data["node"])
		l.of[node] = append(l.of[node], e.Message)
	}
	return nil
}

func (l *lines) count(node phalanx.NodeID) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.of[string(node)])
}

// logged has nodes log to l.
func (l *lines) logged(c *cluster.Config) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	log.AddHook(l)
	c.Logger = log
}

// told returns what a node tells of the majority from now on.
func told(ctx context.Context, n *cluster.Node) <-chan actors.Event {
	out, events := make(chan actors.Event, 16), n.Events(ctx)
	go func() {
		defer close(out)
		for e := range events {
			switch e.(type) {
			case actors.MajorityLost, actors.MajorityFound:
				out <- e
			}
		}
	}()
	return out
}

// voting waits until so many of the nodes are voters and all nodes know them, and returns them.
func voting(t *testing.T, nodes []*cluster.Node, want int) []phalanx.NodeID {
	t.Helper()
	eventually(t, fmt.Sprint(want, " voters"), func() bool {
		for _, n := range nodes {
			if v := n.View(); len(v.Voters) != want || v.Number != nodes[0].View().Number || len(v.Members) != len(nodes) {
				return false
			}
		}
		return true
	})
	return nodes[0].Status().Voters
}

// Three of five voters die at once. Every other node tells it once, by an event and a line of
// its log, names the three, and is not ready; what waits for the directory says it too.
func TestTheMajorityIsLost(t *testing.T) {
	log := &lines{of: map[string][]string{}}
	nodes := start(t, 7, log.logged)
	steady(t, nodes)
	voters := voting(t, nodes, 5)
	var dead, left []*cluster.Node
	var missing []phalanx.NodeID
	for _, n := range nodes {
		if slices.Contains(voters[:3], n.ID()) {
			dead, missing = append(dead, n), append(missing, n.ID())
		} else {
			left = append(left, n)
		}
	}
	says := map[*cluster.Node]<-chan actors.Event{}
	for _, n := range left {
		says[n] = told(within(t), n)
		if st := n.Status(); st.Unready != nil || st.MajorityLost {
			t.Errorf("%s is not ready before: %v", n.ID(), st.Unready)
		}
	}
	began := time.Now()
	die(dead...)
	for _, n := range left {
		select {
		case e := <-says[n]:
			if lost, ok := e.(actors.MajorityLost); !ok || !slices.Equal(lost.Missing, missing) || !slices.Equal(lost.Voters, voters) {
				t.Errorf("%s tells %+v, missing are %v", n.ID(), e, missing)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s tells nothing", n.ID())
		}
	}
	t.Logf("all were told after %v", time.Since(began))
	for _, n := range left {
		st := n.Status()
		if !st.MajorityLost || !slices.Equal(st.MissingVoters, missing) {
			t.Errorf("%s: lost %v, missing %v", n.ID(), st.MajorityLost, st.MissingVoters)
		}
		if !errors.Is(st.Unready, phalanx.ErrUnavailable) || !names(st.Unready, missing) {
			t.Errorf("%s is ready, or does not say who is missing: %v", n.ID(), st.Unready)
		}
		if k := log.count(n.ID()); k != 1 {
			t.Errorf("%s has logged %d lines", n.ID(), k)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if _, err := left[0].Stat(ctx, "x"); !errors.Is(err, phalanx.ErrDeadline) || !names(err, missing) {
		t.Errorf("a Stat ended with %v", err)
	}
	if _, err := left[1].Put(within(t), "y", []byte("y")); !errors.Is(err, phalanx.ErrUnavailable) || !names(err, missing) {
		t.Errorf("a Put ended with %v", err)
	}
	die(left...) // nobody could remove them from the view
}

// Two of the five voters that nine members have die at once: they are removed, and nothing is
// lost.
func TestTwoOfFiveVotersDie(t *testing.T) {
	nodes := start(t, 9)
	steady(t, nodes)
	voting(t, nodes, 5)
	says := told(within(t), nodes[8])
	die(nodes[:2]...)
	eventually(t, "removed", func() bool {
		v := nodes[8].View()
		return len(v.Members) == 7 && len(v.Voters) == 5 && v.Redundant(0)
	})
	if err := insist(within(t), func() error { _, err := nodes[8].Put(within(t), "x", []byte("x")); return err }); err != nil {
		t.Error(err)
	}
	tellsNoLoss(t, says, nodes[:2])
}

// tellsNoLoss checks that no loss of the majority was told for that some nodes are missing,
// which are fewer. On a busy machine others can be silent, too, or not agree in time.
func tellsNoLoss(t *testing.T, says <-chan actors.Event, dead []*cluster.Node) {
	t.Helper()
	for {
		select {
		case e := <-says:
			lost, ok := e.(actors.MajorityLost)
			if ok && len(lost.Missing) > 0 && !slices.ContainsFunc(lost.Missing, func(id phalanx.NodeID) bool {
				return !slices.ContainsFunc(dead, func(n *cluster.Node) bool { return n.ID() == id })
			}) {
				t.Errorf("it is told that %v", e)
			}
		default:
			return
		}
	}
}

// names reports whether err tells of the majority and names all of ids.
func names(err error, ids []phalanx.NodeID) bool {
	return err != nil && strings.Contains(err.Error(), "the majority of the voters is lost") &&
		!slices.ContainsFunc(ids, func(id phalanx.NodeID) bool { return !strings.Contains(err.Error(), string(id)) })
}

// Voters that die one after the other are replaced: the majority is never lost. Nor is it to
// a node that joins, or is alone.
func TestTheMajorityIsKept(t *testing.T) {
	t.Parallel() // it mostly waits
	alone := start(t, 1)[0]
	only := told(within(t), alone)
	nodes := start(t, 5)
	steady(t, nodes)
	var says []<-chan actors.Event
	for _, n := range nodes[2:] {
		says = append(says, told(within(t), n))
	}
	for i, victim := range nodes[:2] {
		die(victim)
		eventually(t, "replaced", func() bool {
			v := nodes[4].View()
			return !v.Has(victim.ID()) && v.Redundant(0)
		})
		n, err := cluster.Join(within(t), cluster.Config{Name: fmt.Sprint("new", i), Memory: 64 << 20, Seeds: []string{nodes[4].ControlAddr()}})
		if err != nil {
			t.Fatal(err)
		}
		defer n.Leave(within(t))
		says = append(says, told(within(t), n))
	}
	for _, n := range append(nodes[2:], alone) {
		eventually(t, fmt.Sprint(n.ID(), " is ready"), func() bool { return n.Status().Unready == nil })
		if err := insist(within(t), func() error { _, err := n.Put(within(t), phalanx.ObjectID(n.ID()), []byte("x")); return err }); err != nil {
			t.Error(err)
		}
	}
	for _, s := range append(says, only) {
		tellsNoLoss(t, s, nodes[:2])
	}
}

// A node that was removed is not ready before it has joined again. If it had lost the
// majority before, it tells then that this is found.
func TestARemovedNodeIsNotReady(t *testing.T) {
	nodes := start(t, 3)
	victim, was := nodes[2], nodes[2].ID()
	why := make(chan error, 1)
	sub := victim.System().EventStream.Subscribe(func(e any) {
		if _, ok := e.(actors.NodeFenced); ok {
			why <- victim.Status().Unready
		}
	})
	defer victim.System().EventStream.Unsubscribe(sub)
	says := told(within(t), victim)
	victim.LoseMajority()
	victim.Fence()
	if err := <-why; !errors.Is(err, phalanx.ErrFenced) {
		t.Errorf("it is not ready because of %v", err)
	}
	eventually(t, "ready again", func() bool { return victim.ID() != was && victim.Status().Unready == nil })
	if lost, found := <-says, <-says; lost.Kind() != "MajorityLost" || found.Kind() != "MajorityFound" {
		t.Errorf("it tells %v, and %v", lost, found)
	}
}
