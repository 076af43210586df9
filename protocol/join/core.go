package join

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Core is how one life of a node joins.
type Core struct {
	cfg     Config
	now     time.Duration
	seeds   []*seed
	num     uint64
	cluster phalanx.NodeID // of which it is a member, or which it has booted
	ready   bool
	over    bool

	promise phalanx.NodeID // this node may be it
	chosen  uint64         // the last Ask before that promise
	told    time.Duration  // when the one who has the promise asked last
	met     phalanx.NodeID // the cluster of which Met has told
	out     []Effect
}

// seed is what is known of one of them.
type seed struct {
	name   string
	num    uint64        // of the last Ask
	asked  time.Duration // when
	asks   bool          // and that is not answered
	next   time.Duration // when it is asked again
	pause  time.Duration
	heard  bool // an answer, or that there was none, to the last Ask but the present one
	answer Answer
	err    error
	of     uint64        // the Ask to which that is the answer
	at     time.Duration // when that was asked
	came   time.Duration // when it asked this node last
	comes  bool          // it has
}

// firstPause is the first between two questions to a seed; each next one is twice as long.
const firstPause = 20 * time.Millisecond

// New returns a core that has not begun.
func New(cfg Config) *Core {
	c := &Core{cfg: cfg.withDefaults()}
	for _, s := range cfg.Seeds {
		if !slices.ContainsFunc(c.seeds, func(k *seed) bool { return k.name == s }) {
			c.seeds = append(c.seeds, &seed{name: s, pause: firstPause})
		}
	}
	return c
}

// Seeds returns how many there are.
func (c *Core) Seeds() int { return len(c.seeds) }

// Answer returns what this node says if it is asked.
func (c *Core) Answer() Answer {
	return Answer{From: c.cfg.Self, Cluster: c.cluster, Ready: c.ready, Promise: c.promise}
}

// Step applies ev at now, and returns what the host must do, in that order.
func (c *Core) Step(now time.Duration, ev Event) []Effect {
	c.now = max(c.now, now)
	if c.over {
		return nil
	}
	switch ev := ev.(type) {
	case Start:
		if len(c.seeds) == 0 {
			c.boot()
		}
	case Answered:
		c.answered(ev)
	case Asked:
		if ev.By == c.promise {
			c.told = c.now
		}
		for _, s := range c.seeds {
			if s.answer.From == ev.By {
				s.came, s.comes = c.now, true
			}
		}
	case Viewed:
		c.cluster = ev.Cluster
	}
	c.advance()
	out := c.out
	c.out = nil
	return out
}

func (c *Core) emit(e Effect) { c.out = append(c.out, e) }

func (c *Core) answered(ev Answered) {
	i := slices.IndexFunc(c.seeds, func(s *seed) bool { return s.name == ev.Seed })
	if i < 0 || c.seeds[i].num != ev.Num || !c.seeds[i].asks {
		return
	}
	s := c.seeds[i]
	s.asks, s.heard, s.answer, s.err, s.of, s.at = false, true, ev.Answer, ev.Err, s.num, s.asked
	s.next = c.now + s.pause
	s.pause = min(2*s.pause, c.cfg.AskEvery)
	if c.ready {
		s.next = c.now + c.cfg.MeetEvery
	}
	switch a := s.answer; {
	case s.err != nil || a.Cluster == "":
	case c.cluster == "":
		c.emit(Enter{Seed: s.name})
	case c.ready && a.Ready && a.Cluster != c.cluster && a.Cluster != c.met:
		c.met = a.Cluster
		c.emit(Met{Seed: s.name, Cluster: a.Cluster})
	}
}

func (c *Core) advance() {
	for _, s := range c.seeds {
		if !s.asks && c.now >= s.next && c.curious() {
			c.num++
			s.num, s.asked, s.asks = c.num, c.now, true
			c.emit(Ask{Seed: s.name, Num: c.num})
		}
	}
	switch {
	case c.ready:
	case c.cluster != "":
		c.grow()
	case !c.cfg.Again:
		c.choose()
	}
}

// grow decides whether the node's cluster, which is young, is ready or gives way. That it is
// ready is decided by the one who has begun it, and the others hear of it; so that one may
// end its cluster as long as it is young, and nobody else can.
func (c *Core) grow() {
	begun := c.cluster == c.cfg.Self
	here := func(s *seed) bool { return s.answer.From == c.cfg.Self || c.fresh(s) && s.answer.Cluster == c.cluster }
	if c.cfg.Again || begun && c.majority(here) || c.some(func(a Answer) bool { return a.Ready && a.Cluster == c.cluster }) {
		c.ready = true
		c.emit(Ready{})
		return
	}
	for _, s := range c.seeds {
		a := s.answer
		other := a.Cluster != "" && a.Cluster != c.cluster && (a.Ready || begun && a.Cluster < c.cluster)
		gone := a.From.Name() == c.cluster.Name() && a.From != c.cluster // it runs anew
		if s.speaks() && (other || gone) {
			c.over = true
			c.emit(Abandon{})
			return
		}
	}
}

func (c *Core) boot() {
	c.cluster = c.cfg.Self
	c.emit(Boot{})
}

// curious reports whether the node still asks: once it is ready only a seed does, as two
// clusters of the same seeds differ in where their seeds are. A node that has joined again
// does not: it was given all members as seeds.
func (c *Core) curious() bool {
	return !c.ready || !c.cfg.Again && c.some(func(a Answer) bool { return a.From == c.cfg.Self })
}

// fresh reports whether what the seed has said still binds it.
func (c *Core) fresh(s *seed) bool { return c.now-s.at <= c.cfg.AskFor+c.cfg.AskEvery }

// speaks reports whether the seed has answered the last time.
func (s *seed) speaks() bool { return s.heard && s.err == nil }

// some reports whether a seed says what is wanted.
func (c *Core) some(want func(Answer) bool) bool {
	return slices.ContainsFunc(c.seeds, func(s *seed) bool { return s.speaks() && want(s.answer) })
}

// majority reports whether most of the seeds are as is wanted. Two that are one node count as
// one. Without seeds the node is all of them.
func (c *Core) majority(want func(*seed) bool) bool {
	n, all := 0, len(c.seeds)
	var nodes []phalanx.NodeID
	for _, s := range c.seeds {
		switch {
		case !s.speaks():
		case slices.Contains(nodes, s.answer.From):
			all--
		default:
			nodes = append(nodes, s.answer.From)
			if want(s) {
				n++
			}
		}
	}
	return 2*n > all || all == 0
}

// Due returns when a Tick has something to do; false if nothing waits for time to pass.
func (c *Core) Due() (at time.Duration, ok bool) {
	for _, s := range c.seeds {
		if !s.asks && c.curious() && !c.over && (!ok || s.next < at) {
			at, ok = s.next, true
		}
	}
	if !c.ready && !c.over && len(c.seeds) > 0 { // a promise may have ended
		if soon := c.now + c.cfg.AskEvery; !ok || soon < at {
			at, ok = soon, true
		}
	}
	return at, ok
}
