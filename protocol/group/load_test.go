package group

import (
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// perMillisecond is how many messages a loaded node handles in a millisecond.
const perMillisecond = 20

// loaded has so many groups of three formed at once on three nodes, whose mailboxes grow: a
// node handles perMillisecond messages. It returns how many messages were sent until all are
// formed.
func loaded(t *testing.T, groups int) (messages int) {
	w := newNet(t, 3)
	kinds := map[string]int{}
	w.lose = func(_, _ phalanx.NodeID, m Message) bool {
		kinds[fmt.Sprintf("%T", m)]++
		messages++
		return false
	}
	r := roster(t, on(3, 3)...)
	for i := range groups {
		w.form(fmt.Sprint("g", i), r)
	}
	for end := w.now + time.Minute; len(w.done) < 3*groups; w.now += time.Millisecond {
		if w.now > end {
			t.Fatalf("%d of %d are formed after a minute, with %v", len(w.done), 3*groups, kinds)
		}
		mailbox := w.queue
		w.queue = nil
		handled := map[phalanx.NodeID]int{}
		var later []sent
		for _, s := range mailbox {
			if handled[s.to]++; handled[s.to] <= perMillisecond {
				w.step(s.to, Heard{From: s.from, Message: s.m})
			} else {
				later = append(later, s)
			}
		}
		w.queue = append(later, w.queue...)
		for id, core := range w.nodes {
			if at, ok := core.Due(); ok && at <= w.now {
				w.step(id, Tick{})
			}
		}
	}
	for id, d := range w.done {
		if d.Outcome != OK {
			t.Fatalf("call %d: %+v", id, d)
		}
	}
	t.Logf("%d groups: %v, in %v", groups, kinds, w.now)
	return messages
}

// TestRepeatsDoNotFillMailboxes checks that hardly a message is repeated because it waits in a
// mailbox. A group of three takes 14 messages, and some more if its coordinator asks for those
// that wait for long.
func TestRepeatsDoNotFillMailboxes(t *testing.T) {
	sizes := []int{10, 1000, 4000}
	if testing.Short() {
		sizes = sizes[:2]
	}
	for _, k := range sizes {
		if sent := loaded(t, k); sent > 18*k {
			t.Errorf("a group of three takes %d messages among %d", sent/k, k)
		}
	}
}
