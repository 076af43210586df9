package ledger

import (
	"errors"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// seek is the search for the leader's node.
type seek struct {
	next  time.Duration // when the next Hello leaves
	asked time.Duration // when the first Hello left that the leader's node has not answered; 0: it has answered
	turn  int           // of the addresses that are asked in turn
	news  int           // of the turn: the addresses that are asked first hear something new
	pause time.Duration // between two rounds, of a node without a folder
	calm  time.Duration // between two Hellos while there is no news
}

// soon has the next Hello leave now, since there is news.
func (c *Core) soon() {
	s := &c.seek
	s.next, s.asked, s.news, s.pause, s.calm = min(s.next, c.now), 0, s.turn, 0, 0
}

// relax returns the pause after a Hello that told no news: longer each time.
func (c *Core) relax() time.Duration {
	c.seek.calm = min(max(c.cfg.HelloEvery, 2*c.seek.calm), c.cfg.HelloMost)
	return c.seek.calm
}

// rarest is how long a node without a folder waits at most before it asks again: there may be no ledger.
const rarest = 10 * time.Second

// atOnce is how many nodes are asked at once where the leader is.
const atOnce = 8

// greet says Hello: to the leader's node, or if there is none that answers, or it is this one, to others in turn.
func (c *Core) greet() {
	if c.now < c.seek.next {
		return
	}
	if at := c.lead.Address; at != "" && at != c.cfg.Address && (c.seek.asked == 0 || c.now-c.seek.asked < 3*c.cfg.HelloEvery) {
		c.seek.next = c.now + c.cfg.HelloEvery
		if c.asksOften() {
			c.seek.next = c.now + c.cfg.SeekEvery
		}
		if c.seek.asked == 0 {
			c.seek.asked = max(c.now, 1)
		}
		c.say(at, Hello{Asks: true})
		return
	}
	c.seek.next = c.now + c.cfg.SeekEvery
	if c.cfg.Disk == 0 {
		c.seek.pause = min(max(c.cfg.SeekEvery, 2*c.seek.pause), rarest)
		c.seek.next = c.now + c.seek.pause
	}
	all := c.candidates()
	if c.began { // the others come by themselves, but for those of another ledger
		c.seek.next = c.now + c.cfg.HelloEvery
		if c.seek.turn-c.seek.news >= len(all) {
			c.seek.next = c.now + c.relax()
		}
	}
	for range min(len(all), atOnce) {
		c.say(all[c.seek.turn%len(all)], Hello{Asks: true})
		c.seek.turn++
	}
}

// asksOften reports whether the answers of the leader's node are wanted soon.
func (c *Core) asksOften() bool { return c.leaving || c.recovered.opened != nil }

// candidates returns the nodes that may know the leader.
func (c *Core) candidates() []string {
	all := slices.Clone(c.cfg.Addresses)
	for _, m := range c.view.Members {
		if m.Keeps {
			all = append(all, m.Address)
		}
	}
	for _, p := range c.book.places {
		all = append(all, p.Address)
	}
	all = append(all, c.lead.Address)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(a string) bool { return a == "" || a == c.cfg.Address })
}

// say sends a Hello, of which the caller gives what is not of this node.
func (c *Core) say(to string, h Hello) { c.emit(Say{To: to, Hello: c.hello(h)}) }

// answer answers a Hello. A node that is in no cluster hears what is proven.
func (c *Core) answer(to Hello, stale uint64) {
	h := c.hello(Hello{Stale: stale})
	h.InCluster = h.InCluster && (to.InCluster || c.proven())
	c.emit(Say{To: to.Address, Hello: h})
}

func (c *Core) hello(h Hello) Hello {
	h.Address, h.Host, h.Node, h.View = c.cfg.Address, c.cfg.Host, c.view.Self, c.view.Number
	h.Ledger, h.Disk, h.Replica = c.cfg.Ledger, c.cfg.Disk, c.id
	h.Opened, h.Run, h.Temporary, h.Failed = c.cfg.Opened, c.cfg.Run, c.cfg.Temporary, c.failed != nil
	h.Lead = c.lead
	s := c.standing()
	h.InCluster, h.Booting, h.Joining, h.Lost, h.Boot = s.InCluster, s.Booting, s.Joining, s.Lost, s.Number
	h.Replicas = c.book.known(c.group.Voters)
	if c.began && c.now-c.since >= c.cfg.SeekEvery { // else it may not know the spare disks yet
		h.Voters, h.Wanted = slices.Clone(c.group.Voters), slices.Clone(c.want)
	}
	return h
}

// heard takes up what another node says of itself.
func (c *Core) heard(h Hello) {
	if h.Address == c.cfg.Address {
		return
	}
	c.make.answered(h)
	c.spoke(h)
	if h.Ledger != 0 && c.ledger() == 0 {
		c.adopt(h)
	}
	if h.Ledger != 0 && h.Ledger != c.ledger() { // what it knows is of another ledger
		if c.ledger() != 0 {
			c.meet(h)
		}
		if h.Asks {
			c.say(h.Address, Hello{}) // it has to know as well, and may be in no view of this node's
		}
		return
	}
	c.mistaken(h)
	c.outdated(ledger.GenerationOf(h.Lead.Term))
	if h.Stale == c.cfg.Run && h.Ledger == c.cfg.Ledger && c.cfg.Disk != 0 {
		c.end(errStale)
	}
	stale := uint64(0)
	if h.Ledger != 0 && h.Disk != 0 && !c.note(h) {
		stale = h.Run
	}
	if h.Ledger != 0 {
		if h.Replica != 0 && stale == 0 && diskOf(h.Replica) == h.Disk {
			c.book.put(h.Replica, h.Address)
		}
		c.learn(h)
	}
	c.forBoot(ledger.Heard{Address: h.Address, Standing: h.standing()})
	c.follow(h)
	if h.Asks {
		if !h.InCluster {
			c.prove()
		}
		c.answer(h, stale)
	}
}

// standing returns what a node says of its cluster. One that knows no ledger yet is not to be joined: it may be
// a member of any cluster, and is still the process that it was.
func (h Hello) standing() ledger.Standing {
	s := ledger.Standing{InCluster: h.InCluster, Booting: h.Booting, Joining: h.Joining, Lost: h.Lost, Number: h.Boot}
	if h.Ledger == 0 && s != (ledger.Standing{}) {
		return ledger.Standing{Joining: true, Number: 1}
	}
	return s
}

// follow has a node that keeps no disk of the ledger leave a view that most of the disks have given up. It does not
// begin a cluster anew, so it has no Boot: it hears of the next cluster from the node where the ledger's leader was, and is.
func (c *Core) follow(h Hello) {
	if c.boot.core != nil || h.Ledger == 0 || c.view.Number == 0 || c.view.Self == c.boot.was.Self {
		return
	}
	if c.boot.follows == 0 && c.view.has(h.Address) {
		c.boot.follows = h.Ledger
	}
	if h.Ledger == c.boot.follows && h.InCluster && h.Boot > c.view.Restarts+1 {
		c.boot.was = c.view
		c.emit(Enter{Address: h.Address})
	}
}

// learn takes up what a node of the same ledger knows.
func (c *Core) learn(h Hello) {
	sure := h.Lead.Address == h.Address && h.Lead.Replica != 0 && h.Lead.Term >= c.lead.Term
	for _, p := range h.Replicas {
		c.book.hint(p, sure && p.Replica != c.id)
	}
	c.led(h.Lead, false)
	if sure && h.Lead.Replica == c.lead.Replica && !h.Asks {
		c.seek.asked = 0
		if !c.asksOften() {
			c.seek.next = c.now + c.relax()
		}
	}
	if sure && h.Lead.Replica == c.lead.Replica && len(h.Wanted) > 0 {
		if !c.began {
			c.forReplica(ledger.Want{Voters: slices.Clone(h.Wanted), Of: slices.Clone(h.Voters)}) // when it leads it goes on with that, not with what it wanted once
		}
		c.answered, c.voters, c.wanted = h.View, h.Voters, h.Wanted
	}
}

// meet refuses a node of another ledger, and tells the host once.
func (c *Core) meet(h Hello) {
	if !slices.Contains(c.refuse, h.Address) && len(c.refuse) < MaxPlaces {
		c.refuse = append(c.refuse, h.Address)
		c.emit(Met{Address: h.Address, Node: h.Node, Ledger: h.Ledger})
	}
	if h.View > 0 && h.Replica != 0 && !h.Failed && !slices.Contains(c.theirs, h.Address) && len(c.theirs) < MaxPlaces {
		c.theirs = append(c.theirs, h.Address)
		c.yield()
	}
}

// yield ends the own replica if the node comes with it into a cluster that has another ledger. Else there would be
// two controllers, and the executors would follow the one whose epoch is greater. Of two members the one that joined
// first keeps its ledger.
func (c *Core) yield() {
	if c.replica == nil {
		return
	}
	joined := func(address string) int {
		return slices.IndexFunc(c.view.Members, func(m Member) bool { return m.Address == address })
	}
	for _, at := range c.theirs {
		first := slices.Contains(c.cfg.Seeds, at)
		if c.view.Number > 0 {
			i := joined(at)
			first = i >= 0 && i < joined(c.cfg.Address)
		}
		if first {
			c.end(errOther)
			return
		}
	}
}

var errOther = errors.New("ledger: this folder belongs to another ledger than that of the cluster. Start the node with an empty folder, or in the cluster of this one")

// led takes up who leads. The own replica knows that of its term; other nodes may know a later one.
func (c *Core) led(l Lead, own bool) {
	if !own && (l.Replica == 0 || l.Term < c.lead.Term || l.Term == c.lead.Term && c.lead.Address != "" && l.Replica == c.lead.Replica && l.Address != c.book.of(l.Replica)) {
		return
	}
	if l.Term < c.lead.Term {
		return
	}
	if l.Replica == c.id && c.id != 0 {
		if l.Address = c.cfg.Address; !own {
			return // others may know of a tenure of an earlier opening
		}
	} else if l.Address == "" {
		l.Address = c.book.of(l.Replica)
	}
	if l == c.lead {
		return
	}
	if l.Address != c.lead.Address {
		c.soon()
	}
	c.lead = l
	c.emit(Leads{Lead: l})
}
