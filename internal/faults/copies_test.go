package faults

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// Holders of an object with Copies(2) die one after the other, each when there are
// two copies again: the last one that is left had no copy in the beginning.
func TestCopiesAreMadeAgain(t *testing.T) {
	nodes := start(t, 6)
	big, little := order{Do: "put", Object: fresh("twice"), Size: large / 2, Copies: 2}, order{Do: "put", Object: fresh("twice"), Size: small, Copies: 2}
	must(t, tell(nodes[1], big), tell(nodes[1], little))
	for range 3 {
		victim := on(t, nodes, pinned(t, nodes, big)[0])
		was := victim.id(t)
		victim.signal(t, syscall.SIGKILL)
		nodes = without(nodes, victim)
		pinned(t, nodes, big)
		pinned(t, nodes, little)
		removed(t, nodes, was)
		settle(t, nodes)
		for _, p := range nodes {
			p.forget()
		}
	}
	for _, o := range []order{big, little} {
		o.Do = "get"
		for _, p := range nodes {
			must(t, tell(p, o))
		}
	}
	level(t, nodes, big.Object, little.Object)
}

// pinned waits until as many of the nodes as were asked for have a complete pinned
// copy, and nobody else does; it returns them, the oldest first.
func pinned(t testing.TB, nodes []*process, o order) (all []phalanx.NodeID) {
	t.Helper()
	eventually(t, func() string {
		all = must(t, tell(nodes[0], order{Do: "stat", Object: o.Object}))[0].Pinned
		for _, id := range all {
			if !slices.ContainsFunc(nodes, func(p *process) bool { return id.Name() == p.name }) {
				return fmt.Sprintf("%s, which is dead, has a copy of %s", id, o.Object)
			}
		}
		if len(all) != o.Copies {
			return fmt.Sprintf("%v have copies of %s, want %d", all, o.Object, o.Copies)
		}
		return ""
	})
	return all
}
