package workflow

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/poll"
)

// A node that leaves takes no objects any more: a task that puts one there has not failed, and runs on another node.
func TestATaskOnANodeThatLeaves(t *testing.T) {
	var e effects
	g := newGate()
	once := Func0("once", 1, func(c Context) (Ref, error) {
		e.add("once")
		if err := g.pass(c, "once"); err != nil {
			return Ref{}, err
		}
		return c.Put("x", []byte("x"))
	}).With(NoEffect, Retry(0))
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir()})
	m := b.join("b", Settings{Tasks: Tasks(once)})
	r, err := Start(within(t), n, "r", once.Bind())
	if err != nil {
		t.Fatal(err)
	}
	g.await(t)
	b.join("c", Settings{Tasks: Tasks(once)})
	left := make(chan struct{})
	go func() {
		leave(t, m)
		close(left)
	}()
	poll.Until(t, "the node to refuse objects", func() bool {
		_, err := m.Put(within(t), phalanx.ObjectID(time.Now().String()), nil)
		return err != nil
	})
	close(g.open)
	if got := result(t, r, nil); got.Size() != 1 || e.count("once") < 2 {
		t.Errorf("%v, called %d times", got, e.count("once"))
	}
	<-left
}
