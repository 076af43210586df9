package faults

import (
	"testing"

	"github.com/phalanx-go/phalanx"
)

// A node that has a copy fails, and the object is deleted and put again with other bytes.
// The Put waits until that node is no member, and then nobody reads the old bytes: not
// even that node, once it is back.
func TestPutAgainWhileAHolderFails(t *testing.T) {
	each(t, func(t *testing.T, f fault) {
		nodes := start(t, 5)
		id := fresh("again")
		victim := nodes[3]
		for owner, backup := replicas(t, nodes, id); owner == victim || backup == victim; owner, backup = replicas(t, nodes, id) {
			id = fresh("again")
		}
		must(t, tell(nodes[1], order{Do: "put", Object: id, Size: 1 << 20}), tell(victim, order{Do: "get", Object: id, Size: 1 << 20}))
		was := f.happens(t, victim)
		must(t, tell(nodes[2], order{Do: "delete", Object: id}))
		again := order{Do: "put", Object: id, Size: 1 << 20, Like: "other"}
		must(t, tell(nodes[0], again))
		read := again
		read.Do = "get"
		for _, p := range without(nodes, victim) {
			must(t, tell(p, read))
		}
		members := f.ends(t, nodes, victim, was)
		for _, p := range members {
			must(t, tell(p, read))
		}
		level(t, members, id)
		must(t, tell(nodes[1], order{Do: "delete", Object: id}))
		if l := tell(members[len(members)-1], read).answer(t); l.ErrKind != phalanx.ErrDeleted {
			t.Errorf("what was deleted for the second time: %q", l.Err)
		}
	})
}
