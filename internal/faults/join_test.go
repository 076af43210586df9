package faults

import (
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
)

// A node fails while it joins. The others go on, and it can join later: by
// itself if its process has joined already, else started again.
func TestJoin(t *testing.T) {
	each(t, func(t *testing.T, f fault) {
		nodes := start(t, 4)
		id := fresh("join")
		must(t, tell(nodes[1], order{Do: "put", Object: id, Size: large}))
		victim := launch(t, 4, "n4", seed(t, nodes[1]))
		was := expect(t, nodes[0], func(e actors.NodeJoined) bool { return e.Node.Name() == "n4" }).Node
		if f.heal != nil {
			t.Cleanup(func() { f.heal(t, victim) })
		}
		f.strike(t, victim)
		for _, p := range nodes {
			must(t, tell(p, order{Do: "get", Object: id, Size: large}))
		}
		if f.fate != kept {
			removed(t, nodes, was)
		}
		if f.heal != nil {
			f.heal(t, victim)
			if _, joined := victim.joined(); !joined {
				victim = launch(t, 4, "n4", seed(t, nodes[1]))
				up(t, victim)
			}
			nodes = append(nodes, victim)
		}
		settle(t, nodes)
		for _, p := range nodes {
			must(t, tell(p, order{Do: "get", Object: id, Size: large}))
		}
		level(t, nodes, id)
	}, "drop")
}

// The member fails through which a node joins. Another seed is as good.
func TestJoinThroughAMemberThatFails(t *testing.T) {
	each(t, func(t *testing.T, f fault) {
		nodes := start(t, 5)
		victim := nodes[1]
		was := f.happens(t, victim)
		joins := launch(t, 5, "n5", seed(t, victim), seed(t, nodes[2]))
		up(t, joins)
		if f.fate == kept {
			f.heal(t, victim)
		}
		members := f.ends(t, nodes, victim, was, joins)
		id := phalanx.ObjectID(fresh("join"))
		must(t, tell(joins, order{Do: "put", Object: id, Size: large}))
		for _, p := range members {
			must(t, tell(p, order{Do: "get", Object: id, Size: large}))
		}
		level(t, members, id)
	}, "drop what it sends")
}
