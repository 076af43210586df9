package workflow

import (
	"slices"

	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// Seat is an actor that an attempt uses. An attempt that writes an actor claims the next version before its first call: as long as
// it has not, nothing is lost if the actor has to be restored. An actor that is not there any more at the version that the attempt was
// given is restored of its snapshot, as an actor of the attempt's own.
//
// For each call that the attempt wants to make, the host asks Next what to do, and tells with Answered how that has ended:
//
//	Next      SeatCalls: make the call   SeatClaims: make the claim   SeatLost: the call fails
//	Answered  SeatDone: that is the answer   SeatAgain: ask Next again   SeatRestores: Make, then ask Next again   SeatLost: the call fails
//
// Several calls may go on at once. One caller at a time may claim and restore the actor: it waits for its turn before it makes a claim, and before
// it tells Answered of an end that is NoMore, and keeps the turn until it has told Answered, or has restored the actor.
type Seat struct {
	of       *Seats
	kind     string     // name@version
	from     *core.Blob // the input that holds it; nil: the attempt has made it, or its input is not known
	snapshot bool       // there is one of the version that the attempt was given
	writes   bool       // the attempt was given it to write it

	at       ActorAt
	own      bool      // the attempt has made this version
	claimed  bool      // the node may have made the attempt's version
	lost     bool      // nobody can use it any more
	kept     bool      // the output holds it
	restored int       // how often
	tries    []ActorAt // where it was to be made, and perhaps was
}

// mostRestored is how often an attempt restores an actor that it reads: perhaps the attempt's calls end each one.
const mostRestored = 3

// SeatNext says how an attempt goes on with an actor.
type SeatNext uint8

// The ways to go on.
const (
	SeatCalls    SeatNext = iota // make the call
	SeatClaims                   // make the call that claims the next version
	SeatDone                     // take the answer
	SeatAgain                    // ask Next again
	SeatRestores                 // restore the actor, and ask Next again
	SeatLost                     // nobody can use the actor any more
)

// NoMore reports whether a call has ended as nobody can use the actor any more, at the version of the call.
func (e ActorEnd) NoMore() bool { return e == ActorGone || e == ActorCrashed }

// Write notes that an argument gives the attempt the actor to write it.
func (s *Seat) Write() { s.writes = true }

// At returns where the actor is.
func (s *Seat) At() ActorAt { return s.at }

// Keep notes that the output of the attempt holds the actor.
func (s *Seat) Keep() { s.kept = true }

// Kept reports whether the output of the attempt holds the actor.
func (s *Seat) Kept() bool { return s.kept }

// Next returns how an attempt goes on that wants to make call c, and what it calls. Only a claim has By, which moves
// the actor to the attempt's own version. Further calls name that version: they find all that the attempt has written before, or no actor.
func (s *Seat) Next(c ActorCall) (ActorCall, SeatNext) {
	switch {
	case s.lost:
		return c, SeatLost
	case s.writes && !s.own:
		s.claimed = true
		return ActorCall{Deed: ActorDo, Actor: s.at, By: s.of.by}, SeatClaims
	}
	c.Actor = s.at
	return c, SeatCalls
}

// Answered takes how a call has ended that Next has returned, and returns how the attempt goes on. If a large answer is gone that the
// attempt has not read yet, the call has ended with ActorGone.
func (s *Seat) Answered(c ActorCall, end ActorEnd) SeatNext {
	switch {
	case end == ActorDone && c.By != "":
		s.at.Version, s.at.By, s.own = c.Actor.Version+1, c.By, true
		return SeatAgain
	case !end.NoMore():
		return SeatDone
	case s.lost:
		return SeatLost
	case s.at != c.Actor: // another call has claimed or restored it
		return SeatAgain
	case s.restorable():
		s.restored++
		return SeatRestores
	}
	s.lost = true
	s.of.lose(s, end)
	return SeatLost
}

// restorable reports whether the snapshot has all that the attempt knows of the actor: the attempt may have written each version of its
// own that it was given to write.
func (s *Seat) restorable() bool {
	return s.snapshot && s.restored < mostRestored && !(s.own && s.writes)
}

// leaves returns at which versions nodes can forget the actor once the attempt has ended.
func (s *Seat) leaves(well bool) (all []ActorAt) {
	keeps := well && s.kept
	for _, a := range s.tries {
		if !keeps || a != s.at {
			all = append(all, a)
		}
	}
	switch {
	case keeps || slices.Contains(all, s.at):
		return all
	case s.own:
		return append(all, s.at)
	case s.writes && well: // a task that ends well and does not return it was the last to have it
		all = append(all, s.at)
	}
	if s.claimed { // the node may have made the next version
		next := s.at
		next.Version, next.By = next.Version+1, s.of.by
		all = append(all, next)
	}
	return all
}
