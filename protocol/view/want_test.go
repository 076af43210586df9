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
	return idlingOf(t, voters, "a#1", "b#1", "c#1", "d#1", "e#1")
}

func idlingOf(t *testing.T, voters int, members ...phalanx.NodeID) *network {
	t.Helper()
	w := newNetwork(Config{Shards: 4, Voters: voters, IdleAfter: 500 * time.Millisecond})
	w.sync = true
	w.boot(members[0])
	for _, id := range members[1:] {
		w.join(id, members[0])
		w.run(500 * time.Millisecond)
	}
	w.run(5 * time.Second)
	if n := len(w.newest().Members); n != len(members) {
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
	w.run(w.node("e#1").cfg.LeaseFor + 150*time.Millisecond)
	if w.node("e#1").alarm.Lost {
		t.Error("e misses the majority before it can have got a lease by another way")
	}
	w.run(150 * time.Millisecond)
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

// A node that wanted a lease, and had none, misses the majority though nobody asks it again, and
// though it hears a leader that has lost its voters.
func TestALeaseThatDidNotComeIsWantedOn(t *testing.T) {
	w := idling(t)
	for _, id := range []phalanx.NodeID{"a#1", "b#1", "d#1", "e#1"} {
		w.cut[[2]phalanx.NodeID{id, "c#1"}], w.cut[[2]phalanx.NodeID{"c#1", id}] = true, true
	}
	w.cut[[2]phalanx.NodeID{"b#1", "a#1"}] = true // b hears the leader, which does not hear b
	w.run(5 * time.Second)
	w.want("b#1")
	w.run(7 * time.Second)
	if b := w.node("b#1"); !b.Core.alarm.Lost || b.Leader() != "a#1" {
		t.Errorf("b misses the majority: %v, its leader is %q", b.Core.alarm.Lost, b.Leader())
	}
	clear(w.cut)
	w.run(time.Second)
	if b := w.node("b#1"); b.Core.alarm.Lost {
		t.Error("b misses the majority although it is there")
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

// A node that suspects most voters for a moment only does not miss the majority, however long
// ago it has looked before.
func TestAMomentIsNoReasonForAnAlarm(t *testing.T) {
	w := idling(t)
	w.run(1500 * time.Millisecond)
	lost := false
	w.onStep = func(n *node, _ Event, out []Effect) {
		for _, e := range out {
			if m, ok := e.(Majority); ok {
				lost = lost || m.Lost
			}
		}
	}
	e := w.node("e#1")
	w.want("e#1") // so that it has to see no more whether there is a lease
	e.suspects = []phalanx.NodeID{"a#1", "b#1"}
	w.step(e, func(now time.Duration) Event { return Tick{Now: now} })
	w.run(150 * time.Millisecond)
	e.suspects = nil
	w.step(e, func(now time.Duration) Event { return Tick{Now: now} })
	w.run(time.Second)
	if lost {
		t.Error("e misses the majority")
	}
}

// However often a lease is wanted, the leader is asked for it no more often than by a node
// that has one.
func TestALeaseThatDoesNotComeIsAskedForSeldom(t *testing.T) {
	w := idling(t)
	w.node("a#1").dead, w.node("b#1").dead = true, true
	sent := 0
	w.onStep = func(n *node, _ Event, out []Effect) {
		for _, e := range out {
			if _, ok := e.(SendBeat); ok && n.id == "e#1" {
				sent++
			}
		}
	}
	for range 1000 {
		w.want("e#1")
		w.run(5 * time.Millisecond)
	}
	if every := w.node("e#1").cfg.HeartbeatEvery; sent > int(5*time.Second/every)+1 {
		t.Errorf("%d heartbeats in 5 s, more than one every %v", sent, every)
	}
}

// A lease that is wanted just after an idle node's heartbeat comes as soon as at other times.
func TestALeaseIsWantedJustAfterAHeartbeat(t *testing.T) {
	for _, after := range []time.Duration{0, time.Millisecond, 3 * time.Millisecond, 9 * time.Millisecond} {
		w := idling(t)
		e, beats := w.node("e#1"), false
		w.onStep = func(n *node, _ Event, out []Effect) {
			for _, e := range out {
				if _, ok := e.(SendBeat); ok && n.id == "e#1" {
					beats = true
				}
			}
		}
		for end := w.now + 2*e.cfg.IdleEvery; !beats && w.now < end; {
			w.run(time.Millisecond)
		}
		w.run(after)
		w.want("e#1")
		w.run(4 * w.delay)
		if !beats || !w.leased("e#1") {
			t.Errorf("e has no lease, %v after its heartbeat (%v)", after, beats)
		}
	}
}

// serving is idling with a service on a node that wants a lease with each lease, and has one.
func serving(t *testing.T, id phalanx.NodeID) *network {
	t.Helper()
	w := idling(t)
	w.onStep = func(n *node, _ Event, out []Effect) {
		for _, e := range out {
			if _, ok := e.(Lease); ok && n.id == id {
				w.at(w.now, id, func(now time.Duration) Event { return Want{Now: now} })
			}
		}
	}
	w.want(id)
	w.run(2 * time.Second)
	if !w.leased(id) {
		t.Fatalf("%s has no lease", id)
	}
	return w
}

// A service that wants a lease with each lease has one again after an outage, also after one
// that was longer than a lease is wanted for.
func TestAServiceHasALeaseAgainAfterAnOutage(t *testing.T) {
	for _, id := range []phalanx.NodeID{"a#1", "b#1", "e#1"} { // leader, voter, member
		w := serving(t, id)
		for _, v := range []phalanx.NodeID{"a#1", "b#1", "c#1"} {
			for _, n := range w.live() {
				w.cut[[2]phalanx.NodeID{v, n.id}], w.cut[[2]phalanx.NodeID{n.id, v}] = true, true
			}
		}
		w.run(4 * time.Second)
		if w.leased(id) {
			t.Fatalf("%s has a lease of voters that are cut off", id)
		}
		clear(w.cut)
		w.run(2 * time.Second)
		if !w.leased(id) {
			t.Errorf("%s has no lease after the outage", id)
		}
	}
}

// A service that wants a lease with each lease has one again after messages were slow, so that leases ended before they came,
// for longer than a lease is wanted for.
func TestAServiceHasALeaseAgainAfterMessagesWereSlow(t *testing.T) {
	for _, id := range []phalanx.NodeID{"a#1", "b#1", "e#1"} { // leader, voter, member
		w := serving(t, id)
		fast := w.delay
		w.delay = w.cfg.withDefaults().LeaseFor * 3 / 4 // of each message: a round trip takes longer than a lease
		w.run(5 * time.Second)
		if w.leased(id) {
			t.Fatalf("%s has a lease although messages are slow", id)
		}
		w.delay = fast
		w.run(2 * time.Second)
		if !w.leased(id) {
			t.Errorf("%s has no lease after messages are fast again", id)
		}
	}
}

// A node that hung has a lease as soon as it goes on: what wanted one may not have been told.
func TestANodeThatHungWantsALease(t *testing.T) {
	for _, id := range []phalanx.NodeID{"b#1", "e#1"} { // voter, member
		w := idling(t)
		n := w.node(id)
		n.hung = true
		w.run(5 * time.Second)
		w.resume(n)
		w.run(4 * w.delay)
		if !w.leased(id) {
			t.Errorf("%s has no lease", id)
		}
	}
}

// A voter to which the news gets lost that something was decided hears it with the leader's next
// heartbeat, which comes soon although nobody asks the leader for anything.
func TestAnIdleVoterHearsWhatWasDecided(t *testing.T) {
	w := idling(t)
	a, b := w.node("a#1").Core, w.node("b#1").Core
	before := a.voter.applied
	w.swallow = func(from phalanx.NodeID, e Effect) bool {
		s, ok := e.(Send)
		return ok && from == "a#1" && s.To == "b#1" && a.voter.applied > before && a.voter.applied == a.voter.last()
	}
	w.propose("a#1", Leaving{Node: "d#1"})
	w.run(10 * w.delay)
	if w.swallow = nil; b.voter.applied >= a.voter.applied {
		t.Fatalf("a has applied %d, b %d, before it was %d: nothing got lost", a.voter.applied, b.voter.applied, before)
	}
	w.run(a.cfg.VoterEvery + 4*w.delay)
	if b.voter.applied != a.voter.applied {
		t.Errorf("a has applied %d, and b %d", a.voter.applied, b.voter.applied)
	}
}

// An idle node that gets no lease, though it suspects nobody, misses the majority five seconds
// after it has wanted one, and not after its last tick.
func TestAnIdleNodeIsStuckSinceItWantsALease(t *testing.T) {
	w := idling(t)
	e := w.node("e#1")
	for e.beat+1900*time.Millisecond > w.now {
		w.run(10 * time.Millisecond)
	}
	for _, n := range w.live() {
		w.cut[[2]phalanx.NodeID{n.id, "e#1"}] = true
	}
	w.want("e#1")
	w.run(stuckAfter*e.cfg.SilentAfter - 50*time.Millisecond)
	if e.alarm.Lost {
		t.Error("e misses the majority too early")
	}
	w.run(100 * time.Millisecond)
	if !e.alarm.Lost {
		t.Error("e does not miss the majority")
	}
}

// A leader takes no command while it hands over. If its heir does not hear of that, it takes commands
// again after ten heartbeats, which are not those of an idle leader.
func TestAnIdleLeaderGivesUpToHandOver(t *testing.T) {
	w := idlingOf(t, 3, "a#1", "b#1", "c#1")
	w.node("a#1").voter.node.TransferLeader(raftID("b#1"))
	w.run(5 * time.Second)
	leader := w.node("b#1") // two members have one voter, which is a#1
	if leader.lead == nil {
		t.Fatal("b#1 does not lead")
	}
	leader.voter.node.TransferLeader(raftID("a#1"))
	leader.voter.node.Advance(leader.voter.node.Ready()) // the message to a#1 is lost
	w.node("c#1").dead = true
	for _, n := range w.live() {
		w.broken(n.id, "c#1")
		w.propose(n.id, RemoveMember{Node: "c#1", Dead: true})
	}
	w.run(2 * time.Second)
	if v := w.newest(); v.Has("c#1") {
		t.Errorf("c#1 is dead, and is a member of %v", v)
	}
}

// A leader that has lost the voters asks the other members for a later view, however often it is
// asked for something.
func TestABusyLeaderAsksForALaterView(t *testing.T) {
	w := idling(t)
	leader := w.node("a#1")
	if leader.lead == nil {
		t.Fatal("a#1 does not lead")
	}
	for _, id := range leader.view.Voters {
		w.cut[[2]phalanx.NodeID{"a#1", id}], w.cut[[2]phalanx.NodeID{id, "a#1"}] = true, true
	}
	for end := w.now + 10*time.Second; w.now < end && !leader.fenced; {
		for _, id := range []phalanx.NodeID{"b#1", "c#1"} {
			w.broken(id, "a#1")
			w.propose(id, RemoveMember{Node: "a#1", Dead: true})
		}
		for range 20 {
			w.want("b#1")
			w.run(10 * time.Millisecond)
			w.now = max(w.now, leader.lead.beat+leader.cfg.VoterEvery) // the timer is late
			w.want("a#1")
		}
	}
	if !leader.fenced {
		t.Errorf("a#1 knows %v, and the others %v", leader.view, w.newest())
	}
}
