package workflow

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// copies is a Copier on a node a, and what it does.
type copies struct {
	t     *testing.T
	c     *Copier
	now   time.Duration
	view  uint64
	disks map[phalanx.NodeID]string // of others
}

func copiesOf(t *testing.T) *copies {
	return &copies{t: t, c: NewCopier(), disks: map[phalanx.NodeID]string{"b#1": "B", "c#1": "C", "b#2": "B", "b#3": "B2"}}
}

// does has an event happen, and checks the effects.
func (s *copies) does(ev CopierEvent, want ...string) {
	s.t.Helper()
	var got []string
	for _, e := range s.c.Step(s.now, ev) {
		switch e := e.(type) {
		case AskWhich:
			got = append(got, fmt.Sprint("ask ", e.To, " ", e.Which.Places))
		case CopyTo:
			got = append(got, fmt.Sprint("copy ", e.Place, " to ", e.To))
		case DropCopy:
			got = append(got, "drop")
		case Remains:
			if s.view = e.View; e.Left > 0 {
				got = append(got, fmt.Sprint("remains ", e.Left))
			}
		case StaysBehind:
			got = append(got, fmt.Sprint(e.Checkpoints, " stay behind"))
		}
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		s.t.Errorf("at %v: %q, want %q", s.now, got, want)
	}
}

// due lets time pass until the Copier is due.
func (s *copies) due(after time.Duration, want ...string) {
	s.t.Helper()
	at, ok := s.c.Due()
	if !ok {
		s.t.Fatal("nothing is due")
	}
	if at-s.now != after {
		s.t.Errorf("due after %v, want %v", at-s.now, after)
	}
	s.now = at
	s.does(Tick{}, want...)
}

// sees has others with disks be members, and tells which disks they have.
func (s *copies) sees(leaving bool, others ...phalanx.NodeID) {
	s.t.Helper()
	s.c.Step(s.now, Disks{View: s.view + 1, Self: "a#1", Leaving: leaving, Others: others})
	for _, n := range others {
		s.c.Step(s.now, s.these(n))
	}
}

// these is the answer of a member to the last count.
func (s *copies) these(n phalanx.NodeID, places ...string) Counted {
	return Counted{From: n, These: These{Number: s.c.number, Disk: s.disks[n], Places: places}}
}

func (s *copies) copied(n phalanx.NodeID, failed string) CopyEnded {
	return CopyEnded{From: n, Copied: Copied{Number: s.c.number, Failed: failed}}
}

// A checkpoint that another disk has is not copied.
func TestCopierFindsASecondCopy(t *testing.T) {
	s := copiesOf(t)
	s.sees(false, "b#1", "c#1")
	s.does(Held{Places: []string{"x"}})
	s.due(countAfter, "ask b#1 [x]", "ask c#1 [x]")
	s.does(s.these("c#1", "x"))
	s.does(s.these("b#1"))
	if at, ok := s.c.Due(); ok || s.c.Busy() {
		t.Errorf("something is due at %v", at)
	}
}

// One that no other disk has is copied by another one if the first cannot.
func TestCopierCopies(t *testing.T) {
	s := copiesOf(t)
	s.sees(false, "b#1", "c#1")
	s.does(Held{Places: []string{"x"}})
	s.due(countAfter, "ask b#1 [x]", "ask c#1 [x]")
	s.does(s.these("b#1"))
	s.does(s.these("c#1"), "copy x to b#1")
	s.does(Laid{Number: s.c.number, Size: 10e6})
	s.does(s.copied("b#1", "the disk is full"), "drop")
	s.due(countAfter, "ask b#1 [x]", "ask c#1 [x]")
	s.does(s.these("b#1"))
	s.does(s.these("c#1"), "copy x to c#1")
	s.does(s.copied("c#1", ""), "drop")
	if s.c.Busy() {
		t.Error("it goes on")
	}
}

// Nobody is waited for who says nothing: neither one that is asked what it has nor one that copies.
func TestCopierPassesSilentMembers(t *testing.T) {
	s := copiesOf(t)
	s.sees(false, "b#1", "c#1")
	s.does(Held{Places: []string{"x"}})
	s.due(countAfter, "ask b#1 [x]", "ask c#1 [x]")
	s.does(s.these("b#1"))
	s.due(time.Second, "ask c#1 [x]")
	s.due(2*time.Second, "ask c#1 [x]")
	s.due(4*time.Second, "copy x to b#1")
	s.does(Laid{Number: s.c.number, Size: 10e6})
	s.due(copyWait+time.Second, "drop")
	s.due(countAfter, "ask b#1 [x]") // c has held up one count
	s.does(s.these("b#1"), "copy x to c#1")
}

// The other disk is lost once its node has another one, or has been away for long. A process that begins again on the same disk may have
// lost what it wrote last.
func TestCopierTakesDisksForLost(t *testing.T) {
	for what, test := range map[string]struct {
		happens func(s *copies)
		after   time.Duration
	}{
		"another disk":  {func(s *copies) { s.sees(false, "b#3", "c#1") }, countAfter},
		"begins again":  {func(s *copies) { s.sees(false, "b#2", "c#1") }, countAfter},
		"away for long": {func(s *copies) { s.sees(false, "c#1") }, awayMost},
	} {
		t.Run(what, func(t *testing.T) {
			s := copiesOf(t)
			s.sees(false, "b#1", "c#1")
			s.does(Held{Places: []string{"x", "y"}})
			s.due(countAfter, "ask b#1 [x y]", "ask c#1 [x y]")
			s.does(s.these("b#1", "x"))
			s.does(s.these("c#1", "y"))
			test.happens(s)
			if test.after == awayMost {
				s.due(awayMost)
				s.due(countAfter, "ask c#1 [x]")
				s.does(s.these("c#1"), "copy x to c#1")
				return
			}
			other := s.c.others[0]
			s.due(test.after, fmt.Sprintf("ask %s [x]", other), "ask c#1 [x]")
		})
	}
}

// A node that leaves waits until disks that stay have its checkpoints. If there are none it says so.
func TestCopierHandsOver(t *testing.T) {
	s := copiesOf(t)
	s.sees(false, "b#1", "c#1")
	s.does(Held{Places: []string{"x", "y"}})
	s.due(countAfter, "ask b#1 [x y]", "ask c#1 [x y]")
	s.does(s.these("b#1", "x"))
	s.does(s.these("c#1", "y"))
	s.does(Disks{View: 7, Self: "a#1", Leaving: true, Others: []phalanx.NodeID{"c#1"}}, "ask c#1 [x]", "remains 1") // b leaves, too
	s.does(s.these("c#1"), "copy x to c#1")
	s.does(s.copied("c#1", "the disk is full"), "drop", "ask c#1 [x]")
	s.does(s.these("c#1"))
	s.due(unfitFor, "copy x to c#1")
	s.does(NotLaid{Number: s.c.number}, "drop", "ask c#1 [x]")
	s.does(s.these("c#1"))
	s.due(restFor, "copy x to c#1")
	s.does(s.copied("c#1", ""), "drop")
	if s.view != 7 || s.c.remains.Left != 0 {
		t.Errorf("it has to hand over %+v", s.c.remains)
	}
	s.does(Disks{View: 8, Self: "a#1", Leaving: true}, "2 stay behind")
	s.does(Disks{View: 9, Self: "a#1", Leaving: true})
}

// Checkpoints that are deleted meanwhile are neither looked for nor copied, and one that the own disk has lost is not either.
func TestCopierForgets(t *testing.T) {
	s := copiesOf(t)
	s.sees(false, "b#1")
	s.does(Held{Places: []string{"x", "y", "z"}})
	s.does(NotHeld{Places: []string{"x"}})
	s.due(countAfter, "ask b#1 [y z]")
	s.does(NotHeld{Places: []string{"y"}})
	s.does(s.these("b#1"), "copy z to b#1")
	s.does(NotLaid{Number: s.c.number, Gone: true}, "drop")
	if s.c.Busy() || len(s.c.held) > 0 {
		t.Errorf("it goes on with %v", s.c.held)
	}
}

// Many checkpoints are counted in several messages, and copied two at a time.
func TestCopierCountsManyInParts(t *testing.T) {
	s := copiesOf(t)
	s.sees(false, "b#1")
	var all []string
	for i := range 2*MaxPlaces + 1 {
		all = append(all, fmt.Sprintf("p%05d", i))
	}
	s.c.Step(s.now, Held{Places: all})
	s.now += countAfter
	counted, copied := 0, 0
	for todo := []CopierEvent{Tick{}}; len(todo) > 0; todo = todo[1:] {
		for _, e := range s.c.Step(s.now, todo[0]) {
			switch e := e.(type) {
			case AskWhich:
				if counted++; len(e.Which.Places) > MaxPlaces {
					t.Fatalf("%d places in a message", len(e.Which.Places))
				}
				todo = append(todo, Counted{From: "b#1", These: These{Number: e.Which.Number, Disk: "B"}})
			case CopyTo:
				copied++
				todo = append(todo, CopyEnded{From: "b#1", Copied: Copied{Number: e.Number}})
			}
		}
		if len(s.c.copies) > mostCopied {
			t.Fatalf("%d are copied at a time", len(s.c.copies))
		}
	}
	if s.c.Busy() || counted != 3 || copied != len(all) {
		t.Errorf("%d counts, %d copies of %d; it goes on: %v", counted, copied, len(all), s.c.Busy())
	}
}

// A member that was silent as it joined is asked again, so that it can copy.
func TestCopierAsksASilentMemberAgain(t *testing.T) {
	s := copiesOf(t)
	s.c.Step(s.now, Disks{View: 1, Self: "a#1", Others: []phalanx.NodeID{"b#1"}})
	s.c.Step(s.now, Held{Places: []string{"x"}})
	for range 60 { // it is silent for a minute
		s.now += time.Second
		s.c.Step(s.now, Tick{})
	}
	s.c.Step(s.now, Disks{View: 2, Self: "a#1", Leaving: true, Others: []phalanx.NodeID{"b#1"}})
	for range 36000 { // from now on it answers
		s.now += 100 * time.Millisecond
		for todo := []CopierEvent{Tick{}}; len(todo) > 0; todo = todo[1:] {
			for _, e := range s.c.Step(s.now, todo[0]) {
				switch e := e.(type) {
				case AskWhich:
					todo = append(todo, Counted{From: "b#1", These: These{Number: e.Which.Number, Disk: "B"}})
				case CopyTo:
					todo = append(todo, CopyEnded{From: "b#1", Copied: Copied{Number: e.Number}})
				}
			}
		}
	}
	if s.c.Busy() {
		t.Error("an hour later it still waits")
	}
}

// A silent member does not hold up each count.
func TestCopierIsHeldUpOnceByASilentMember(t *testing.T) {
	s := copiesOf(t)
	s.sees(false, "b#1", "c#1")
	var all []string
	for i := range 100_000 {
		all = append(all, fmt.Sprintf("p%06d", i))
	}
	s.c.Step(s.now, Disks{View: 2, Self: "a#1", Leaving: true, Others: []phalanx.NodeID{"b#1", "c#1"}})
	var todo []CopierEvent
	todo = append(todo, Held{Places: all})
	began := s.now
	for s.c.Busy() || len(todo) > 0 {
		if len(todo) == 0 {
			s.now, _ = s.c.Due()
			todo = append(todo, Tick{})
		}
		for _, e := range s.c.Step(s.now, todo[0]) {
			switch e := e.(type) {
			case AskWhich:
				if e.To == "b#1" {
					todo = append(todo, Counted{From: "b#1", These: These{Number: e.Which.Number, Disk: "B", Places: e.Which.Places}})
				}
			}
		}
		todo = todo[1:]
	}
	if took := s.now - began; took > time.Minute {
		t.Errorf("all are on b's disk, c is silent, and the node leaves after %v", took)
	}
}

// Two members say that they have the same disk (a folder was copied).
func TestCopierTakesACopiedFolderForNoDisk(t *testing.T) {
	s := copiesOf(t)
	s.disks["c#1"] = "B"
	s.sees(false, "b#1", "c#1")
	var all []string
	for i := range 2 * MaxPlaces {
		all = append(all, fmt.Sprintf("p%06d", i))
	}
	s.c.Step(s.now, Disks{View: 2, Self: "a#1", Leaving: true, Others: []phalanx.NodeID{"b#1", "c#1"}})
	asked := 0
	for todo := []CopierEvent{Held{Places: all}}; len(todo) > 0; todo = todo[1:] {
		for _, e := range s.c.Step(s.now, todo[0]) {
			switch e := e.(type) {
			case AskWhich:
				if asked++; asked > 10000 {
					t.Fatal("10,000 counts at the same time")
				}
				todo = append(todo, Counted{From: e.To, These: These{Number: e.Which.Number, Disk: "B", Places: e.Which.Places}})
			}
		}
	}
}

// BenchmarkCopier measures what a checkpoint costs a node that begins with many of them, all of which another disk has.
func BenchmarkCopier(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			places := make([]string, n)
			for i := range places {
				places[i] = fmt.Sprintf("wf/0bde4554343fdd51.0000000000000002.%08x/1/0/2.2/.output", i)
			}
			b.ReportAllocs()
			for b.Loop() {
				c := NewCopier()
				c.Step(0, Disks{View: 1, Self: "a#1", Others: []phalanx.NodeID{"b#1"}})
				c.Step(0, Counted{From: "b#1", These: These{Number: c.number, Disk: "B"}})
				c.Step(0, Held{Places: places})
				for todo := c.Step(countAfter, Tick{}); len(todo) > 0; {
					w := todo[0].(AskWhich).Which
					todo = c.Step(countAfter, Counted{From: "b#1", These: These{Number: w.Number, Disk: "B", Places: w.Places}})
				}
				if c.Busy() {
					b.Fatal("it goes on")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/checkpoint")
		})
	}
}

// As this node, or the one that copies, begins a new incarnation, what was under way is lost, and nobody is to blame: another copy begins as soon as it
// is known again who has what.
func TestCopierBlamesNobodyForAnIncarnation(t *testing.T) {
	for what, next := range map[string]Disks{
		"own":      {View: 2, Self: "a#2", Others: []phalanx.NodeID{"b#1"}},
		"copier's": {View: 2, Self: "a#1", Others: []phalanx.NodeID{"b#2"}},
	} {
		s := copiesOf(t)
		s.sees(false, "b#1")
		s.does(Held{Places: []string{"x"}})
		s.due(countAfter, "ask b#1 [x]")
		s.does(s.these("b#1"), "copy x to b#1")
		s.does(Laid{Number: s.c.number, Size: 1})
		other := next.Others[0]
		for _, e := range s.c.Step(s.now, next) {
			if w, is := e.(AskWhich); is && len(w.Which.Places) == 0 {
				s.does(s.these(other))
			}
		}
		if len(s.c.copies) > 0 {
			t.Errorf("%s: the copy goes on", what)
		}
		s.due(countAfter, fmt.Sprintf("ask %s [x]", other))
		s.does(s.these(other), "copy x to "+string(other))
	}
}

// A read of the own disk that does not end holds up its own checkpoint only, and once it has ended for good nobody else is to blame.
func TestCopierGoesOnBesideAReadThatHangs(t *testing.T) {
	s := copiesOf(t)
	s.sees(false, "b#1")
	s.does(Held{Places: []string{"x", "y", "z"}})
	s.due(countAfter, "ask b#1 [x y z]")
	s.does(s.these("b#1"), "copy x to b#1", "copy y to b#1") // the read of x hangs
	hangs := s.c.number - 1
	s.does(s.copied("b#1", ""), "drop", "copy z to b#1")
	s.does(s.copied("b#1", ""), "drop")
	s.due(layWait, "drop")
	if s.c.unfit["b#1"] > s.now {
		t.Error("the one that was to copy is to blame")
	}
	s.does(Laid{Number: hangs, Size: 1})
	s.due(countAfter, "ask b#1 [x]")
	s.does(s.these("b#1"), "copy x to b#1")
}
