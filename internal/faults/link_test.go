package faults

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/bed"
)

// Only the link between a sender and its receiver fails. Both stay members, and
// the receiver goes on from another sender: also if the sender is the one that
// knows where the object is.
func TestBroadcastOverALinkThatFails(t *testing.T) {
	for _, c := range []struct {
		name        string
		owner, wide bool
		of          func(from, to int) []bed.Cut
	}{
		{"drop", false, false, func(from, to int) []bed.Cut { return bed.Between(from, to) }},
		{"reset", false, true, func(from, to int) []bed.Cut { return bed.Refuse(bed.Between(from, to)) }},
		{"drop one way", false, false, func(from, to int) []bed.Cut { return bed.From(from, to) }},
		{"drop to the owner", true, false, func(from, to int) []bed.Cut { return bed.Between(from, to) }},
		{"reset by the owner", true, false, func(from, to int) []bed.Cut { return bed.Refuse(bed.Between(from, to)) }},
		{"drop what the owner sends", true, true, func(from, to int) []bed.Cut { return bed.From(from, to) }},
		{"drop what the owner is sent", true, true, func(from, to int) []bed.Cut { return bed.To(from, to) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.wide {
				needsWide(t)
			}
			nodes := start(t, 6)
			id := fresh("link")
			for owner, _ := replicas(t, nodes, id); c.owner != (owner == nodes[1]); owner, _ = replicas(t, nodes, id) {
				id = fresh("link")
			}
			must(t, tell(nodes[1], order{Do: "put", Object: id, Size: large}))
			var gets []call
			for _, p := range nodes {
				gets = append(gets, tell(p, order{Do: "get", Object: id, Size: large}))
			}
			above, below := middle(t, nodes, nodes[1:2], nodes[1], id)
			sender := above.id(t)
			cuts := c.of(above.host, below.host)
			t.Cleanup(func() { do(t, shared.Heal(cuts...)) })
			do(t, shared.Cut(cuts...))
			expect(t, below, func(e actors.SenderLost) bool { return e.Object == id && e.Sender == sender })
			expect(t, below, func(e actors.TransferResumed) bool { return e.Object == id && e.Sender != sender })
			must(t, gets...)
			do(t, shared.Heal(cuts...))
			nobodyElse(t, nodes)
			settle(t, nodes)
			level(t, nodes, id)
		})
	}
}

// Only the link between the owner and the backup of a shard fails. What the one
// acknowledges the other has: it comes by way of another node.
func TestOwnerAndBackupAreCutApart(t *testing.T) {
	nodes := start(t, 5)
	var ids []phalanx.ObjectID
	var owner, backup *process // of any shard that is not the first node's: not every two nodes have one together
	for len(ids) < 3 {
		id := fresh("replicated")
		o, b := replicas(t, nodes, id)
		if owner == nil && o != nodes[0] && b != nodes[0] {
			owner, backup = o, b
		}
		if o == owner && b == backup {
			ids = append(ids, id)
		}
	}
	others := without(nodes, owner)
	rest := without(without(others, nodes[0]), backup)
	put := func(p *process, id phalanx.ObjectID) call {
		return tell(p, order{Do: "put", Object: id, Size: 1 << 10})
	}
	get := func(p *process, id phalanx.ObjectID) call {
		return tell(p, order{Do: "get", Object: id, Size: 1 << 10})
	}
	must(t, put(rest[0], ids[0]))
	cuts := bed.Between(owner.host, backup.host)
	t.Cleanup(func() { do(t, shared.Heal(cuts...)) })
	do(t, shared.Cut(cuts...))
	was := owner.id(t)
	must(t, put(rest[0], ids[1]), put(backup, ids[2]))
	must(t, get(rest[1], ids[1]), get(backup, ids[0]), get(backup, ids[1]), get(owner, ids[2]))
	must(t, tell(backup, order{Do: "delete", Object: ids[0]}))
	owner.signal(t, syscall.SIGKILL)
	must(t, get(rest[0], ids[1]), get(rest[1], ids[2]))
	if l := get(rest[1], ids[0]).answer(t); l.ErrKind != phalanx.ErrDeleted {
		t.Errorf("what was deleted is gotten: %s", l.Err)
	}
	removed(t, others, was)
	settle(t, others)
	level(t, others, ids[1:]...)
}

// Only the link between the leader of the voters and a member fails, for as long as it
// takes, and a node joins: the member has the new view and its lease, by way of others,
// and its shards have their backups.
func TestTheViewChangesWhileALinkFails(t *testing.T) {
	for _, c := range []struct {
		name string
		of   func(leader, member int) []bed.Cut
	}{
		{"both ways", func(leader, member int) []bed.Cut { return bed.Between(leader, member) }},
		{"what the leader sends", func(leader, member int) []bed.Cut { return bed.From(leader, member) }},
		{"what the leader is sent", func(leader, member int) []bed.Cut { return bed.To(leader, member) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			nodes := start(t, 5)
			s := nodes[0].state(t)
			leader := on(t, nodes, s.Leader)
			var member *process
			for _, p := range nodes {
				if !slices.Contains(s.Voters, p.id(t)) {
					member = p
				}
			}
			rest := without(without(nodes, leader), member)
			cuts := c.of(leader.host, member.host)
			t.Cleanup(func() { do(t, shared.Heal(cuts...)) })
			do(t, shared.Cut(cuts...))
			joins := launch(t, 5, "n5", seed(t, rest[0]))
			nodes = append(nodes, joins)
			settle(t, nodes)
			id := fresh("carried")
			for owner, _ := replicas(t, nodes, id); owner != member; owner, _ = replicas(t, nodes, id) {
				id = fresh("carried")
			}
			must(t, tell(joins, order{Do: "put", Object: id, Size: 1 << 10}))
			must(t, tell(leader, order{Do: "get", Object: id, Size: 1 << 10}))
			do(t, shared.Heal(cuts...))
			nobodyElse(t, nodes)
			level(t, nodes, id)
		})
	}
}

// replicas returns the owner and the backup of the object's shard.
func replicas(t testing.TB, nodes []*process, id phalanx.ObjectID) (owner, backup *process) {
	t.Helper()
	ids := strings.Fields(must(t, tell(nodes[0], order{Do: "replicas", Object: id}))[0].Text)
	return on(t, nodes, phalanx.NodeID(ids[0])), on(t, nodes, phalanx.NodeID(ids[1]))
}
