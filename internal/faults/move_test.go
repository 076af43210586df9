package faults

import (
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
)

const (
	many  = 200         // small objects
	small = int64(4096) // bytes of a small object
)

// things are objects of all kinds: what is acknowledged must stay.
type things struct {
	kept, dropped phalanx.ObjectID // what the ids of small objects begin with
	twice         phalanx.ObjectID // a large one of which there are two copies
}

func (th things) put(t testing.TB, p *process) {
	t.Helper()
	must(t, tell(p, order{Do: "putAll", Object: th.kept, Num: many, Size: small}), tell(p, order{Do: "putAll", Object: th.dropped, Num: many / 2, Size: small}),
		tell(p, order{Do: "put", Object: th.twice, Size: large / 4, Copies: 2}))
	must(t, tell(p, order{Do: "deleteAll", Object: th.dropped, Num: many / 2}))
}

func (th things) check(t testing.TB, nodes []*process) {
	t.Helper()
	var calls, none []call
	for _, p := range nodes {
		calls = append(calls, tell(p, order{Do: "checkAll", Object: th.kept, Num: many, Size: small}), tell(p, order{Do: "get", Object: th.twice, Size: large / 4}))
		none = append(none, tell(p, order{Do: "checkAll", Object: th.dropped, Num: many / 2, Size: small}))
	}
	must(t, calls...)
	for _, c := range none {
		if l := c.answer(t); l.ErrKind != phalanx.ErrDeleted {
			t.Errorf("what was deleted: %q on %s", l.Err, c.of.name)
		}
	}
}

func (th things) drop(t testing.TB, p *process) {
	t.Helper()
	must(t, tell(p, order{Do: "deleteAll", Object: th.kept, Num: many}), tell(p, order{Do: "delete", Object: th.twice}))
}

// A member fails while shards of the directory move to a node that joins.
// Objects are put meanwhile.
func TestMoveByJoin(t *testing.T) {
	each(t, func(t *testing.T, f fault) {
		nodes := start(t, 5)
		had, new := things{fresh("kept"), fresh("dropped"), fresh("twice")}, things{fresh("kept"), fresh("dropped"), fresh("twice")}
		had.put(t, nodes[1])
		victim, asks := nodes[2], nodes[1]
		joins := launch(t, 5, "n5", seed(t, asks))
		expect(t, asks, func(e actors.ShardMoved) bool { return e.To.Name() == "n5" })
		was := f.happens(t, victim)
		new.put(t, asks)
		others := without(nodes, victim)
		if f.fate == kept {
			f.heal(t, victim)
		} else {
			expect(t, asks, func(e actors.ShardMoved) bool { return e.From == was })
		}
		had.check(t, others)
		up(t, joins)
		members := f.ends(t, nodes, victim, was, joins)
		had.check(t, members)
		new.check(t, members)
		had.drop(t, asks)
		new.drop(t, asks)
		level(t, members)
	}, "kill")
}

// The leader of the view fails while a node leaves and hands over its shards.
func TestMoveByLeave(t *testing.T) {
	each(t, func(t *testing.T, f fault) {
		nodes := start(t, 6)
		asks, leaves := nodes[1], nodes[5]
		had := things{fresh("kept"), fresh("dropped"), fresh("twice")}
		had.put(t, leaves)
		victim := on(t, nodes, asks.state(t).Leader)
		if victim == asks {
			asks = nodes[2]
		}
		if victim == leaves {
			leaves = nodes[4]
		}
		leave := tell(leaves, order{Do: "leave"})
		expect(t, asks, func(e actors.ShardMoved) bool { return e.From.Name() == leaves.name && e.To.Name() != "" })
		was := f.happens(t, victim)
		must(t, leave)
		if f.fate == kept {
			f.heal(t, victim)
		}
		stay := without(nodes, leaves)
		had.check(t, without(stay, victim))
		members := f.ends(t, stay, victim, was)
		had.check(t, members)
		had.drop(t, asks)
		level(t, members)
	}, "kill")
}
