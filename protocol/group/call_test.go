package group

import (
	"testing"
	"time"
)

// A member that calls again, while its call waits, takes its place.
func TestFormTwiceAtOnce(t *testing.T) {
	w := newNet(t, 2)
	r := roster(t, on(2, 2)...)
	first := w.call(0, Call{Kind: CallForm, Group: "g", Roster: r, Rank: 0})
	second := w.call(0, Call{Kind: CallForm, Group: "g", Roster: r, Rank: 0})
	w.call(1, Call{Kind: CallForm, Group: "g", Roster: r, Rank: 1})
	w.run(time.Second)
	if d, ok := w.done[first]; !ok || d.Outcome != Used {
		t.Errorf("the first call: %+v, %v", d, ok)
	}
	if d, ok := w.done[second]; !ok || d.Outcome != OK {
		t.Errorf("the second call: %+v, %v", d, ok)
	}
}

// Of two that wait under one label, each gets an invitation of its own; nothing is kept
// of those that were taken.
func TestAwaitTwiceAtOnce(t *testing.T) {
	w := newNet(t, 3)
	waits := []uint64{w.call(2, Call{Kind: CallAwait}), 0}
	for i, name := range []string{"a", "b"} {
		r := w.formed(name, roster(t, on(2, 2)...))
		ids := w.everyone(name, r, func(int) Contribution { return Contribution{For: ForGrow, Newcomers: []Member{{Node: node(2)}}} })
		w.run(4 * time.Millisecond)
		if i == 0 {
			waits[1] = w.call(2, Call{Kind: CallAwait})
		}
		w.run(2 * time.Second)
		for rank, id := range ids {
			if d, ok := w.done[id]; !ok || d.Outcome != OK {
				t.Errorf("rank %d of %s: %+v, %v", rank, name, d, ok)
			}
		}
		if d, ok := w.done[waits[i]]; !ok || d.Outcome != OK {
			t.Errorf("newcomer %d: %+v, %v", i, d, ok)
		}
	}
	if n := len(w.nodes[node(2)].invites); n > 0 {
		t.Errorf("%d invitations are kept", n)
	}
}
