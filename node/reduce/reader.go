package reduce

import (
	"time"

	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

// orderPatience is how long the reader of an output waits for a place: the order that starts it may
// still be on its way.
const orderPatience = time.Second

// Reader is a parent that asks a node for the output of a place.
type Reader struct {
	Want  core.PlaceGen
	Since time.Duration // when it asked
}

// Turn is the node's answer to a Reader.
type Turn uint8

// The answers.
const (
	Later  Turn = iota // the place is about to start, or to make that output
	Reads              // the place makes it
	Passed             // the place makes a later output, and never that one again
	Absent             // there is no such output
)

// Turn answers a reader. Makes is the label of the output that the place makes; zero: it makes none, or
// there is no place.
func (r Reader) Turn(now time.Duration, makes core.PlaceGen) Turn {
	switch {
	case r.Want == makes && !makes.IsZero():
		return Reads
	case r.Want.Compare(makes) < 0:
		return Passed
	case now-r.Since > orderPatience:
		return Absent
	}
	return Later
}

// Remains is the fate of an output when its place ends.
type Remains uint8

// The fates.
const (
	Nothing Remains = iota // its memory is freed. The owner hears that a copy of the target is gone: its digest may be on the way there
	Target                 // it stays, as the node's copy of the target
	Circles                // the ring goes on without the place, until this node and the next one have all of the target
)

// RemainsOf decides the fate of an output. KeepTarget says that the target is final, circles that the
// output is a ring's and has begun, and whole that it is a complete copy of the target.
func RemainsOf(keepTarget, circles, whole bool) Remains {
	switch {
	case keepTarget && circles:
		return Circles
	case keepTarget, whole:
		return Target
	}
	return Nothing
}
