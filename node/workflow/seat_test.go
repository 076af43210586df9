package workflow

import (
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

const me = "wf/r/1/0/1.1/" // the attempt of these tests

var (
	given = ActorAt{Node: "d", ID: "wf/r/0/0/1.1/1", By: "wf/r/0/0/1.1/", Version: 7}
	mine  = ActorAt{Node: "d", ID: given.ID, By: me, Version: 8} // given, once the attempt has claimed it
	input = core.Blob{Task: 3}
)

// sitting is an attempt with one actor.
type sitting struct {
	*Seat
	t     *testing.T
	seats *Seats
}

func newSitting(t *testing.T, writes, snapshot bool) *sitting {
	s := NewSeats(me)
	seat := s.Given("k@1", given, &input, snapshot)
	if writes {
		seat.Write()
	}
	return &sitting{seat, t, s}
}

// next checks how the attempt goes on that wants to call a method.
func (s *sitting) next(want SeatNext) ActorCall {
	s.t.Helper()
	c, next := s.Next(ActorCall{Deed: ActorDo, Name: "method"})
	if next != want {
		s.t.Fatalf("the attempt goes on with %v, want %v", next, want)
	}
	return c
}

// calls checks that the method is called at a version.
func (s *sitting) calls(at ActorAt) ActorCall {
	s.t.Helper()
	c := s.next(SeatCalls)
	if c.Actor != at || c.By != "" || c.Name != "method" {
		s.t.Fatalf("the attempt calls %+v, want a call at %+v", c, at)
	}
	return c
}

func (s *sitting) claims() ActorCall {
	s.t.Helper()
	c := s.next(SeatClaims)
	if c.Actor != s.At() || c.By != me || c.Name != "" || c.Deed != ActorDo {
		s.t.Fatalf("the attempt claims by %+v", c)
	}
	return c
}

func (s *sitting) answered(c ActorCall, end ActorEnd, want SeatNext) {
	s.t.Helper()
	if next := s.Answered(c, end); next != want {
		s.t.Fatalf("after %v the attempt goes on with %v, want %v", end, next, want)
	}
}

// restores has a node restore the actor, and returns where it is then.
func (s *sitting) restores(on phalanx.NodeID) ActorAt {
	s.t.Helper()
	m := s.Make([]phalanx.NodeID{on}, 0)
	at, _ := m.Next()
	if next := m.Answered(ActorDone); next != MakingDone || s.At() != at || at.Node != on || at.By != me {
		s.t.Fatalf("the actor is restored at %+v, and is at %+v", at, s.At())
	}
	return at
}

func (s *sitting) leaves(well bool, want ...ActorAt) {
	s.t.Helper()
	if got := s.seats.Leaves(well); !slices.Equal(got, want) {
		s.t.Fatalf("well %v: nodes forget %+v, want %+v", well, got, want)
	}
}

func (s *sitting) fault(torn, bereft bool) {
	s.t.Helper()
	if got := s.seats.Torn(); torn != (len(got) == 1 && got[0] == input) || !torn && len(got) > 0 || s.seats.Bereft() != bereft {
		s.t.Fatalf("%v are torn, bereft is %v; want %v and %v", got, s.seats.Bereft(), torn, bereft)
	}
}

// A reader claims nothing, and nodes keep what others read.
func TestSeatReads(t *testing.T) {
	s := newSitting(t, false, false)
	for _, end := range []ActorEnd{ActorDone, ActorFailed, ActorSilent} {
		s.answered(s.calls(given), end, SeatDone)
	}
	s.leaves(true)
	s.leaves(false)
}

// A writer claims the next version once, before its first call. Further calls do not move the actor.
func TestSeatClaimsBeforeItWrites(t *testing.T) {
	s := newSitting(t, true, false)
	s.answered(s.claims(), ActorDone, SeatAgain)
	s.answered(s.calls(mine), ActorDone, SeatDone)
	s.answered(s.calls(mine), ActorDone, SeatDone)
	s.leaves(false, mine)
	s.leaves(true, mine) // the output does not hold it
	s.Keep()
	s.leaves(true)
	s.leaves(false, mine)
}

// A claim without an answer may have taken effect: the attempt has claimed nothing, and the node forgets both versions that it may have.
func TestSeatWhoseClaimIsNotAnswered(t *testing.T) {
	s := newSitting(t, true, true)
	s.leaves(false)
	s.leaves(true, given) // it was the last to have it
	s.answered(s.claims(), ActorSilent, SeatDone)
	s.claims()
	s.leaves(false, mine)
	s.leaves(true, given, mine)
	s.fault(false, false)
}

// Without a snapshot an actor that is gone is lost, at once and for good. A call that ends it is a failure; else the input is lost.
func TestSeatIsLost(t *testing.T) {
	for _, end := range []ActorEnd{ActorGone, ActorCrashed} {
		s := newSitting(t, false, false)
		c := s.calls(given)
		s.answered(c, end, SeatLost)
		s.answered(c, ActorGone, SeatLost) // whose fault it is stays
		s.next(SeatLost)
		s.fault(end == ActorGone, false)
		s.leaves(false)
	}
	s := newSitting(t, true, false)
	s.answered(s.claims(), ActorGone, SeatLost)
	s.next(SeatLost)
	s.fault(true, false)
	s.leaves(false, mine)
}

// An actor that the attempt has made has no snapshot. With its node the attempt loses it, and has not failed; nor is an input lost.
func TestSeatOfAnActorThatTheAttemptHasMade(t *testing.T) {
	for _, end := range []ActorEnd{ActorGone, ActorCrashed} {
		s := &sitting{t: t, seats: NewSeats(me)}
		s.Seat = s.seats.Spawn("k@1")
		s.leaves(false)
		at := s.restores("e")
		if want := (ActorAt{"e", me + "1", me, 1}); at != want {
			t.Fatalf("%+v, want %+v", at, want)
		}
		s.leaves(true, at)
		s.leaves(false, at)
		s.Keep()
		s.leaves(true)
		s.answered(s.calls(at), end, SeatLost)
		s.fault(false, end == ActorGone)
		s.leaves(false, at)
	}
}

// An argument of which nobody knows the input is no input that was lost.
func TestSeatOfAnUnknownInput(t *testing.T) {
	s := &sitting{t: t, seats: NewSeats(me)}
	s.Seat = s.seats.Given("k@1", given, nil, false)
	s.answered(s.calls(given), ActorGone, SeatLost)
	s.fault(false, true)
}

// Two calls at once find an actor gone. The first restores it, the second only calls again.
func TestTwoCallsOfASeatThatIsGone(t *testing.T) {
	s := newSitting(t, false, true)
	one, two := s.calls(given), s.calls(given)
	s.answered(one, ActorGone, SeatRestores)
	at := s.restores("e")
	s.answered(two, ActorCrashed, SeatAgain)
	s.answered(s.calls(at), ActorDone, SeatDone)
	s.fault(false, false)
	s.leaves(false, at)
	s.leaves(true, at) // of a reader, which cannot return it
}

// One of two calls has claimed the actor, and the other has found it gone at the version before.
func TestTwoCallsOfASeatThatIsClaimed(t *testing.T) {
	s := newSitting(t, true, true)
	one, two := s.claims(), s.claims()
	s.answered(one, ActorDone, SeatAgain)
	s.answered(two, ActorGone, SeatAgain)
	s.calls(mine)
}

// A writer restores an actor before it has written, and never after that: the snapshot has nothing of what it has written.
func TestSeatIsRestoredForAWriterOnce(t *testing.T) {
	s := newSitting(t, true, true)
	s.answered(s.claims(), ActorGone, SeatRestores)
	at := s.restores("e")
	if at.Version != given.Version+1 {
		t.Fatalf("restored at version %d", at.Version)
	}
	c := s.calls(at) // it has claimed that
	s.Keep()
	s.leaves(true)
	s.leaves(false, at)
	s.answered(c, ActorGone, SeatLost)
	s.fault(true, false)

	s = newSitting(t, true, true)
	s.answered(s.claims(), ActorDone, SeatAgain)
	s.answered(s.calls(mine), ActorGone, SeatLost)
	s.fault(true, false)
}

// A reader restores an actor three times. What it has restored is gone with it.
func TestSeatIsRestoredForAReaderThreeTimes(t *testing.T) {
	s := newSitting(t, false, true)
	var tries []ActorAt
	for at := given; len(tries) < 3; {
		s.answered(s.calls(at), ActorCrashed, SeatRestores)
		at = s.restores("e")
		if tries = append(tries, at); at.Version != given.Version+uint64(len(tries)) {
			t.Fatalf("restored at version %d", at.Version)
		}
	}
	s.leaves(true, tries...)
	s.answered(s.calls(tries[2]), ActorGone, SeatLost)
	s.fault(true, false)
	s.leaves(false, tries...)
}

// An attempt may try to restore an actor again if that has failed.
func TestSeatThatCannotBeRestored(t *testing.T) {
	s := newSitting(t, true, true)
	for range 3 {
		s.answered(s.claims(), ActorGone, SeatRestores)
	}
	s.answered(s.claims(), ActorCrashed, SeatLost)
	s.fault(false, false)
}
