package workflow

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// An incarnation that ends before it has deleted objects leaves them to the next one of the process.
func TestObjectsThatCouldNotBeDeleted(t *testing.T) {
	b := &bedOf{t: t}
	n := b.join("a", Settings{})
	for _, id := range []phalanx.ObjectID{"x", "y"} {
		if _, err := n.Put(within(t), id, []byte("bytes")); err != nil {
			t.Fatal(err)
		}
	}
	o := &open{node: n}
	l := newIncarnation(o)
	l.stop(errors.New("the node was removed"))
	l.delete([]phalanx.ObjectID{"x", "y"})
	l.wait.Wait()
	if left := o.has.condemned(); !slices.Equal(left, []phalanx.ObjectID{"x", "y"}) {
		t.Fatalf("%q are left", left)
	}
	next := newIncarnation(o)
	next.wait.Wait()
	if left := o.has.condemned(); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	if _, err := n.TryGet(context.Background(), "x"); !errors.Is(err, phalanx.ErrDeleted) {
		t.Errorf("x: %v", err)
	}
}
