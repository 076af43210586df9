package view

import (
	"fmt"
	"time"
)

// Config has the settings of a Core. Zero fields stand for the defaults.
type Config struct {
	Self   Member
	Common Common
	Shards int // of a cluster that this node boots; 64. Others learn it
	Voters int // at most, odd; 3, and 5 from seven members on

	HeartbeatEvery time.Duration // of a member to the leader; also how often unacknowledged messages are repeated; 100 ms
	VoterEvery     time.Duration // of the leader to the voters; 25 ms
	LeaseFor       time.Duration // after a majority of the voters was heard; 300 ms
	SilentAfter    time.Duration // a leader that is silent for so long is taken for broken; 500 ms
	Stagger        time.Duration // between the campaigns of one voter and the next; 10 ms
	GiveUpAfter    time.Duration // until an own command that does not become visible is given up; 10 s
	CompactEvery   int           // entries of the log; 128

	// IdleAfter is how long a node keeps a lease since it was last wanted (Want), and
	// IdleEvery how often it tells the leader, and the leader the voters, that it is there
	// when none is. Zero: it always keeps one.
	IdleAfter time.Duration
	IdleEvery time.Duration // 2 s
}

func (c Config) withDefaults() Config {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&c.HeartbeatEvery, 100*time.Millisecond)
	def(&c.VoterEvery, 25*time.Millisecond)
	def(&c.LeaseFor, 300*time.Millisecond)
	def(&c.SilentAfter, 500*time.Millisecond)
	def(&c.Stagger, 10*time.Millisecond)
	def(&c.GiveUpAfter, 10*time.Second)
	def(&c.IdleEvery, 2*time.Second)
	if c.Shards == 0 {
		c.Shards = 64
	}
	if c.CompactEvery == 0 {
		c.CompactEvery = 128
	}
	return c
}

// Validate names the rule that c, after defaults, breaks.
func (c Config) Validate() error {
	c = c.withDefaults()
	switch {
	case c.Self.ID.Name() == "":
		return fmt.Errorf("view: the node has no name")
	case c.Shards < 1:
		return fmt.Errorf("view: %d shards, at least one is needed", c.Shards)
	case c.Voters < 0 || c.Voters != 0 && c.Voters%2 == 0:
		return fmt.Errorf("view: %d voters, the number must be odd", c.Voters)
	case c.VoterEvery < 0 || c.HeartbeatEvery < 0 || c.Stagger < 0 || c.GiveUpAfter < 0:
		return fmt.Errorf("view: an interval is negative")
	case c.IdleAfter < 0 || c.IdleEvery < c.HeartbeatEvery:
		return fmt.Errorf("view: a node that is idle after %v has heartbeats every %v, others every %v", c.IdleAfter, c.IdleEvery, c.HeartbeatEvery)
	case c.LeaseFor < c.HeartbeatEvery+c.VoterEvery:
		return fmt.Errorf("view: a lease of %v would end between heartbeats %v apart", c.LeaseFor, c.HeartbeatEvery+c.VoterEvery)
	case c.SilentAfter < c.LeaseFor:
		return fmt.Errorf("view: a leader would be silent after %v, before its lease of %v ends", c.SilentAfter, c.LeaseFor)
	case c.CompactEvery < 1:
		return fmt.Errorf("view: the log would be compacted every %d entries", c.CompactEvery)
	}
	return nil
}
