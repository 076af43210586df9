package view

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/phalanx-go/phalanx"
)

// A form is later than those before it, whoever makes it, and its views have greater numbers.
// No number is too large for a reader of JSON.
func TestFormsAndNumbers(t *testing.T) {
	var f Form
	number := uint64(41)
	for round := 1; round <= maxRounds; round++ {
		forced, err := f.after("a#1", true)
		if err != nil {
			t.Fatal(err)
		}
		next, err := f.after("b#1", false)
		if err != nil || next <= f || next.Round() != round || next <= forced || !forced.forced() || next.forced() || forced <= f {
			t.Fatalf("after %d come %d and %d: %v", f, forced, next, err)
		}
		if first := next.first(number); first <= number || formOf(first) != next || uint32(first) != uint32(number)+1 || first > maxNumber || first >= 1<<53 {
			t.Fatalf("after view %d comes %d", number, first)
		} else {
			f, number = next, first
		}
	}
	if _, err := f.after("a#1", false); err == nil {
		t.Error("there is a form after the last")
	}
	if s := Numbered(17); s != "17" {
		t.Error(s)
	}
	if s := Numbered(Form(3<<tagBits | 5).first(16)); s != "17 of form 3-5" {
		t.Error(s)
	}
}

func TestViewsThatCannotHaveBeenFormed(t *testing.T) {
	good := View{Number: 1 << 42, Former: "a#1", Cluster: "a#1", Voters: []phalanx.NodeID{"a#1"}, Shards: make([]Shard, 1)}
	if err := good.valid(); err != nil {
		t.Error(err)
	}
	for what, bad := range map[string]func(*View){
		"a number above all":        func(v *View) { v.Number = maxNumber + 1 },
		"a form that nobody formed": func(v *View) { v.Former = "" },
		"a former and no form":      func(v *View) { v.Number = 7 },
		"too many missing":          func(v *View) { v.Missing = make([]Member, maxMissing+1) },
	} {
		v := good
		if bad(&v); v.valid() == nil {
			t.Errorf("a view with %s is valid", what)
		}
	}
}

// alone returns b#1 of five members, three of which vote. It hears of nobody, and takes the
// majority for lost.
func alone(t *testing.T) (*Core, View) {
	t.Helper()
	c := New(Config{Self: Member{ID: "b#1"}})
	v := View{Number: 5, Cluster: "a#1", Voters: []phalanx.NodeID{"a#1", "b#1", "c#1"}, Shards: []Shard{{Epoch: 3, Owner: "a#1", Backup: "b#1"}, {Epoch: 4, Owner: "a#1", Backup: "c#1"}},
		Members: []Member{{ID: "a#1"}, {ID: "b#1"}, {ID: "c#1"}, {ID: "d#1"}, {ID: "e#1"}}}
	c.Step(Learn{From: "a#1", Term: 7, View: v})
	for now := time.Duration(0); now <= time.Second; now += 10 * time.Millisecond {
		c.Step(Tick{Suspects: []phalanx.NodeID{"a#1", "c#1"}, Now: now})
	}
	if !c.alarm.Lost {
		t.Fatal("the majority is not lost")
	}
	return c, v
}

// asks returns whom the effects ask to halt, for which form.
func asks(out []Effect) (who []phalanx.NodeID, form Form) {
	for _, e := range out {
		if h, ok := e.(SendHalt); ok && !h.Halt.Release {
			who, form = append(who, h.To), h.Halt.Form
		}
	}
	return who, form
}

// runs ticks c until then, and returns what it did.
func runs(c *Core, until time.Duration) (out []Effect) {
	for now := c.now; now <= until; now += 10 * time.Millisecond {
		out = append(out, c.Step(Tick{Suspects: []phalanx.NodeID{"a#1", "c#1"}, Now: now})...)
	}
	return out
}

// The cluster is formed from the newest view that anybody has, and above all terms.
func TestTheNewestViewIsTheGround(t *testing.T) {
	c, v := alone(t)
	now := c.now
	who, form := asks(c.Step(Recover{Now: now}))
	if want := []phalanx.NodeID{"a#1", "c#1", "d#1", "e#1"}; !slices.Equal(who, want) {
		t.Fatalf("it asks %v", who)
	}
	newer := v.clone()
	newer.Number, newer.Members = 9, append(newer.Members, Member{ID: "f#1"})
	c.Step(HearHalted{From: "d#1", Halted: Halted{Form: form, Stamp: now, View: v, Term: 70}, Now: now})
	c.Step(HearHalted{From: "e#1", Halted: Halted{Form: form, Stamp: now, View: newer, Term: 99, Gone: []phalanx.NodeID{"z#1"}}, Now: now})
	out := runs(c, now+150*time.Millisecond)
	if who, _ := asks(out); !slices.Equal(who, []phalanx.NodeID{"a#1", "c#1", "d#1", "e#1", "f#1"}) {
		t.Errorf("it asks %v again", who)
	}
	c.Step(HearHalted{From: "f#1", Halted: Halted{Form: form, Stamp: now, View: newer}, Now: c.now})
	out = runs(c, now+3*time.Second)
	got := c.View()
	members := []phalanx.NodeID{"b#1", "d#1", "e#1", "f#1"}
	if !slices.ContainsFunc(out, func(e Effect) bool { _, ok := e.(Formed); return ok }) || !slices.Equal(c.memberIDs(), members) || got.Former != "b#1" {
		t.Fatalf("%v", got)
	}
	if uint32(got.Number) < 10 || got.Form() != form || c.term <= 99+formTerms || got.Left < got.Number&^(1<<counterBits-1) {
		t.Errorf("in term %d: %v, Left %d", c.term, got, got.Left)
	}
	if s := got.Shards[0]; s.Owner != "b#1" || s.LostAt != 0 || s.Epoch < 3+formEpochs {
		t.Errorf("the shard with a backup is %v", s)
	}
	if s := got.Shards[1]; s.LostAt < 4+formEpochs || !slices.Contains(members, s.Owner) {
		t.Errorf("the shard without one is %v", s)
	}
	for _, id := range []phalanx.NodeID{"a#1", "c#1", "z#1"} {
		if !slices.Contains(c.voter.state.Gone, id) {
			t.Errorf("%s could come back", id)
		}
	}
}

// Also when all answer at once, no lease can be left that one of them has given.
func TestLeasesEndBeforeTheClusterIsFormed(t *testing.T) {
	c, v := alone(t)
	now := c.now
	who, form := asks(c.Step(Recover{Now: now}))
	for _, id := range who {
		now += 10 * time.Millisecond
		c.Step(HearHalted{From: id, Halted: Halted{Form: form, Stamp: now, View: v}, Now: now})
	}
	if runs(c, now+c.cfg.LeaseFor-10*time.Millisecond); c.View().Form() != 0 {
		t.Errorf("formed after %v", c.now-now)
	}
	if runs(c, now+c.cfg.LeaseFor); c.View().Form() != form || len(c.View().Missing) > 0 {
		t.Errorf("after %v: %v", c.now-now, c.View())
	}
}

// A promise that is too old when its answer comes, as this node hung, does not count.
func TestOldPromisesDoNotCount(t *testing.T) {
	c, v := alone(t)
	now := c.now
	_, form := asks(c.Step(Recover{Now: now}))
	for _, id := range []phalanx.NodeID{"d#1", "e#1"} {
		c.Step(HearHalted{From: id, Halted: Halted{Form: form, Stamp: now, View: v}, Now: now})
	}
	out := c.Step(Tick{Now: now + formWithin + time.Millisecond})
	if len(out) == 0 || c.View().Form() != 0 {
		t.Fatalf("%v", out)
	}
	for _, e := range out {
		if n, ok := e.(NotFormed); ok && errors.Is(n.Err, phalanx.ErrUnavailable) && strings.Contains(n.Err.Error(), "1 of 5 members answer, and 3 are needed; missing: a#1 c#1 d#1 e#1") {
			return
		}
	}
	t.Errorf("%v", out)
}

// A member of a later form takes neither a lease nor a term of an earlier one, and gives its
// view to whoever shows that it has an earlier one.
func TestNothingOfAnEarlierFormCounts(t *testing.T) {
	c, old := alone(t)
	v := old.clone()
	v.Number, v.Former, v.Voters = Form(1<<tagBits|3).first(5), "d#1", []phalanx.NodeID{"d#1"}
	c.Step(Learn{From: "d#1", Term: 5, View: v, Now: c.now}) // its term is below that of the earlier form
	if c.Leader() != "d#1" || c.term != 5 || c.View().Number != v.Number {
		t.Fatalf("%v", c)
	}
	now := c.now
	pushes := func(ev Event, to phalanx.NodeID) {
		t.Helper()
		out := c.Step(ev)
		for _, e := range out {
			switch e := e.(type) {
			case Lease, Lead:
				t.Errorf("%v by %#v", e, ev)
			case Push:
				if e.To == to && e.View.Number == v.Number {
					return
				}
			}
		}
		t.Errorf("%#v has it do %v", ev, out)
	}
	pushes(Learn{From: "a#1", Term: 8, View: old, Now: now}, "a#1")
	pushes(HearBeat{From: "a#1", Beat: Beat{View: 6}, Now: now}, "a#1")
	pushes(vote("a#1", old, now), "a#1")
	reply := Reply{Term: 8, View: 6, Stamp: now, Valid: 300 * time.Millisecond}
	for _, e := range c.Step(HearReply{From: "a#1", Reply: reply, Now: now}) {
		t.Errorf("an earlier form's lease: %v", e)
	}
	reply.Term, reply.View = 5, v.Number
	if out := c.Step(HearReply{From: "d#1", Reply: reply, Now: now}); len(out) == 0 {
		t.Error("no lease of its own form")
	}
	other := v.clone()
	other.Former = "e#1"
	if out := c.Step(Learn{From: "e#1", View: other, Now: now}); len(out) != 1 || !strings.Contains(out[0].String(), "at the same time, by force") {
		t.Errorf("the same form, by another: %v", out)
	}
}

// vote is a raft message to b#1 of a node that has v.
func vote(from phalanx.NodeID, v View, now time.Duration) Receive {
	return Receive{From: from, Now: now, Data: seal(v, &raftpb.Message{Type: raftpb.MsgVote.Enum(), From: new(raftID(from)), To: new(raftID("b#1")), Term: new(uint64(9))})}
}

// A node that hears of a later form asks for the view.
func TestALaterFormIsAskedFor(t *testing.T) {
	c, old := alone(t)
	v := old.clone()
	v.Number, v.Former = Form(1<<tagBits|3).first(5), "d#1"
	for _, ev := range []Event{HearBeat{From: "d#1", Beat: Beat{View: v.Number}, Now: c.now}, vote("d#1", v, c.now)} {
		out := c.Step(ev)
		if b, ok := out[0].(SendBeat); len(out) != 1 || !ok || b.To != "d#1" || b.Beat.View != old.Number {
			t.Errorf("%#v has it do %v", ev, out)
		}
	}
}

// The core checks what other nodes answer.
func TestAnswersThatCannotBe(t *testing.T) {
	c, v := alone(t)
	_, form := asks(c.Step(Recover{Now: c.now}))
	for _, h := range []Halted{{Why: MaxHaltRefusal + 1}, {Promised: 1 << 21}, {Term: 1<<62 + 1}, {Gone: make([]phalanx.NodeID, maxGone+1)}} {
		h.Form, h.View = form, v
		out := c.Step(HearHalted{From: "d#1", Halted: h, Now: c.now})
		if _, ok := out[0].(Reject); len(out) != 1 || !ok || len(c.forming.answers) != 1 {
			t.Errorf("%+v: %v", h, out)
		}
	}
}

// One form is never promised to two nodes, also not after the first promise has ended.
func TestAFormIsPromisedOnce(t *testing.T) {
	c, _ := alone(t)
	for _, x := range []struct {
		from  phalanx.NodeID
		form  Form
		after time.Duration
		want  HaltRefusal
	}{{"x#1", 2000, 0, NoMember}, {"d#1", 2000, 0, Halts}, {"d#1", 2000, 0, Halts}, {"e#1", 3000, 0, HaltsForOther}, {"d#1", 1999, 0, KnowsLater},
		{"e#1", 2000, haltFor, KnowsLater}, {"e#1", 2001, 0, Halts}, {"d#1", 0, haltFor, KnowsLater}} {
		c.now += x.after
		if why := c.halt(x.from, x.form); why != x.want {
			t.Errorf("%s asks for %d after %v: %d, not %d", x.from, x.form, x.after, why, x.want)
		}
	}
}

// A command that is given again takes the same form. What was answered to the first one does
// not count for it: those members were released.
func TestAnswersToAnEarlierCommandDoNotCount(t *testing.T) {
	c, v := alone(t)
	first := c.now
	_, form := asks(c.Step(Recover{Now: first}))
	runs(c, first+formPatience+100*time.Millisecond)
	if c.forming != nil {
		t.Fatal("it was not refused")
	}
	if _, again := asks(c.Step(Recover{Now: c.now})); again != form {
		t.Fatalf("form %d, then %d", form, again)
	}
	for _, id := range []phalanx.NodeID{"d#1", "e#1"} {
		c.Step(HearHalted{From: id, Halted: Halted{Form: form, Stamp: first, View: v}, Now: c.now})
	}
	if runs(c, c.now+formPatience+100*time.Millisecond); c.View().Form() != 0 {
		t.Errorf("formed by promises that were released: %v", c.View())
	}
}

// A release that comes late does not end what was promised after it was sent.
func TestALateReleaseEndsNoLaterPromise(t *testing.T) {
	c, _ := alone(t)
	halt := Halt{Form: 2000, Stamp: time.Second}
	release := Halt{Form: 2000, Stamp: 2 * time.Second, Release: true}
	again := Halt{Form: 2000, Stamp: 3 * time.Second}
	c.Step(HearHalt{From: "d#1", Halt: halt, Now: c.now})
	c.Step(HearHalt{From: "d#1", Halt: again, Now: c.now})
	if c.Step(HearHalt{From: "d#1", Halt: release, Now: c.now}); !c.halted() {
		t.Error("released by what was sent before the promise")
	}
	release.Stamp = 4 * time.Second
	if c.Step(HearHalt{From: "d#1", Halt: release, Now: c.now}); c.halted() {
		t.Error("not released")
	}
}
