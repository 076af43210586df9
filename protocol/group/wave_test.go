package group

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// All members are told, by as many messages as the table has.
func TestRevoke(t *testing.T) {
	for _, c := range table {
		if c.n > 100 {
			break
		}
		for _, nodes := range []int{c.n, 3} {
			if nodes > c.n {
				continue
			}
			w := newNet(t, nodes)
			r := w.formed("g", roster(t, on(nodes, c.n)...))
			before := w.now
			w.call(1, Call{Kind: CallRevoke, Group: "g", Rank: 1, Revocation: Revocation{By: 1, Reason: "plan B"}})
			w.run(time.Duration(c.diameter+1) * time.Millisecond)
			for _, m := range r.nodes {
				if got := slices.Sorted(slices.Values(w.revoked["g"][m])); !slices.Equal(got, r.RanksOn(m)) {
					t.Errorf("%d members on %d nodes: on %s ranks %v are told, want %v, after %v", c.n, nodes, m, got, r.RanksOn(m), w.now-before)
				}
			}
			w.run(time.Second)
			sent := 0
			for _, core := range w.nodes {
				sent += core.groups["g"].sent
			}
			if sent < c.notEchoing || sent > c.all || nodes == c.n && sent != c.notEchoing {
				t.Errorf("%d members on %d nodes: %d messages, want %d, or on few nodes up to %d", c.n, nodes, sent, c.notEchoing, c.all)
			}
			if nodes == c.n && w.hops != c.notEchoing {
				t.Errorf("%d members: %d messages between nodes, want %d", c.n, w.hops, c.notEchoing)
			}
		}
	}
}

// Many members fail with their nodes: all are told who are on the others, as long as
// the nodes' graph holds together.
func TestRevokeWithFailedNodes(t *testing.T) {
	const nodes = 8
	for first := range nodes {
		w := newNet(t, nodes)
		var members []Member
		for rank := range 12 * nodes { // in blocks
			members = append(members, Member{Node: node(rank / 12), Label: fmt.Sprint(rank)})
		}
		r := w.formed("g", roster(t, members...))
		lost := map[nodeID]bool{}
		for _, i := range Neighbours(first, nodes)[:Degree(nodes)-1] {
			lost[node(i)] = true
			w.dead[node(i)] = true
		}
		w.call(first, Call{Kind: CallRevoke, Group: "g", Rank: 12 * first})
		w.run(5 * time.Millisecond)
		for _, m := range r.nodes {
			if !lost[m] && len(w.revoked["g"][m]) != 12 {
				t.Errorf("from node %d: on %s are told %v", first, m, w.revoked["g"][m])
			}
		}
	}
}

// Two revokes at once are one; later ones do nothing, and other groups do not notice.
func TestRevokesMerge(t *testing.T) {
	w := newNet(t, 5)
	r := w.formed("g", roster(t, on(5, 5)...))
	w.formed("h", roster(t, on(5, 5)...))
	for i := range 5 {
		w.call(i, Call{Kind: CallRevoke, Group: "g", Rank: i, Revocation: Revocation{By: i}})
	}
	w.run(time.Second)
	w.call(0, Call{Kind: CallRevoke, Group: "g", Rank: 0})
	w.run(time.Second)
	for rank, m := range r.Members() {
		if got := w.revoked["g"][m.Node]; !slices.Equal(got, []int{rank}) {
			t.Errorf("rank %d is told %v", rank, got)
		}
	}
	if len(w.revoked["h"]) > 0 {
		t.Errorf("the other group is told: %v", w.revoked["h"])
	}
}

// One live member delivers, and degree−1 have failed, all that it has told included:
// all live members deliver.
func TestRevokeWithFailures(t *testing.T) {
	const n = 16
	w := newNet(t, n)
	w.formed("g", roster(t, on(n, n)...))
	lost := map[int]bool{}
	for _, v := range Neighbours(0, n)[:Degree(n)-1] {
		lost[v] = true
		w.dead[node(v)] = true // nobody has noticed yet
	}
	w.call(0, Call{Kind: CallRevoke, Group: "g", Rank: 0})
	w.run(5 * time.Millisecond)
	for rank := range n {
		if !lost[rank] && !slices.Equal(w.revoked["g"][node(rank)], []int{rank}) {
			t.Errorf("rank %d is not told", rank)
		}
	}
}

// What is lost on the way is sent again.
func TestRevokeOverBadLinks(t *testing.T) {
	w := newNet(t, 4)
	w.formed("g", roster(t, on(4, 4)...))
	w.lose = func(_, _ nodeID, m Message) bool { _, tell := m.(Tell); return tell && w.now < 400*time.Millisecond }
	w.call(0, Call{Kind: CallRevoke, Group: "g", Rank: 0})
	w.run(time.Second)
	if len(w.revoked["g"]) != 4 {
		t.Errorf("told: %v", w.revoked["g"])
	}
	for id, core := range w.nodes {
		if _, waits := core.Due(); waits {
			t.Errorf("%s still repeats something", id)
		}
	}
}

// A revoke of a group that a node does not know of yet is not lost.
func TestRevokeComesBeforeTheGroup(t *testing.T) {
	w := newNet(t, 3)
	r := w.formed("g", roster(t, on(3, 3)...))
	w.lose = func(_, to nodeID, m Message) bool {
		_, is := m.(Decide)
		return is && to == node(2) && w.now < 300*time.Millisecond
	}
	ids := w.everyone("g", r, func(int) Contribution { return Contribution{For: ForShrink} })
	w.run(10 * time.Millisecond)
	d, ok := w.done[ids[0]]
	if !ok {
		t.Fatal("the first is not told")
	}
	w.call(0, Call{Kind: CallRevoke, Group: d.Group, Rank: 0})
	w.run(time.Second)
	if got := w.revoked[d.Group][node(2)]; !slices.Equal(got, []int{2}) {
		t.Errorf("rank 2 is told %v", got)
	}
}

// All members of a node hear of a revoke as soon as one does: others may be their only
// neighbours, and have failed.
func TestRevokeOnOneNode(t *testing.T) {
	w := newNet(t, 3)
	w.formed("g", roster(t, on(3, 24)...))
	w.lose = func(_, _ phalanx.NodeID, _ Message) bool { return true }
	w.call(0, Call{Kind: CallRevoke, Group: "g", Rank: 0})
	if got := w.revoked["g"][node(0)]; len(got) != 8 {
		t.Errorf("of eight members %v hear of it", got)
	}
}
