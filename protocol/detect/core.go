package detect

import (
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Core is one node's judgement of the others.
type Core struct {
	cfg    Config
	now    time.Duration
	ticked time.Duration
	due    time.Duration // when the next tick is expected; 0: there is no other member
	owed   time.Duration // when an answer will be overdue, as of the last tick; 0: none is owed
	lag    time.Duration // how late own ticks lately came; fades
	out    []Effect

	behind time.Duration // how much later than due something came since the last tick

	members []phalanx.NodeID // of the view, in its order; without Self: none of this is done
	voters  []phalanx.NodeID
	streams []phalanx.NodeID
	peers   map[phalanx.NodeID]*peer // all members but Self
}

// peer is this node's knowledge of another member.
type peer struct {
	watched  bool
	look     time.Duration // until when it is watched because a connection broke, or an answer was overdue
	beat     time.Duration // the last heartbeat to it, or from it
	asked    time.Duration // the first heartbeat that has not come back; 0: all have
	slow     time.Duration // how long round trips lately took at most; fades
	heard    time.Duration // the last round trip or heartbeat of its own, or when this node began to listen for one
	cause    Cause         // why this node suspects it
	told     time.Duration // when the voters were told so
	again    time.Duration // a connection broke: when to try the next; 0: none did
	proposed time.Duration // when its removal was; never: it was not
	dead     bool          // it was proposed as dead

	accusers map[phalanx.NodeID]accusation    // of other members
	heardOf  map[phalanx.NodeID]time.Duration // when they have told last, by their clocks
}

type accusation struct {
	cause Cause
	at    time.Duration
}

const never time.Duration = -1 << 62

// New returns a Core that knows of no view. It panics if cfg is not valid.
func New(cfg Config) *Core {
	if err := cfg.Validate(); err != nil {
		panic(err)
	}
	return &Core{cfg: cfg.withDefaults(), peers: map[phalanx.NodeID]*peer{}}
}

// Suspects returns the nodes that this one suspects, in the order of the view.
func (c *Core) Suspects() []phalanx.NodeID {
	var out []phalanx.NodeID
	for _, id := range c.members {
		if p := c.peers[id]; p != nil && p.cause != Trusted {
			out = append(out, id)
		}
	}
	return out
}

// Watches reports whether this node sends heartbeats to a member.
func (c *Core) Watches(id phalanx.NodeID) bool {
	p := c.peers[id]
	return p != nil && p.watched
}

// Step applies ev and returns what the host must do, in that order.
func (c *Core) Step(ev Event) []Effect {
	c.now = max(c.now, ev.at())
	if c.due > 0 { // whatever comes first tells a node that it hung: it may plan another tick, which is not late
		c.behind = max(c.behind, min(c.now-c.due, c.cfg.SilentAfter))
	}
	switch ev := ev.(type) {
	case Changed:
		c.changed(ev)
	case Tick:
		c.tick(ev)
	case Echoed:
		c.echoed(ev)
	case Heard:
		c.hear(ev)
	case Broken:
		c.broken(ev.Node)
	case Refuses:
		if p := c.peers[ev.Node]; p != nil {
			c.suspect(ev.Node, p, Refused)
		}
	case Accused:
		c.accused(ev)
	}
	out := c.out
	c.out = nil
	return out
}

// Due returns when the core has to hear of the time again, at the latest; every Step
// can make that earlier or later. It is not ok while there is no peer to watch.
func (c *Core) Due() (at time.Duration, ok bool) { return c.due, c.due != 0 }

func (c *Core) emit(e Effect) { c.out = append(c.out, e) }

func (c *Core) changed(ev Changed) {
	c.members, c.voters = slices.Clone(ev.Members), slices.Clone(ev.Voters)
	member := slices.Contains(c.members, c.cfg.Self)
	for _, id := range c.members {
		if id != c.cfg.Self && c.peers[id] == nil && member {
			c.peers[id] = &peer{heard: c.now, beat: never, told: never, proposed: never, accusers: map[phalanx.NodeID]accusation{}, heardOf: map[phalanx.NodeID]time.Duration{}}
		}
	}
	for _, id := range sorted(c.peers) {
		if !member || !slices.Contains(c.members, id) {
			if c.peers[id].watched {
				c.emit(Rest{Node: id})
			}
			delete(c.peers, id)
		}
	}
	left := func(by phalanx.NodeID) bool { return !slices.Contains(c.members, by) }
	for _, p := range c.peers {
		maps.DeleteFunc(p.accusers, func(by phalanx.NodeID, _ accusation) bool { return left(by) })
		maps.DeleteFunc(p.heardOf, func(by phalanx.NodeID, _ time.Duration) bool { return left(by) })
	}
	c.watch()
	c.judge() // there may be fewer members to convince
	c.plan()
}

// tick sends heartbeats and looks for silence.
func (c *Core) tick(ev Tick) {
	c.ticked = c.now
	c.streams, c.owed = slices.Clone(ev.Streams), ev.Owed
	behind := c.behind
	c.behind = 0
	c.lag = max(behind, fade(c.lag))
	late := behind > c.cfg.LateAfter
	for _, id := range c.members {
		p := c.peers[id]
		if p == nil {
			continue
		}
		if late && p.cause == Trusted {
			p.heard, p.asked = c.now, 0
		}
		if p.watched && p.cause == Trusted && c.now-p.heard >= c.patience(p) {
			c.suspect(id, p, Silent)
		}
		if p.cause != Trusted && c.now-p.told >= c.cfg.LookEvery {
			c.tell(id, p)
		}
		for by, a := range p.accusers {
			if c.now-a.at > c.cfg.ForgetAfter {
				delete(p.accusers, by)
			}
		}
	}
	for _, id := range ev.Overdue {
		if p := c.peers[id]; p != nil {
			c.look(p)
		}
	}
	c.watch()
	for _, id := range c.members { // all at once, so that a node wakes once for all of them
		if p := c.peers[id]; p != nil && p.watched && (c.now-p.beat >= c.early(id, p) || p.again != 0 && c.now >= p.again) {
			c.beat(id, p)
		}
	}
	c.judge()
	c.plan()
}

// beat asks for a heartbeat.
func (c *Core) beat(id phalanx.NodeID, p *peer) {
	p.beat, p.again = c.now, 0
	if p.asked == 0 {
		p.asked = c.now
	}
	c.emit(Beat{Node: id})
}

// patience returns for how long p may be silent. Where round trips lately took
// long, or this node's own ticks came late, machines are busy, and silence means
// less.
func (c *Core) patience(p *peer) time.Duration {
	return min(c.cfg.SilentAfter+busyFactor*max(p.slow, c.lag), c.cfg.PatienceMax)
}

// Late returns by how much longer than SilentAfter a peer that is trusted may now be
// silent, because machines are busy.
func (c *Core) Late() time.Duration {
	late := time.Duration(0)
	for _, p := range c.peers {
		if p.watched && p.cause == Trusted {
			late = max(late, c.patience(p)-c.cfg.SilentAfter)
		}
	}
	return late
}

// busyFactor is how many times longer than it lately did a round trip may take.
const busyFactor = 8

// fade lets a worst case be forgotten, by half in some ten heartbeats.
func fade(d time.Duration) time.Duration { return d - d/16 }

// plan says when the next tick is due.
func (c *Core) plan() {
	if len(c.peers) == 0 {
		c.due = 0
		return
	}
	c.due = c.ticked + c.pace()
	if c.owed > c.ticked {
		c.due = min(c.due, c.owed)
	}
	for _, p := range c.peers {
		if !p.watched {
			continue
		}
		c.due = min(c.due, max(p.beat, c.now-c.latest(p))+c.latest(p))
		if p.again != 0 {
			c.due = min(c.due, p.again)
		}
		if p.cause == Trusted {
			c.due = min(c.due, p.heard+c.patience(p))
		} else {
			c.due = min(c.due, p.told+c.cfg.LookEvery)
		}
	}
	c.due = max(c.due, c.now, 1)
}

// echoed notes a round trip.
func (c *Core) echoed(ev Echoed) {
	p := c.peers[ev.Node]
	if p == nil {
		return
	}
	if p.asked != 0 {
		p.slow = max(ev.Now-p.asked, fade(p.slow))
	}
	p.heard, p.again, p.asked = max(p.heard, ev.Now), 0, 0
	if p.cause == Trusted {
		return
	}
	p.cause = Trusted
	c.emit(Trust{Node: ev.Node})
	c.tell(ev.Node, p)
}

// broken looks at once whether the process is still there.
func (c *Core) broken(id phalanx.NodeID) {
	p := c.peers[id]
	if p == nil || p.cause == Refused {
		return
	}
	c.look(p)
	c.watch()
	if c.now-p.beat >= c.cfg.LookAgain {
		c.beat(id, p)
	} else {
		p.again = p.beat + c.cfg.LookAgain
	}
	c.plan()
}

// look has p watched for so long that silence would be noticed.
func (c *Core) look(p *peer) { p.look = c.now + c.cfg.SilentAfter + c.patience(p) }

func (c *Core) suspect(id phalanx.NodeID, p *peer, cause Cause) {
	if cause <= p.cause {
		return
	}
	p.cause = cause
	c.emit(Suspect{Node: id, Cause: cause, Silence: c.now - p.heard})
	c.tell(id, p)
	c.judge()
}

// tell sends all voters this node's judgement of a peer.
func (c *Core) tell(id phalanx.NodeID, p *peer) {
	p.told = c.now
	for _, v := range c.voters {
		if v != c.cfg.Self && v != id {
			c.emit(Accuse{To: v, Node: id, Cause: p.cause, Told: c.now})
		}
	}
}

func sorted(m map[phalanx.NodeID]*peer) []phalanx.NodeID {
	ids := make([]phalanx.NodeID, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
