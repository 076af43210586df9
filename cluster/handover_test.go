package cluster_test

import (
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// What a node that leaves has handed over is not evicted by those who stay, also if
// one of them had a copy before: nobody else has it in the end.
func TestWhatWasHandedOverStays(t *testing.T) {
	nodes := start(t, 3, silent, tight)
	steady(t, nodes)
	ctx := within(t)
	leaves, stays := nodes[0], nodes[1]
	data := random(roomOf/10*3, 1)
	put(t, leaves, "x", data)
	has(t, stays, "x", data)
	eventually(t, "it is listed", func() bool { return slices.Contains(holders(t, leaves, "x"), stays.ID()) })
	if err := leaves.HandOver(ctx); err != nil {
		t.Fatal(err)
	}
	if all := holders(t, leaves, "x"); len(all) != 2 {
		t.Errorf("%v have it: a third copy was made for nothing", all)
	}
	others := []phalanx.ObjectID{"a", "b", "c"}
	for i, id := range others {
		more := random(roomOf/10*3, uint64(i))
		put(t, leaves, id, more)
	}
	eventually(t, "settled", func() bool { return leaves.Settled(ctx, "none") })
	for i, id := range others { // for which there is no room, unless others go
		has(t, stays, id, random(roomOf/10*3, uint64(i)))
	}
	for _, id := range others {
		if err := leaves.Delete(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	if all := holders(t, leaves, "x"); !slices.Contains(all, stays.ID()) {
		t.Errorf("only %v have it", all)
	}
	brings(t, "a third node", getting(ctx, nodes[2], "x"), data)
}
