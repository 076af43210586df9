package workflow

import (
	"bytes"
	"fmt"
	"maps"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/poll"
)

// The objects of attempts whose node has died go with their run, also those that live on in the directory or on another node.
func TestObjectsOfDeadNodes(t *testing.T) {
	g := newGate()
	task := Func0("task", 1, func(c Context) (int, error) {
		for _, n := range []int{10, 100_000} {
			if _, err := c.Put(fmt.Sprint(n), bytes.Repeat([]byte{byte(c.Attempt())}, n)); err != nil {
				return 0, err
			}
		}
		return 1, g.pass(c, "task")
	}).With(NoEffect)
	b, _ := three(t, Tasks())
	client := b.join("client", Settings{Tasks: Tasks(task)})
	r, err := Start(within(t), b.nodes[0], "run", task.Bind())
	if err != nil {
		t.Fatal(err)
	}
	g.await(t)
	die(client)
	b.join("other", Settings{Tasks: Tasks(task)})
	g.await(t)
	close(g.open)
	if got := result(t, r, nil); got != 1 {
		t.Error(got)
	}
	if err := Forget(within(t), b.nodes[0], "run"); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "no object of the run", func() bool {
		all, err := b.nodes[1].List(within(t), "wf/")
		return err == nil && len(all) == 0
	})
}

// A Put that has failed may have taken effect: the host is told what there may be.
func TestObjectsOfCallsThatFailed(t *testing.T) {
	node := nodes(t, 1)[0]
	puts := Func0("puts", 1, func(c Context) (int, error) {
		_, err := c.Put("some", []byte("bytes"))
		return 0, err
	})
	large := Func0("large", 1, func(Context) ([]byte, error) { return make([]byte, maxInline+1), nil })
	b := benchOf(t, puts, large)
	b.runner.store = unsureStore{nodeStore{node}}
	for _, s := range []AnyStep{puts.Bind(), large.Bind()} {
		a := b.of(s)
		before := map[phalanx.ObjectID]bool{}
		a.keeps = func(id phalanx.ObjectID) { before[id] = true }
		e := b.run(t.Context(), a, nil)
		if e.err == nil || len(e.tried) != 1 || !maps.Equal(e.tried, before) {
			t.Errorf("%s: %v, %v, %v", a.call, e.err, e.tried, before)
		}
		for id := range e.tried {
			if _, err := node.Stat(t.Context(), id); err != nil {
				t.Error(err)
			}
		}
	}
}
