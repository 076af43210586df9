// Package nodes starts copies of a test's own binary as the nodes of a cluster.
// A test writes orders to them, one line of JSON each, and reads their reports.
// No node survives its test, and a failed test shows the logs of its nodes.
package nodes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/children"
)

// Variable makes the test binary a node: TestMain passes its value to Be.
const Variable = "PHALANX_TEST_NODE"

// place is the name of a node and the seed at which it joins.
type place struct{ Name, Seed string }

// line is a line that a node writes: that it has joined, an event, or a report.
type line[R any] struct {
	Control string         `json:",omitempty"`
	Node    phalanx.NodeID `json:",omitempty"`
	Event   *R             `json:",omitempty"`
	Report  *R             `json:",omitempty"`
}

// Node is a node as a test sees it. It takes orders O and gives reports R.
type Node[O, R any] struct {
	*children.Child
	ID      phalanx.NodeID
	Events  chan R // the last thousand that no test has taken
	Control string
	reports chan R
	over    chan struct{} // closed when the test is
}

// Launch starts n nodes, each a process of its own, one after the other. The last
// one knows all others when Launch returns; the others learn of it soon.
func Launch[O, R any](t testing.TB, n int) []*Node[O, R] {
	t.Helper()
	var all []*Node[O, R]
	for i := range n {
		seed := ""
		if i > 0 {
			seed = all[0].Control
		}
		all = append(all, Join[O, R](t, fmt.Sprint("p", i), seed))
	}
	return all
}

// Join starts one node, which joins the cluster of a seed.
func Join[O, R any](t testing.TB, name, seed string) *Node[O, R] {
	t.Helper()
	text, err := json.Marshal(place{name, seed})
	must(t, err)
	var log bytes.Buffer
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), Variable+"="+string(text))
	cmd.Stderr = &log
	p := &Node[O, R]{reports: make(chan R, 1000), Events: make(chan R, 1000), over: make(chan struct{})}
	joined := make(chan line[R], 1)
	p.Child, err = children.Talk(cmd, func(l line[R]) { p.heard(l, joined) })
	must(t, err)
	t.Cleanup(func() {
		close(p.over)
		_ = p.Kill()
		if t.Failed() && log.Len() > 0 {
			t.Logf("the log of %s:\n%s", name, log.Bytes())
		}
	})
	select {
	case l := <-joined:
		p.ID, p.Control = l.Node, l.Control
	case <-p.Done():
		t.Fatalf("%s ends instead of joining: %s", name, children.How(p.Err()))
	case <-time.After(20 * time.Second):
		t.Fatalf("%s does not join", name)
	}
	return p
}

func (p *Node[O, R]) heard(l line[R], joined chan<- line[R]) {
	switch {
	case l.Control != "":
		joined <- l
	case l.Event != nil:
		p.happened(*l.Event)
	case l.Report != nil:
		select {
		case p.reports <- *l.Report:
		case <-p.over:
		}
	}
}

// happened keeps an event, in place of the oldest one if there are too many: reports come behind it.
func (p *Node[O, R]) happened(e R) {
	for {
		select {
		case p.Events <- e:
			return
		default:
		}
		select {
		case <-p.Events:
		default:
		}
	}
}

// Tell gives an order.
func (p *Node[O, R]) Tell(t testing.TB, o O) {
	t.Helper()
	must(t, p.Child.Tell(o))
}

// Await returns the report of an order.
func (p *Node[O, R]) Await(t testing.TB) R {
	t.Helper()
	select {
	case r := <-p.reports:
		return r
	case <-time.After(time.Minute):
		t.Fatalf("%s does not answer", p.ID)
		panic("unreachable")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
