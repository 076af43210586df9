package detect

import (
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Config has the settings of a Core. Zero fields stand for the defaults.
type Config struct {
	Self         phalanx.NodeID
	Every        time.Duration // between heartbeats of two members that watch each other; 250 ms
	LookEvery    time.Duration // between heartbeats to a peer that is looked at, and between repeats of an accusation; 100 ms
	SilentAfter  time.Duration // a peer without a round trip for so long is suspected; 500 ms
	PatienceMax  time.Duration // the most that SilentAfter grows to where round trips take long; 3 s
	LateAfter    time.Duration // a tick that comes so much later than due voids silences until then; 100 ms
	LookAgain    time.Duration // between attempts to reach a peer whose connection broke; 5 ms
	ForgetAfter  time.Duration // an accusation that is not repeated; 400 ms
	Successors   int           // how many next members are watched, and how many before; 2
	ProposeAfter time.Duration // until a removal that is not in the view is proposed again; 200 ms
}

func (c Config) withDefaults() Config {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&c.Every, 250*time.Millisecond)
	def(&c.LookEvery, 100*time.Millisecond)
	def(&c.SilentAfter, 500*time.Millisecond)
	def(&c.PatienceMax, 3*time.Second)
	def(&c.LateAfter, 100*time.Millisecond)
	def(&c.LookAgain, 5*time.Millisecond)
	def(&c.ForgetAfter, 400*time.Millisecond)
	def(&c.ProposeAfter, 200*time.Millisecond)
	if c.Successors == 0 {
		c.Successors = 2
	}
	return c
}

// Validate names the rule that c, after defaults, breaks.
func (c Config) Validate() error {
	c = c.withDefaults()
	switch {
	case c.Self == "":
		return fmt.Errorf("detect: the node has no name")
	case c.Every < 0 || c.LookEvery < 0 || c.LateAfter < 0 || c.LookAgain < 0 || c.ProposeAfter < 0 || c.Successors < 0:
		return fmt.Errorf("detect: an interval or number is negative")
	case c.PatienceMax < c.SilentAfter:
		return fmt.Errorf("detect: PatienceMax (%v) is less than SilentAfter (%v)", c.PatienceMax, c.SilentAfter)
	case c.LookEvery > c.Every:
		return fmt.Errorf("detect: LookEvery (%v) is more than Every (%v)", c.LookEvery, c.Every)
	case c.SilentAfter < 2*c.Every:
		return fmt.Errorf("detect: SilentAfter (%v) is less than twice Every (%v)", c.SilentAfter, c.Every)
	case c.ForgetAfter < 2*c.LookEvery:
		return fmt.Errorf("detect: ForgetAfter (%v) is less than twice LookEvery (%v)", c.ForgetAfter, c.LookEvery)
	}
	return nil
}
