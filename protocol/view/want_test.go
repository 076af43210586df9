package view

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// idling returns a cluster of five that nobody has asked for anything for long. Its nodes
// tick when they are due.
func idling(t *testing.T) *network { return idlingWith(t, 3) }

func idlingWith(t *testing.T, voters int) *network {
	w := newNetwork(Config{Shards: 4, Voters: voters, IdleAfter: 500 * time.Millisecond})
	w.sync = true
	w.boot("a#1")
	for _, id := range []phalanx.NodeID{"b#1", "c#1", "d#1", "e#1"} {
		w.join(id, "a#1")
		w.run(500 * time.Millisecond)
	}
	w.run(5 * time.Second)
	if n := len(w.newest().Members); n != 5 {
		t.Fatalf("%d members", n)
	}
	return w
}

func (w *network) leased(id phalanx.NodeID) bool { return w.node(id).lease > w.now }

// While nobody wants a lease there is none, and nodes say little and wake seldom.
func TestIdleNodesAreQuiet(t *testing.T) {
	w := idling(t)
	steps, sent := 0, 0
	w.onStep = func(_ *node, ev Event, out []Effect) {
		if ev != nil {
			steps++
		}
		for _, e := range out {
			switch e.(type) {
			case Send, Push, SendBeat, SendReply, Forward:
				sent++
			}
		}
	}
	w.run(20 * time.Second)
	// Each 2 s: four heartbeats and answers, two to voters and answers.
	if most := 10 * 12 * 11 / 10; sent > most {
		t.Errorf("%d messages in 20 s, more than %d", sent, most)
	}
	if most := 10 * (12 + 5) * 11 / 10; steps > most { // one for each message, and a tick for each node
		t.Errorf("%d steps in 20 s, more than %d", steps, most)
	}
	for _, n := range w.live() {
		if w.leased(n.id) {
			t.Errorf("%s has a lease", n.id)
		}
		if n.Core.alarm.Lost {
			t.Errorf("%s misses the majority", n.id)
		}
	}
}

// A node that wants a lease has it after two round trips: the voters answer the leader, the
// leader answers it. It has one for as long as it wants one, and no longer.
func TestWantedLease(t *testing.T) {
	for _, id := range []phalanx.NodeID{"a#1", "b#1", "e#1"} { // leader, voter, member
		w := idling(t)
		w.want(id)
		w.run(4 * w.delay)
		if !w.leased(id) {
			t.Fatalf("%s has no lease in time", id)
		}
		for range 30 {
			w.run(100 * time.Millisecond)
			w.want(id)
			if !w.leased(id) {
				t.Fatalf("%s has lost its lease", id)
			}
		}
		w.run(time.Second)
		if w.leased(id) {
			t.Errorf("%s still has a lease", id)
		}
	}
}

// With five voters the first answer to the leader is no majority: who waits, waits on.
func TestWantedLeaseOfFiveVoters(t *testing.T) {
	w := idlingWith(t, 5)
	if n := len(w.newest().Voters); n != 5 {
		t.Fatalf("%d voters", n)
	}
	for _, id := range []phalanx.NodeID{"c#1", "d#1", "e#1"} {
		w.cut[[2]phalanx.NodeID{"a#1", id}] = true
	}
	w.want("e#1")
	w.run(20 * w.delay)
	if w.leased("e#1") {
		t.Fatal("e has a lease of two voters")
	}
	clear(w.cut)
	w.run(w.node("a#1").cfg.VoterEvery + 4*w.delay)
	if !w.leased("e#1") {
		t.Error("e has no lease, though it was to wait for one")
	}
}

// An idle member hears of the new leader although the one before still answers it.
func TestIdleMemberLeavesALeaderWithoutVoters(t *testing.T) {
	w := idling(t)
	for _, id := range []phalanx.NodeID{"b#1", "c#1"} {
		w.cut[[2]phalanx.NodeID{id, "a#1"}], w.cut[[2]phalanx.NodeID{"a#1", id}] = true, true
	}
	w.run(12 * time.Second)
	if to := w.node("e#1").Leader(); to != "b#1" && to != "c#1" {
		t.Errorf("e takes %q for the leader", to)
	}
}

// A leader that hangs while all are idle is noticed by its voters' heartbeats at the
// latest, without any detector.
func TestIdleVotersNoticeTheirLeader(t *testing.T) {
	w := idling(t)
	w.node("a#1").dead = true
	w.run(3 * time.Second)
	if to := w.node("b#1").Leader(); to != "b#1" && to != "c#1" {
		t.Errorf("b takes %q for the leader", to)
	}
	w.want("e#1")
	w.run(100 * time.Millisecond)
	if !w.leased("e#1") {
		t.Error("e has no lease of the new leader")
	}
}

// When the detector tells of it, an idle cluster has another leader as soon as a busy one.
func TestIdleVotersHearOfTheirLeader(t *testing.T) {
	w := idling(t)
	w.node("a#1").dead = true
	w.broken("b#1", "a#1")
	w.broken("c#1", "a#1")
	w.run(4 * w.delay)
	if to := w.node("c#1").Leader(); to != "b#1" {
		t.Errorf("c takes %q for the leader", to)
	}
}

// An idle node whose voters are gone says so.
func TestIdleNodeMissesTheMajority(t *testing.T) {
	w := idling(t)
	w.node("a#1").dead, w.node("b#1").dead = true, true
	w.node("e#1").suspects = []phalanx.NodeID{"a#1", "b#1"}
	w.step(w.node("e#1"), func(now time.Duration) Event { return Tick{Now: now} }) // its detector has told of them
	w.run(w.node("e#1").cfg.LeaseFor + 300*time.Millisecond)
	if !w.node("e#1").alarm.Lost {
		t.Error("e does not miss the majority")
	}
	if w.node("d#1").alarm.Lost {
		t.Error("d misses the majority, and suspects nobody yet")
	}
	w.run(10 * time.Second)
	if !w.node("d#1").alarm.Lost {
		t.Error("d does not miss the majority although nobody leads")
	}
}

// A view that got lost reaches an idle node that was cut off.
func TestIdleNodeLearnsWhatItMissed(t *testing.T) {
	w := idling(t)
	for _, id := range []phalanx.NodeID{"a#1", "b#1", "c#1", "d#1"} {
		w.cut[[2]phalanx.NodeID{id, "e#1"}], w.cut[[2]phalanx.NodeID{"e#1", id}] = true, true
	}
	w.propose("a#1", RemoveMember{Node: "e#1"})
	w.run(time.Second)
	clear(w.cut)
	w.run(5 * time.Second)
	if !w.node("e#1").fenced {
		t.Errorf("e does not know that it was removed: %v", w.node("e#1").View())
	}
}
