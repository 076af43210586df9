package barrier

import (
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	repl "github.com/phalanx-go/phalanx/protocol/replica"
)

var termsKey = Key{Name: "b"}

// inTerm is a core in a view of a term, as the primary of a barrier or as its first backup.
func inTerm(number uint64, primary bool) (c *Core, others []phalanx.NodeID) {
	v := Viewed{Number: number, Members: []phalanx.NodeID{"a#1", "b#1", "c#1"}}
	all := ManagersOf(v, termsKey.Name)
	if v.Self = all[1]; primary {
		v.Self = all[0]
	}
	c = NewCore(CoreConfig{})
	c.Step(0, v)
	c.Step(0, Leased{Until: time.Hour})
	return c, slices.DeleteFunc(all, func(n phalanx.NodeID) bool { return n == v.Self })
}

// sentTo returns the messages of one kind among what a core asks for.
func sentTo[M Message](out []Output) (all []M) {
	for _, o := range out {
		if s, ok := o.(Send); ok {
			if m, ok := s.Message.(M); ok {
				all = append(all, m)
			}
		}
	}
	return all
}

// A member tells a primary of an earlier term that there is a later one, and nothing else.
func TestAPrimaryOfAnEarlierTermGathersNothing(t *testing.T) {
	c, others := inTerm(5, false)
	out := c.Step(0, Heard{From: others[0], Message: Gather{Term: 4}})
	if len(sentTo[Refused](out)) != 1 || len(sentTo[Gathered](out)) > 0 {
		t.Errorf("%+v", out)
	}
}

// A participant that has heard of a term believes no primary of an earlier one.
func TestAPrimaryOfAnEarlierTermIsNotBelieved(t *testing.T) {
	c, others := inTerm(5, false)
	e := Entry{Host: "h"}
	out := c.Step(0, Call{ID: 1, Kind: CallEnter, Key: termsKey, Config: Config{Max: 2}, Entry: e, Deadline: time.Hour})
	asks := sentTo[Reached](out)
	if len(asks) != 1 {
		t.Fatalf("%+v", out)
	}
	says := func(term uint64, v Verdict) []Output {
		return c.Step(0, Heard{From: others[0], Message: Answers{Key: termsKey, Term: term, Stamp: asks[0].Stamp,
			List: []Answered{{Entry: e, Attempt: asks[0].Requests[0].Attempt, Verdict: v}}}})
	}
	done := func(out []Output) bool {
		return slices.ContainsFunc(out, func(o Output) bool { _, is := o.(Done); return is })
	}
	says(5, Registered)
	if out := says(4, Fire); done(out) {
		t.Errorf("%+v", out)
	}
	if out := says(5, Fire); !done(out) {
		t.Errorf("%+v", out)
	}
}

// A confirmation of an earlier term says nothing of the batch that is on its way in this one.
func TestAConfirmationOfAnEarlierTerm(t *testing.T) {
	c, others := inTerm(5, true)
	r := &replica{key: termsKey, b: New(Config{Max: 2}), flight: []Op{{Kind: OpAdvance}}}
	c.put(r)
	for term, counts := range map[uint64]bool{4: false, 5: true} {
		r.backups.Begin(c.now, repl.Version{Term: 5, Seq: 8}, others)
		c.confirm(others[0], Confirm{Key: termsKey, Term: term, Seq: 8})
		if r.backups.Lacks(others[0]) == counts {
			t.Errorf("in term %d: it counts: %v", term, !counts)
		}
	}
}

// Of the replicas that are found, that of the latest term counts, and in it the newest.
func TestTheNewestReplicaIsTaken(t *testing.T) {
	for name, found := range map[string][2]Held{
		"later change": {{Term: 3, Seq: 7}, {Term: 3, Seq: 6}},
		"later term":   {{Term: 4, Seq: 7}, {Term: 3, Seq: 9}},
	} {
		for newest := range 2 {
			c, others := inTerm(5, true)
			for i := range 2 {
				h := found[(i+newest)%2]
				h.Key, h.Config, h.Primary = termsKey, Config{Max: 2}, others[0]
				c.found = append(c.found, finding{from: others[i], replicas: []Held{h}})
			}
			c.install()
			if r := c.replicas[termsKey]; r == nil || r.Seq != 7 {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
}

// That a removed barrier has fired is not learned from one that remembers it: its name is as new.
func TestAnOldRecordOfARemovedBarrier(t *testing.T) {
	c, others := inTerm(5, true)
	digest := termsKey.digest()
	c.past.renew(digest, time.Second)
	old := Crowd{Nodes: others, Digests: []uint64{digest}, Places: []uint32{place(termsKey.Name)}}
	if c.past.addAll(old, time.Millisecond); c.past.knows(digest) {
		t.Error("it is told that it has fired")
	}
	if c.past.addAll(old, 2*time.Second); !c.past.knows(digest) {
		t.Error("it may be of the barrier that followed, and is not taken")
	}
}

// An answer to an earlier question of this term does not answer the last one.
func TestAnAnswerToAnEarlierQuestion(t *testing.T) {
	c, others := inTerm(5, true)
	c.Step(time.Second, Call{ID: 1, Kind: CallEnter, Key: termsKey, Config: Config{Max: 2}, Entry: Entry{Host: "h"}})
	if c.gathering.Done() || c.gathering.Waits() != 2 {
		t.Fatalf("it knows: %v, and waits for %d", c.gathering.Done(), c.gathering.Waits())
	}
	for _, stamp := range []time.Duration{c.gathering.Stamp - 1, c.gathering.Stamp} {
		for _, from := range others {
			c.Step(time.Second, Heard{From: from, Message: Gathered{Term: 5, Stamp: stamp, Said: 1}})
		}
		if early := stamp < c.gathering.Stamp; c.gathering.Done() == early {
			t.Errorf("stamp %v of %v: it knows: %v", stamp, c.gathering.Stamp, c.gathering.Done())
		}
	}
}

// A primary that has heard nothing of an answer, whose first part was lost, gets all of it anew.
func TestAnAnswerBeginsAnew(t *testing.T) {
	c, others := inTerm(5, false)
	c.tellings = repl.Tellings[tale]{Said: 3, Of: map[phalanx.NodeID]*repl.Telling[tale]{others[0]: {Term: 5, Stamp: 1, Said: 3, Part: 1}}}
	out := sentTo[Gathered](c.Step(0, Heard{From: others[0], Message: Gather{Term: 5, Stamp: 1}}))
	if len(out) != 1 || out[0].Part != 0 || out[0].Said <= 3 {
		t.Errorf("%+v", out)
	}
}

// A manager keeps messages for a primary that is not ready up to a number and a weight.
func TestWhatIsKeptIsBounded(t *testing.T) {
	c, others := inTerm(5, true)
	for i := range earlyLimit + 10 {
		c.keep(others[0], termsKey, Remove{Key: termsKey, ID: uint64(i)}, 1)
	}
	if n := len(c.early.all); n != earlyLimit {
		t.Errorf("%d are kept", n)
	}
	c.early = early{}
	for i := range 3 {
		c.keep(others[0], termsKey, Remove{Key: termsKey, ID: uint64(i)}, earlyWeight/2)
	}
	if n := len(c.early.all); n != 2 {
		t.Errorf("%d large ones are kept", n)
	}
}

// Pieces of one state have one sender, term, change and stamp.
func TestPiecesOfOneState(t *testing.T) {
	state := func(piece ...Entrance) *State { return &State{Entrances: piece} }
	first, last := Entrance{Entry: Entry{Host: "1"}}, Entrance{Entry: Entry{Host: "2"}}
	for _, m := range []struct {
		from phalanx.NodeID
		Replicate
		same bool
	}{
		{"a#1", Replicate{Term: 5, Seq: 7, Stamp: 2}, true},
		{"b#1", Replicate{Term: 5, Seq: 7, Stamp: 2}, false},
		{"a#1", Replicate{Term: 4, Seq: 7, Stamp: 2}, false},
		{"a#1", Replicate{Term: 5, Seq: 6, Stamp: 2}, false},
		{"a#1", Replicate{Term: 5, Seq: 7, Stamp: 1}, false},
	} {
		c, _ := inTerm(5, false)
		c.arrive("a#1", Replicate{Key: termsKey, Term: 5, Seq: 7, Stamp: 2, Config: Config{Max: 2}, State: state(first), Total: 2})
		m.Key, m.State, m.From, m.Total = termsKey, state(last), 1, 2
		if _, complete := c.arrive(m.from, m.Replicate); complete != m.same {
			t.Errorf("%+v: it is of this state: %v", m, complete)
		}
	}
}

// A release ends a withdrawal if it is of the attempt that the participant withdraws, or a later one.
func TestWhatIsReleased(t *testing.T) {
	c, _ := inTerm(5, false)
	for attempt, more := range map[uint64]bool{2: true, 3: false, 4: false} {
		p := &participant{left: 3, stage: releasing}
		g := &group{key: termsKey, parts: map[Entry]*participant{{}: p}}
		if got := c.withdrawn(g, p, Answered{Verdict: Released, Attempt: attempt}); got != more {
			t.Errorf("attempt %d is released, and there is more to be told: %v", attempt, got)
		}
	}
}

// A node begins no term of a view that it does not have.
func TestATermOfAViewThatIsNotKnown(t *testing.T) {
	c, others := inTerm(5, false)
	if c.Step(0, Heard{From: others[0], Message: Refused{Term: 9}}); c.terms.Term != 5 {
		t.Errorf("it is in term %d", c.terms.Term)
	}
}

// A primary of an earlier term does not have a replica dropped that a later one needs.
func TestALateForget(t *testing.T) {
	c, others := inTerm(5, false)
	c.put(&replica{key: termsKey, b: New(Config{Max: 2}), Copy: repl.Copy{Version: repl.Version{Term: 5}, Primary: others[0]}})
	for _, term := range []uint64{4, 5} {
		c.Step(0, Heard{From: others[0], Message: Forget{Key: termsKey, Term: term}})
		if there := c.replicas[termsKey] != nil; there != (term < 5) {
			t.Errorf("after one of term %d it is there: %v", term, there)
		}
	}
}

// A backup makes no changes of a primary of an earlier term, and none before those that it has
// missed: it asks for the state.
func TestChangesThatDoNotFollow(t *testing.T) {
	c, others := inTerm(5, false)
	r := &replica{key: termsKey, b: New(Config{Max: 2}), Copy: repl.Copy{Version: repl.Version{Term: 5, Seq: 7}, Primary: others[0]}}
	c.put(r)
	sends := func(term, seq uint64) []Output {
		return c.Step(0, Heard{From: others[0], Message: Replicate{Key: termsKey, Term: term, Seq: seq, Ops: []Op{{Kind: OpAdvance}}}})
	}
	c.terms.Fence = 5
	if out := sends(4, 8); len(sentTo[Refused](out)) != 1 || r.Seq != 7 {
		t.Errorf("of an earlier term: %+v", out)
	}
	if out := sentTo[Confirm](sends(5, 9)); len(out) != 1 || !out[0].Need || r.Seq != 7 {
		t.Errorf("after what it has missed: %+v", out)
	}
	if out := sentTo[Confirm](sends(5, 8)); len(out) != 1 || out[0].Need || r.Seq != 8 {
		t.Errorf("the next ones: %+v", out)
	}
}

// A participant that waits on another incarnation of its node is told that the barrier has fired:
// the barrier stays known as long as that incarnation is a member.
func TestABarrierIsKnownWhereAWaitingParticipantHeardThatItHasFired(t *testing.T) {
	c, others := inTerm(5, true)
	digest, before := termsKey.digest(), phalanx.NodeID("gone#1")
	c.past.learn(append([]phalanx.NodeID{before}, others...))
	c.past.add(digest, place(termsKey.Name), []phalanx.NodeID{before}, PassThrough, 0)
	c.tooLate(others[0], Reached{Key: termsKey, Requests: []Request{{Entry: Entry{Host: "h"}, Waits: true}}})
	if c.past.learn(others); !c.past.knows(digest) {
		t.Errorf("it is forgotten, and %s has passed it", others[0])
	}
}
