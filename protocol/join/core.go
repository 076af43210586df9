package join

import (
	"hash/fnv"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// Core is how one life of a node joins.
type Core struct {
	cfg     Config
	now     time.Duration
	seeds   []*seed
	members []*seed // of a cluster that lives, which this node was told of or has left, and are asked too until it is ready
	num     uint64
	begun   time.Duration  // when it began
	waited  bool           // ListenFor has passed since then
	enters  bool           // it has asked to be let in
	entered time.Duration  // when it did so first
	into    phalanx.NodeID // the cluster that it has asked
	cluster phalanx.NodeID // of which it is a member, or which it has booted
	size    int            // how many members that has
	share   float64        // of this node, in [0, 1)
	ready   bool
	over    bool

	promise phalanx.NodeID // this node may be it
	chosen  uint64         // the last Ask before that promise
	told    time.Duration  // when the node that has the promise asked last
	met     phalanx.NodeID // the cluster that Met has reported
	out     []Effect
}

// seed is the node's knowledge of a seed.
type seed struct {
	name   string
	num    uint64        // of the last Ask
	asked  time.Duration // when
	asks   bool          // and that is not answered
	next   time.Duration // when it is asked again
	pauses int           // how often there was one
	heard  bool          // an answer, or that there was none, to the last Ask but the present one
	answer Answer
	err    error
	of     uint64        // the Ask to which that is the answer
	at     time.Duration // when that was asked
	spoke  time.Duration // when it has answered last
	came   time.Duration // when it asked this node last
	comes  bool          // it has
	given  bool          // it is one of Config.Members
}

// maxMembers bounds how many members are remembered that have asked this node.
const maxMembers = 3

// EnterFor is how long an incarnation asks to be let in. One that hung while it joined
// may have been removed before it knew that it was a member, and is never let in again.
const EnterFor = 10 * time.Second

// firstPause is the first between two questions to a seed; each next one is twice as long.
const firstPause = 20 * time.Millisecond

// New returns a core that has not begun.
func New(cfg Config) *Core {
	c := &Core{cfg: cfg.withDefaults(), share: share(cfg.Self)}
	for _, s := range cfg.Seeds {
		if !slices.ContainsFunc(c.seeds, func(k *seed) bool { return k.name == s }) {
			c.seeds = append(c.seeds, &seed{name: s})
		}
	}
	for _, m := range cfg.Members {
		if !c.Asks(m) {
			c.members = append(c.members, &seed{name: m, given: true})
		}
	}
	return c
}

// Seeds returns how many there are, with Config.Members.
func (c *Core) Seeds() int {
	n := len(c.seeds)
	for _, m := range c.members {
		if m.given {
			n++
		}
	}
	return n
}

// all returns the seeds and the members.
func (c *Core) all() []*seed {
	if len(c.members) == 0 {
		return c.seeds
	}
	return slices.Concat(c.seeds, c.members)
}

// Asks reports whether the node at an address is asked.
func (c *Core) Asks(at string) bool {
	return slices.ContainsFunc(c.all(), func(s *seed) bool { return s.name == at })
}

// Answer returns this node's answer to a question.
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
		c.begun = c.now
		if len(c.seeds) == 0 && len(c.members) == 0 {
			c.boot()
		}
	case Answered:
		c.answered(ev)
	case Asked:
		c.askedBy(ev)
	case Broken:
		for _, s := range c.seeds {
			s.next = min(s.next, c.now+c.retry())
		}
	case Viewed:
		c.cluster, c.size = ev.Cluster, ev.Members
	}
	c.advance()
	out := c.out
	c.out = nil
	return out
}

func (c *Core) emit(e Effect) { c.out = append(c.out, e) }

// askedBy takes note of a node that asks, and of its cluster if that is another one.
func (c *Core) askedBy(ev Asked) {
	by := ev.By
	if by.From == c.promise {
		c.told = c.now
	}
	for _, s := range c.all() {
		if s.answer.From == by.From || s.name == ev.At {
			s.came, s.comes = c.now, true
		}
	}
	switch {
	case !by.Ready || by.Cluster == "" || by.Cluster == c.cluster:
	case c.cluster == "":
		if !c.Asks(ev.At) && len(c.members) < maxMembers {
			c.members = append(c.members, &seed{name: ev.At, came: c.now, comes: true})
		}
	case c.ready:
		c.meets(ev.At, by.Cluster)
	default:
		c.abandon()
	}
}

// retry returns the time after which a member asks a seed again that does not answer, or is in no
// cluster. The more members there are, the more seldom each asks: all together ask some seven times
// a second until there are 67, and each at another moment.
func (c *Core) retry() time.Duration {
	d := min(max(c.cfg.RetryEvery, time.Duration(c.size)*retryShare), c.cfg.MeetEvery)
	return d/2 + time.Duration(float64(d)*c.share)
}

const retryShare = 150 * time.Millisecond // of each member

// share is a number of [0, 1) that differs from node to node.
func share(n phalanx.NodeID) float64 {
	h := fnv.New32a()
	h.Write([]byte(n))
	return float64(h.Sum32()*2654435769) / (1 << 32) // names that differ in the last character only are far apart
}

func (c *Core) meets(at string, cluster phalanx.NodeID) {
	if cluster != c.met {
		c.met = cluster
		c.emit(Met{At: at, Cluster: cluster})
	}
}

// enter asks to be let in, for as long as that can help. A cluster that is stuck lets nobody in, unless only the seed is cut off from it: the
// node waits for another one before it asks that. Where another one goes on in its place this incarnation, which may be in the stuck
// one by now, gives way to the next.
func (c *Core) enter(by *seed) {
	goesOn := func(o Answer) bool { return o.Cluster != "" && o.Stuck == "" }
	switch a := by.answer; {
	case a.Stuck != "" && (!c.waited || c.some(goesOn)):
		return
	case !c.enters:
		c.enters, c.entered, c.into = true, c.now, a.Cluster
	case c.now-c.entered > EnterFor, a.Cluster != c.into && !c.some(func(o Answer) bool { return o.Cluster == c.into && o.Stuck == "" }):
		c.abandon()
		return
	}
	c.emit(Enter{Seed: by.name})
}

func (c *Core) abandon() {
	c.over = true
	c.emit(Abandon{})
}

func (c *Core) answered(ev Answered) {
	all := c.all()
	i := slices.IndexFunc(all, func(s *seed) bool { return s.name == ev.Seed })
	if i < 0 || all[i].num != ev.Num || !all[i].asks {
		return
	}
	s := all[i]
	s.asks, s.heard, s.answer, s.err, s.of, s.at = false, true, ev.Answer, ev.Err, s.num, s.asked
	s.pauses++
	s.next = c.now + retry.Pauses{First: firstPause, Most: c.cfg.AskEvery}.After(s.pauses)
	a := s.answer
	if c.ready {
		s.next = c.now + c.cfg.MeetEvery
		if s.err != nil || a.Cluster == "" || a.Cluster != c.cluster && !a.Ready {
			s.next = c.now + c.retry() // it may start, and must hear of this cluster before it begins another
		}
	}
	if s.err == nil {
		s.spoke = c.now
	}
	switch {
	case s.err != nil || a.Cluster == "":
	case c.cluster == "":
		c.enter(s)
	case c.ready && a.Ready && a.Cluster != c.cluster:
		c.meets(s.name, a.Cluster)
	}
}

// forget drops the members that have gone, or are members no more.
func (c *Core) forget() {
	c.members = slices.DeleteFunc(c.members, func(m *seed) bool {
		gone := c.now-max(m.came, m.spoke) > c.cfg.PromiseFor || m.speaks() && m.answer.Cluster == ""
		return c.ready || gone && !m.given
	})
}

func (c *Core) advance() {
	if c.over {
		return
	}
	c.forget()
	if !c.waited && c.now-c.begun >= c.cfg.ListenFor {
		c.waited = true
		for _, s := range c.seeds { // the others may have waited as well
			s.next, s.pauses = c.now, 0
		}
	}
	for _, s := range c.all() {
		if !s.asks && c.now >= s.next {
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

// grow decides whether the node's cluster, which is young, is ready or gives way. The node that
// has begun it decides that it is ready, and the others hear of it. So only that node can end
// its cluster, as long as it is young.
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
			c.abandon()
			return
		}
	}
}

func (c *Core) boot() {
	c.cluster = c.cfg.Self
	c.emit(Boot{})
}

// fresh reports whether the seed's last answer still binds it.
func (c *Core) fresh(s *seed) bool { return c.now-s.at <= c.cfg.AskFor+c.cfg.AskEvery }

// speaks reports whether the seed has answered the last time.
func (s *seed) speaks() bool { return s.heard && s.err == nil }

// some reports whether the answer of a seed or a member fulfils want.
func (c *Core) some(want func(Answer) bool) bool {
	return slices.ContainsFunc(c.all(), func(s *seed) bool { return s.speaks() && want(s.answer) })
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
	for _, s := range c.all() {
		if !s.asks && !c.over && (!ok || s.next < at) {
			at, ok = s.next, true
		}
	}
	if !c.ready && !c.over && len(c.seeds) > 0 { // a promise may have ended
		soon := c.now + c.cfg.AskEvery
		if !c.waited {
			soon = min(soon, c.begun+c.cfg.ListenFor)
		}
		if !ok || soon < at {
			at, ok = soon, true
		}
	}
	return at, ok
}
