package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// ops are an application's: two that fail, and one that blocks until free is closed.
func ops(free <-chan struct{}) map[phalanx.Op]cluster.CombineFunc {
	return map[phalanx.Op]cluster.CombineFunc{
		"fails":  func(phalanx.DType, []byte, []byte) error { return errors.New("op says no") },
		"panics": func(phalanx.DType, []byte, []byte) error { panic(fmt.Sprint("op is ", "beside itself")) },
		"blocks": func(phalanx.DType, []byte, []byte) error { <-free; return nil },
	}
}

// opCase is one way in which a Reduce calls an op.
type opCase struct {
	name     string
	elements int // of 8 bytes
	degree   int
	all      bool // an AllReduce
	composed bool // of a target that another Reduce makes
}

var opCases = []opCase{
	{name: "inline", elements: 100},
	{name: "chain", elements: 100_000, degree: 1},
	{name: "tree", elements: 100_000, degree: 2},
	{name: "star", elements: 100_000, degree: 3},
	{name: "ring", elements: 100_000, all: true},
	{name: "composed", elements: 100_000, degree: 2, composed: true},
}

// reduce asks for c with op, and returns its error.
func (c opCase) reduce(ctx context.Context, nodes []*cluster.Node, op phalanx.Op, target phalanx.ObjectID, sources []phalanx.ObjectID) error {
	r := storenode.Reduce{Target: target, Sources: sources, Op: op, Degree: c.degree}
	if !c.all {
		_, err := nodes[0].Reduce(ctx, r)
		return err
	}
	errs := make([]error, len(nodes))
	var group sync.WaitGroup
	for i, n := range nodes {
		group.Go(func() {
			v, _, err := n.AllReduce(ctx, r)
			if v != nil {
				v.Release()
			}
			errs[i] = err
		})
	}
	group.Wait()
	for _, err := range errs {
		if err == nil {
			return nil
		}
		if e := (*phalanx.Error)(nil); errors.As(err, &e) && e.Node == "" {
			return fmt.Errorf("it names no node: %w", err)
		}
	}
	for _, err := range errs { // those that only follow know nothing of the op
		if strings.Contains(err.Error(), "the op ") {
			return err
		}
	}
	return errs[0]
}

// sources puts one array on each node, and returns their ids.
func (c opCase) sources(t *testing.T, nodes []*cluster.Node) (sources, all []phalanx.ObjectID) {
	for i, n := range nodes {
		id := phalanx.ObjectID(fmt.Sprint(c.name, "/s", i))
		if _, err := cluster.PutArray(within(t), n, id, make([]int64, c.elements)); err != nil {
			t.Fatal(err)
		}
		sources = append(sources, id)
	}
	all = sources
	if c.composed {
		inner := phalanx.ObjectID(c.name + "/inner")
		if _, err := nodes[1].Reduce(within(t), storenode.Reduce{Target: inner, Sources: sources[:2], Op: phalanx.Sum, Degree: 1}); err != nil {
			t.Fatal(err)
		}
		sources, all = []phalanx.ObjectID{inner, sources[2]}, append(all, inner)
	}
	return sources, all
}

// A Reduce whose op fails or panics ends at once with an error that names the op,
// what it said, a source and a node. Everything else goes on, and nothing is left.
func TestAnOpThatFails(t *testing.T) {
	nodes := start(t, 3, silent, func(c *cluster.Config) { c.Ops = ops(nil) })
	for _, c := range opCases {
		t.Run(c.name, func(t *testing.T) {
			sources, all := c.sources(t, nodes)
			target := phalanx.ObjectID(c.name + "/sum")
			for op, said := range map[phalanx.Op]struct {
				kind phalanx.Kind
				text string
			}{"fails": {phalanx.ErrInvalid, "op says no"}, "panics": {phalanx.ErrInternal, "it panicked: op is beside itself"}} {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				err := c.reduce(ctx, nodes, op, target, sources)
				if ctx.Err() != nil {
					t.Errorf("%s: it ended with its deadline", op)
				}
				cancel()
				refused(t, string(op), err, said.kind, "the op \""+string(op)+"\" failed", said.text, c.name, "(node n")
				var e *phalanx.Error
				if errors.As(err, &e) && !contains(sources, e.Object) {
					t.Errorf("%s: the culprit is %q, not one of %v", op, e.Object, sources)
				}
			}
			if err := c.reduce(within(t), nodes, phalanx.Sum, target, sources); err != nil { // the target is free again
				t.Errorf("with another op: %v", err)
			}
			empty(t, nodes, append(all, target)...)
		})
	}
}

func contains(ids []phalanx.ObjectID, id phalanx.ObjectID) bool {
	for _, x := range ids {
		if x == id {
			return true
		}
	}
	return false
}

// A Reduce whose op never returns ends with its deadline, which names the op. The
// nodes go on.
func TestAnOpThatNeverReturns(t *testing.T) {
	free := make(chan struct{})
	nodes := start(t, 3, silent, func(c *cluster.Config) { c.Ops = ops(free) })
	t.Cleanup(func() { close(free) }) // before they leave
	for _, c := range opCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			sources, _ := c.sources(t, nodes)
			target := phalanx.ObjectID(c.name + "/sum")
			for patience := 3 * time.Second; ; patience *= 2 { // on a busy machine the op is called late
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				err := c.reduce(ctx, nodes, "blocks", target, sources)
				cancel()
				if !errors.Is(err, phalanx.ErrDeadline) {
					t.Fatalf("it ended with %v", err)
				}
				if strings.Contains(err.Error(), `the op "blocks"`) {
					break
				}
				if patience > 20*time.Second {
					t.Fatalf("it does not name the op: %v", err)
				}
			}
			if err := c.reduce(within(t), nodes, phalanx.Sum, target+"/2", sources); err != nil {
				t.Errorf("another reduce of the same: %v", err)
			}
		})
	}
}

// A reader that panics ends the Put that it belongs to.
func TestAReaderThatPanics(t *testing.T) {
	nodes := start(t, 2)
	for name, size := range map[string]int64{"small": 100, "large": 1 << 20, "of unknown size": phalanx.UnknownSize} {
		_, err := nodes[0].PutReader(within(t), "x", readFunc(func([]byte) (int, error) { panic("no more pages") }), size)
		refused(t, name, err, phalanx.ErrInternal, `"x"`, "the reader", "no more pages")
	}
	put(t, nodes[0], "x", []byte("the id is free")) // another node can be faster than the word that it is
	empty(t, nodes, "x")
}

type readFunc func([]byte) (int, error)

func (r readFunc) Read(p []byte) (int, error) { return r(p) }
