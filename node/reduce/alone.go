package reduce

import "time"

// RingPatience is how long nothing may move at a ring's place that goes on alone, before it gives up. It
// looks that seldom, and so gives up after up to twice the time.
const RingPatience = 5 * time.Second

// Circled says how far a place of a ring is.
type Circled struct {
	Moved int64 // rises whenever bytes come or leave
	Whole bool  // the place has the whole target
	Given bool  // the next place has everything that it needs for that
	Broke bool  // the stream of the place before has ended
}

// Alone follows a place that has ended, since the target of its ring is final, and whose output goes on
// without it: until it has the whole target, which makes it a copy, and so has the next place. It hears
// of no coordinator. A later order starts another place under the same key.
type Alone struct {
	look  time.Duration
	moved int64
}

// NewAlone returns a place that goes on alone from now on.
func NewAlone(now time.Duration, c Circled) Alone {
	return Alone{look: now + RingPatience, moved: c.Moved}
}

// Due returns when to ask Over next if nothing but bytes moves.
func (a *Alone) Due() time.Duration { return a.look }

// Over reports whether the place ends. It has no copy of the target then, unless it has all of it.
func (a *Alone) Over(now time.Duration, c Circled) bool {
	switch {
	case c.Whole && c.Given, c.Broke && !c.Whole:
		return true
	case now < a.look:
		return false
	case c.Moved == a.moved:
		return true
	}
	*a = NewAlone(now, c)
	return false
}
