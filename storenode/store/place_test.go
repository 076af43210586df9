package store

import (
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// A root that ends before it is told to, as its node is fenced, leaves the target
// as it is if that is whole: it is a copy like any other.
func TestARootThatEndsLeavesTheTargetReadable(t *testing.T) {
	for _, whole := range []bool{true, false} {
		pool := dataplane.NewPool(dataplane.NewBudget(1 << 20))
		env := &Env{Self: "n#1", Table: NewTable(pool.Budget()), Pool: pool, Directory: mute{}}
		hub := NewPlaces(env, nil)
		c := arriving(t, pool, env.Table, "x", first, 8)
		if _, err := c.buffer.Write(make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
		c.buffer.Retain()
		p := &place{env: env, hub: hub, key: placeKey{Target: "x"}, root: c}
		p.out = &output{place: p, sink: sink{buffer: c.buffer}, room: &handover[sink]{release: sink.release}, cancel: func() {}}
		if whole {
			env.Table.finish(c, phalanx.Meta{Size: 8}, phalanx.Digest{1}, true)
		}
		p.release(false)
		if there := env.Table.lookup("x") == c; there != whole {
			t.Errorf("whole: %v, and the table has it: %v", whole, there)
		}
		if err := c.buffer.Err(); (err == nil) != whole {
			t.Errorf("whole: %v, and who reads it is told %v", whole, err)
		}
	}
}

// says is a directory whose owners give one answer to all requests.
type says struct {
	mute
	result directory.Result
}

func (d says) Request(_ phalanx.ObjectID, _ uint64, _ directory.Body, done func(phalanx.NodeID, directory.Result)) {
	done("owner#1", d.result)
}

// A root announces its target after the owner has begun a newer one: the owner does not list it, and
// gives it no order. The callers on this node would wait for a copy that no one completes.
func TestARootWhoseTargetIsOver(t *testing.T) {
	for name, c := range map[string]struct {
		answer directory.Result
		stays  bool
	}{
		"it is made":       {directory.Result{State: directory.Begun, Gen: first}, true},
		"it is begun anew": {directory.Result{State: directory.Begun, Gen: second}, false},
		"it was released":  {directory.Result{State: directory.Unbound}, false},
	} {
		e := alone(t)
		e.Directory = says{result: c.answer}
		part := arriving(t, e.Pool, e.Table, "x", first, 8)
		p := &place{env: e, key: placeKey{Target: "x"}, root: part}
		p.announce(directory.Announce{Gen: first, Origin: true})
		if stays := e.Table.lookup("x") != nil; stays != c.stays {
			t.Errorf("%s: the copy stays: %v", name, stays)
		}
	}
}
