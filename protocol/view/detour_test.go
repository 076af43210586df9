package view

import (
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// watchBeats counts the heartbeats of a node to the leader: those that go directly, those
// that each member relays, and how often the node says that the leader does not answer.
type watchBeats struct {
	direct, unanswered int
	by                 map[phalanx.NodeID]int
}

func (w *network) watchBeats(id phalanx.NodeID) *watchBeats {
	b := &watchBeats{by: map[phalanx.NodeID]int{}}
	w.onStep = func(n *node, _ Event, out []Effect) {
		for _, e := range out {
			switch e := e.(type) {
			case SendBeat:
				if n.id == id && e.By == "" {
					b.direct++
				} else if n.id == id {
					b.by[e.By]++
				}
			case Unanswered:
				if n.id == id {
					b.unanswered++
				}
			}
		}
	}
	return b
}

func (b *watchBeats) relayed() (n int) {
	for _, k := range b.by {
		n += k
	}
	return n
}

// wantFor has a node want a lease all the time, and reports whether it always has one.
func (w *network) wantFor(id phalanx.NodeID, d time.Duration) bool {
	always := true
	for end := w.now + d; w.now < end; w.run(20 * time.Millisecond) {
		w.want(id)
		always = always && w.leased(id)
	}
	return always
}

// The heartbeats of an idle member do not get to the leader, whose views get to it, again and
// again. It has a lease after 200 ms nevertheless, by another member, keeps it, and
// has the detector look. When the link works again nothing is relayed.
func TestALeaseIsAskedForRoundALinkThatFails(t *testing.T) {
	w := idling(t)
	e := w.node("e#1")
	w.cut[[2]phalanx.NodeID{"e#1", "a#1"}] = true
	w.propose("a#1", Leaving{Node: "d#1"})
	w.run(50 * time.Millisecond)
	if w.newest().Number != e.View().Number {
		t.Fatalf("e has %v", e.View())
	}
	b := w.watchBeats("e#1")
	w.want("e#1")
	w.run(lacksAfter*e.cfg.HeartbeatEvery + 20*time.Millisecond)
	if !w.leased("e#1") {
		t.Fatal("e has no lease in time")
	}
	if b.unanswered != 1 {
		t.Errorf("e has said %d times that the leader does not answer", b.unanswered)
	}
	if !w.wantFor("e#1", 10*time.Second) {
		t.Error("e has lost its lease")
	}
	if b.direct > 9 || b.unanswered != 1 {
		t.Errorf("%d heartbeats went directly, %d by way of others; e has said %d times that the leader does not answer", b.direct, b.relayed(), b.unanswered)
	}
	clear(w.cut)
	w.wantFor("e#1", e.cfg.IdleEvery+e.cfg.HeartbeatEvery)
	b = w.watchBeats("e#1")
	if !w.wantFor("e#1", 5*time.Second) || b.relayed() > 0 || b.direct == 0 {
		t.Errorf("the link works again: %d heartbeats went directly, %d by way of others", b.direct, b.relayed())
	}
}

// The view that gets through again and again does not hide that an idle member's heartbeats are
// lost: it finds that with its next one, though nobody wants a lease.
func TestAnIdleMemberNoticesThatItIsNotHeard(t *testing.T) {
	w := idling(t)
	e := w.node("e#1")
	w.cut[[2]phalanx.NodeID{"e#1", "a#1"}] = true
	w.propose("a#1", Leaving{Node: "d#1"})
	b := w.watchBeats("e#1")
	w.run((lacksAfter + 1) * e.cfg.HeartbeatEvery)
	if b.unanswered != 1 || w.node("a#1").lead.acked["e#1"] != w.newest().Number {
		t.Errorf("e has said %d times that the leader does not answer, which knows that e has view %d of %d", b.unanswered, w.node("a#1").lead.acked["e#1"], w.newest().Number)
	}
}

// Members that bring nothing are passed over, and one that does is kept.
func TestTheNextMemberRelays(t *testing.T) {
	w := idling(t)
	e := w.node("e#1")
	for _, id := range []phalanx.NodeID{"a#1", "c#1", "d#1"} { // b comes last
		w.cut[[2]phalanx.NodeID{"e#1", id}] = true
	}
	b := w.watchBeats("e#1")
	w.want("e#1")
	w.run((lacksAfter+2)*e.cfg.HeartbeatEvery + 20*time.Millisecond)
	if !w.leased("e#1") {
		t.Fatal("e has no lease in time")
	}
	if !w.wantFor("e#1", 10*time.Second) || b.by["c#1"]+b.by["d#1"] > 2 {
		t.Errorf("b does not relay all: %v", b.by)
	}
}

// Where all have replies nothing is relayed, nor after a node hung.
func TestNothingIsRelayedWhereTheLeaderAnswers(t *testing.T) {
	w := idling(t)
	b := w.watchBeats("e#1")
	w.wantFor("e#1", 5*time.Second)
	w.run(10 * time.Second)
	e := w.node("e#1")
	w.cut[[2]phalanx.NodeID{"a#1", "e#1"}] = true
	w.want("e#1")
	w.run(5 * w.delay)
	clear(w.cut)
	e.hung = true
	w.run(5 * time.Second)
	w.resume(e)
	w.run(5 * time.Second)
	if b.relayed() > 0 || b.unanswered > 0 {
		t.Errorf("%d heartbeats are relayed, and e has said %d times that the leader does not answer", b.relayed(), b.unanswered)
	}
}

// A reply that comes again, or late, is no sign that the leader has heard what was sent
// since.
func TestAnOldReplyEndsNoDetour(t *testing.T) {
	w := idling(t)
	e := w.node("e#1")
	var old HearReply
	w.onStep = func(n *node, ev Event, _ []Effect) {
		if r, ok := ev.(HearReply); ok && n == e {
			old = r
		}
	}
	w.want("e#1")
	w.run(100 * time.Millisecond)
	w.run(2 * time.Second)
	w.cut[[2]phalanx.NodeID{"e#1", "a#1"}] = true
	b := w.watchBeats("e#1")
	w.want("e#1")
	for end := w.now + lacksAfter*e.cfg.HeartbeatEvery + 20*time.Millisecond; w.now < end; w.run(5 * time.Millisecond) {
		w.step(e, func(now time.Duration) Event { again := old; again.Now = now; return again })
	}
	if old.From != "a#1" || b.unanswered != 1 || !w.leased("e#1") {
		t.Errorf("after the reply %+v e has said %d times that the leader does not answer", old, b.unanswered)
	}
}

// A new leader is asked directly, and a member that has left relays nothing.
func TestADetourEndsWithItsLeaderOrItsMember(t *testing.T) {
	w := idling(t)
	for _, id := range []phalanx.NodeID{"a#1", "b#1", "d#1"} {
		w.cut[[2]phalanx.NodeID{"e#1", id}] = true
	}
	w.wantFor("e#1", time.Second)
	w.node("c#1").dead = true
	w.propose("a#1", RemoveMember{Node: "c#1", Dead: true})
	w.run(time.Second)
	delete(w.cut, [2]phalanx.NodeID{"e#1", "b#1"})
	b := w.watchBeats("e#1")
	w.wantFor("e#1", time.Second)
	if b.by["c#1"] > 0 || !w.leased("e#1") {
		t.Errorf("who relays: %v", b.by)
	}
	w.node("a#1").dead = true
	for _, id := range []phalanx.NodeID{"b#1", "d#1"} {
		w.broken(id, "a#1")
	}
	clear(w.cut)
	w.propose("b#1", RemoveMember{Node: "a#1", Dead: true})
	w.run(time.Second)
	b = w.watchBeats("e#1")
	if w.wantFor("e#1", time.Second); !w.leased("e#1") || b.relayed() > 0 || !slices.Contains([]phalanx.NodeID{"b#1", "d#1"}, w.node("e#1").Leader()) {
		t.Errorf("who relays to %s: %v", w.node("e#1").Leader(), b.by)
	}
}
