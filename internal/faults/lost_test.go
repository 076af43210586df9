package faults

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
)

// lose has the only node with all bytes of an object die while others get it, and
// returns when the object is lost.
func lose(t *testing.T, id phalanx.ObjectID, nodes []*process, victim *process) (others []*process) {
	t.Helper()
	middle(t, nodes, nodes, nodes[0], id)
	was := victim.id(t)
	others = without(nodes, victim)
	if n := len(holders(t, nodes, id)); n != 1 {
		t.Fatalf("%d nodes have every byte already", n)
	}
	victim.signal(t, syscall.SIGKILL)
	eventually(t, func() string {
		for _, p := range others {
			if len(seen(p, func(e actors.ObjectLost) bool { return e.Object == id })) > 0 {
				return ""
			}
		}
		return fmt.Sprintf("nobody says that %s is lost", id)
	})
	removed(t, others, was)
	return others
}

// holders returns who has every byte.
func holders(t testing.TB, nodes []*process, id phalanx.ObjectID) (all []phalanx.NodeID) {
	t.Helper()
	for _, n := range treeOf(t, nodes[0], id).Nodes {
		if n.Complete {
			all = append(all, n.Node)
		}
	}
	return all
}

// byWhom runs a test where the object is put again by a node that has nothing of
// it, and by one that has a part and waits for the rest.
func byWhom(t *testing.T, test func(t *testing.T, nodes []*process, victim, again *process)) {
	for _, part := range []bool{false, true} {
		t.Run(map[bool]string{false: "by one without", true: "by one with a part"}[part], func(t *testing.T) {
			nodes := start(t, 6)
			again := nodes[5]
			if part {
				again = nodes[2]
			}
			test(t, nodes, nodes[1], again)
		})
	}
}

// The last complete copy is lost in the middle of a broadcast. The same bytes are
// put again: everybody goes on with those that are missing.
func TestALostObjectIsPutAgain(t *testing.T) {
	byWhom(t, func(t *testing.T, nodes []*process, victim, again *process) {
		id := fresh("lost")
		put := order{Do: "put", Object: id, Size: large}
		must(t, tell(victim, put))
		gen := must(t, tell(victim, order{Do: "stat", Object: id}))[0].Gen
		calls := []call{tell(nodes[4], order{Do: "open", Object: id, Size: large})}
		for _, p := range []*process{nodes[0], nodes[2], nodes[3]} {
			calls = append(calls, tell(p, order{Do: "get", Object: id, Size: large}))
		}
		others := lose(t, id, nodes, victim)
		before := states(t, others)
		must(t, append(calls, tell(again, put))...)
		if now := must(t, tell(again, order{Do: "stat", Object: id}))[0].Gen; now != gen {
			t.Errorf("the same bytes are generation %v, not %v", now, gen)
		}
		resumed, stranded := 0, 0
		for i, p := range others {
			if p != again { // whose own put has the rest; those that read from it just go on
				stranded += len(seen(p, func(e actors.SenderLost) bool { return e.Object == id }))
			}
			for _, e := range seen(p, func(e actors.TransferResumed) bool { return e.Object == id && e.Offset > large/5 }) {
				resumed++
				if more := int64(p.state(t).BytesReceived - before[i].BytesReceived); more > large-e.Offset+large/10 {
					t.Errorf("%s, which had %d bytes, received %d more", p.name, e.Offset, more)
				}
			}
		}
		if resumed == 0 && stranded > 0 {
			t.Error("nobody went on from what it had")
		}
		settle(t, others)
		must(t, tell(others[0], order{Do: "get", Object: id, Size: large}))
		level(t, others, id)
	})
}

// The last complete copy is lost in the middle of a broadcast, and other bytes are
// put: a Get has all of those, and a Reader, which has read some of the old ones,
// ends with ErrReset.
func TestALostObjectIsReplaced(t *testing.T) {
	byWhom(t, func(t *testing.T, nodes []*process, victim, again *process) {
		id := fresh("lost")
		was := order{Do: "put", Object: id, Size: large}
		is := order{Do: "put", Object: id, Size: large / 2, Like: "other"}
		must(t, tell(victim, was))
		gen := must(t, tell(victim, order{Do: "stat", Object: id}))[0].Gen
		reads := nodes[4]
		before := reads.state(t)
		opened := tell(reads, order{Do: "open", Object: id, Size: was.Size})
		growing(t, reads, before)
		get, open := is, is
		get.Do, open.Do = "get", "open"
		var calls []call
		for _, p := range []*process{nodes[0], nodes[2], nodes[3]} {
			calls = append(calls, tell(p, get))
		}
		others := lose(t, id, nodes, victim)
		must(t, append(calls, tell(again, is))...)
		if l := opened.answer(t); l.ErrKind != phalanx.ErrReset {
			t.Errorf("who has read old bytes ended with %q, want reset", l.Err)
		}
		if now := must(t, tell(again, order{Do: "stat", Object: id}))[0].Gen; !gen.Less(now) {
			t.Errorf("other bytes are generation %v, after %v", now, gen)
		}
		settle(t, others)
		for _, p := range others {
			must(t, tell(p, get), tell(p, open))
		}
		level(t, others, id)
	})
}
