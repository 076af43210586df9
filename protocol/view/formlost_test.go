package view

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// halves returns a cluster of five, most of whose voters hang, and the three members that are
// left.
func halves(t *testing.T) (w *formWorld, left, hung []*node) {
	t.Helper()
	w = newFormWorld(t, 1, 5)
	w.drop, w.dup, w.onStep = 0, 0, nil
	voters := w.newest().Voters
	for _, n := range w.nodes {
		if slices.Contains(voters[:2], n.id) {
			n.hung = true
			hung = append(hung, n)
		} else {
			left = append(left, n)
		}
	}
	w.runFor(3 * time.Second)
	for _, n := range left {
		if !n.alarm.Lost {
			t.Fatalf("%s hears a majority", n.id)
		}
	}
	return w, left, hung
}

// recovers has n form the cluster anew, and returns what came of it.
func (w *formWorld) recovers(n *node) func() (done bool, err error) {
	done, failed := false, error(nil)
	before := w.onStep
	w.onStep = func(at *node, ev Event, out []Effect) {
		if before != nil {
			before(at, ev, out)
		}
		for _, e := range out {
			if at != n {
				break
			}
			switch e := e.(type) {
			case Formed:
				done = true
			case NotFormed:
				done, failed = true, e.Err
			}
		}
	}
	w.step(n, func(now time.Duration) Event { return Recover{Now: now} })
	return func() (bool, error) { return done, failed }
}

// Two nodes are told at once, and the release of the one that gives way gets lost: the other one
// may be refused as well. Who is told once the promises have ended forms the cluster.
func TestALostReleaseHoldsUpForAWhile(t *testing.T) {
	for third := range 3 {
		w, left, _ := halves(t)
		w.swallow = func(_ phalanx.NodeID, e Effect) bool {
			h, ok := e.(SendHalt)
			return ok && h.Halt.Release
		}
		first := w.recovers(left[0])
		w.runFor(6 * time.Millisecond) // some have promised
		second := w.recovers(left[1])
		w.runFor(4 * time.Second)
		for _, of := range []func() (bool, error){first, second} {
			done, err := of()
			if !done || err != nil && !errors.Is(err, phalanx.ErrRefused) {
				t.Errorf("%v %v", done, err)
			}
		}
		w.runFor(haltFor)
		if left[third].alarm.Lost {
			again := w.recovers(left[third])
			w.runFor(4 * time.Second)
			if done, err := again(); !done || err != nil {
				t.Errorf("the third, at %s: %v %v", left[third].id, done, err)
			}
		}
		for _, n := range left {
			if n.alarm.Lost || n.lease <= w.now+n.skew {
				t.Errorf("%s has no majority", n.id)
			}
		}
	}
}

// The node that forms the cluster anew dies when only one other node has its view, and the old
// voters come back. That view prevails and its only voter is dead: the cluster stops. It is
// formed anew by whoever is a member in it, without force.
func TestTheFormerDiesWhenOneHasItsView(t *testing.T) {
	w, left, hung := halves(t)
	former, has, other := left[0], left[1], left[2]
	w.swallow = func(from phalanx.NodeID, e Effect) bool {
		push, ok := e.(Push)
		return from == former.id && (former.View().Form() > 0 && !ok || ok && push.To != has.id)
	}
	result := w.recovers(former)
	for has.View().Form() == 0 {
		if w.run(time.Millisecond); w.now > time.Minute {
			t.Fatal(result())
		}
	}
	form := has.View().Form()
	former.dead, w.swallow = true, nil
	for _, n := range hung {
		w.resume(n)
	}
	run := func(d time.Duration) { // nobody joins again
		for end := w.now + d; w.now < end; {
			w.network.run(100 * time.Millisecond)
			w.detect()
		}
	}
	run(haltFor + 5*time.Second)
	for _, n := range hung {
		if !n.fenced {
			t.Errorf("%s has %s, and is not fenced", n.id, Numbered(n.View().Number))
		}
	}
	for _, n := range []*node{has, other} {
		if n.View().Form() != form || !n.alarm.Lost {
			t.Errorf("%s has %s, majority lost %v", n.id, Numbered(n.View().Number), n.alarm.Lost)
		}
	}
	again := w.recovers(other)
	run(4 * time.Second)
	if done, err := again(); !done || err != nil {
		t.Errorf("formed anew: %v %v", done, err)
	}
	for _, n := range []*node{has, other} {
		if n.View().Form() <= form || n.lease <= w.now+n.skew {
			t.Errorf("%s has %s, and no lease", n.id, Numbered(n.View().Number))
		}
	}
}

// A member that lags behind, and does not know yet of the one that forms the cluster anew,
// lives: it stays a member.
func TestAMemberThatLagsBehindStays(t *testing.T) {
	c, v := alone(t)
	d := New(Config{Self: Member{ID: "d#1"}})
	old := v.clone()
	old.Number, old.Members = 4, slices.DeleteFunc(old.Members, func(m Member) bool { return m.ID == "b#1" })
	old.Voters = []phalanx.NodeID{"a#1", "c#1"}
	old.Shards = []Shard{{Epoch: 3, Owner: "a#1", Backup: "c#1"}, {Epoch: 4, Owner: "a#1", Backup: "c#1"}}
	d.Step(Learn{From: "a#1", Term: 7, View: old})
	lone := []phalanx.NodeID{"a#1", "c#1"}
	for now := time.Duration(0); now <= time.Second; now += 10 * time.Millisecond {
		d.Step(Tick{Suspects: lone, Now: now})
	}
	if !d.alarm.Lost {
		t.Fatal("d#1 does not know that the majority is lost")
	}
	out := c.Step(Recover{Now: c.now})
	for now := c.now; now <= 5*time.Second && c.forming != nil; now += 10 * time.Millisecond {
		c.Step(HearHalted{From: "e#1", Halted: Halted{Form: c.forming.form, Stamp: c.now, View: v}, Now: now})
		out = append(out, c.Step(Tick{Suspects: lone, Now: now})...)
		back := d.Step(Tick{Suspects: lone, Now: now})
		for _, e := range out {
			switch e := e.(type) {
			case SendHalt:
				if e.To == "d#1" {
					back = append(back, d.Step(HearHalt{From: "b#1", Halt: e.Halt, Now: now})...)
				}
			case Push:
				if e.To == "d#1" {
					back = append(back, d.Step(Learn{From: "b#1", Term: e.Term, View: e.View, Now: now})...)
				}
			}
		}
		out = nil
		for _, e := range back {
			if h, ok := e.(SendHalted); ok && h.To == "b#1" {
				out = append(out, c.Step(HearHalted{From: "d#1", Halted: h.Halted, Now: now})...)
			}
		}
	}
	if got := c.View(); got.Form() == 0 || !got.Has("d#1") {
		t.Errorf("formed %v", got)
	}
}

// A Halt that comes late, after its release, halts nobody.
func TestALateHaltHaltsNobody(t *testing.T) {
	c, _ := alone(t)
	c.Step(HearHalt{From: "d#1", Halt: Halt{Form: 2000, Stamp: time.Second}, Now: c.now})
	c.Step(HearHalt{From: "d#1", Halt: Halt{Form: 2000, Stamp: 2 * time.Second, Release: true}, Now: c.now})
	for _, late := range []time.Duration{time.Second, 2 * time.Second} { // the last Halt may be as old as the release
		if c.Step(HearHalt{From: "d#1", Halt: Halt{Form: 2000, Stamp: late}, Now: c.now}); c.halted() {
			t.Error("it halts for what was released")
		}
	}
	if c.Step(HearHalt{From: "d#1", Halt: Halt{Form: 2000, Stamp: 3 * time.Second}, Now: c.now}); !c.halted() {
		t.Error("it does not halt for the next command")
	}
}
