package ledger

import (
	"errors"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// Core is a node's part in the ledger.
type Core struct {
	cfg       Config
	now       time.Duration
	awake     bool
	out       []Effect
	view      Viewed
	book      book
	seek      seek
	make      creation
	boot      boot
	held      held
	refuse    []string // addresses of nodes of other ledgers, of which the host was told
	theirs    []string // of them, those of members with replicas
	serve     serve
	recovered recovered

	replica *ledger.Core // nil: none, or it has ended
	id      uint64       // of the replica, also after its end
	failed  error        // why it has ended

	lead    Lead
	group   ledger.Group  // of a tenure that goes on
	began   bool          // the own replica's tenure goes on
	since   time.Duration // it does
	settled []uint64      // the voters before the change that is under way; nil: not known yet
	disks   map[uint64]*disk
	want    []uint64      // the last Want of this tenure; nil: none
	chose   time.Duration // when that was said
	looks   time.Duration // when the leader looks again which disks there are

	leaving  bool
	leaves   time.Duration // when that began
	keeps    bool          // the host was told that the replica stays behind
	answered uint64        // the number of the view of which the leader's last answer was
	voters   []uint64
	wanted   []uint64 // both as the leader said them
	remains  Remains
}

// New returns the Core of a node.
func New(cfg Config) (*Core, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Core{cfg: cfg.withDefaults(), disks: map[uint64]*disk{}}
	c.lead.Term = ledger.FirstTerm(cfg.Generation)
	return c, nil
}

// Step applies ev and returns what the host must do, in that order. Now is the time since some start, by
// the host's clock.
func (c *Core) Step(now time.Duration, ev Event) []Effect {
	c.now = max(c.now, now)
	if !c.awake {
		c.awake = true
		c.seek.next = c.now
	}
	switch ev := ev.(type) {
	case Tick:
	case Viewed:
		c.viewed(ev)
	case Heard:
		c.heard(ev.Hello)
	case Letter:
		c.letter(ev)
	case Opened:
		c.opened(ev)
	case Failed:
		c.end(ev.Err)
	case ForReplica:
		c.forReplica(ev.Event)
	case Leased:
		c.leased(ev.Until)
	case NoLease:
		c.noLease()
	case Recorded:
		c.recorded(ev)
	case NotListening:
		c.forBoot(ledger.NotListening(ev))
	case Leave:
		c.leave(true)
	}
	c.tick()
	out := c.out
	c.out = nil
	return out
}

func (c *Core) emit(e Effect) { c.out = append(c.out, e) }

// tick does what the time asks for.
func (c *Core) tick() {
	if at, ok := c.replicaDue(); ok && at <= c.now {
		c.forReplica(ledger.Tick{})
	}
	c.tickRecovered()
	c.tickHeld()
	c.tickBoot()
	c.tickServe()
	c.create()
	c.greet()
	c.choose()
	c.handOver()
	c.sayRemains()
}

// Due returns when the Core has to hear of the time again, at the latest.
func (c *Core) Due() (time.Duration, bool) {
	due := c.seek.next
	if at, ok := c.replicaDue(); ok {
		due = min(due, at)
	}
	if at, ok := c.bootDue(); ok {
		due = min(due, at)
	}
	if at, ok := c.heldDue(); ok {
		due = min(due, at)
	}
	if at, ok := c.serveDue(); ok {
		due = min(due, at)
	}
	if at, ok := c.recoveredDue(); ok {
		due = min(due, at)
	}
	return due, true
}

func (c *Core) replicaDue() (time.Duration, bool) {
	if c.replica == nil {
		return 0, false
	}
	return c.replica.Due()
}

// viewed takes up a view. A replica whose node has left is not waited for.
func (c *Core) viewed(v Viewed) {
	old := c.view
	c.view = v
	for _, m := range old.Members {
		if !v.has(m.Address) {
			for _, id := range c.book.at(m.Address) {
				c.forReplica(ledger.Left{Replica: id})
			}
		}
	}
	if m, ok := v.self(); ok {
		c.leave(m.Leaving)
	}
	if c.began && old.Self != "" && v.Self != old.Self { // executors know the controller by its incarnation: what they tell the old one is lost
		c.forReplica(ledger.GiveUp{Epoch: c.boot.epoch})
	}
	c.remember()
	c.looks = c.now
	c.forgetSpoken()
	c.yield()
	if v.Number != old.Number && !c.began {
		c.soon() // the leader hears soon of a disk that comes or leaves
	}
}

func (v Viewed) has(address string) bool {
	return slices.ContainsFunc(v.Members, func(m Member) bool { return m.Address == address })
}

func (v Viewed) self() (Member, bool) {
	for _, m := range v.Members {
		if m.Node == v.Self {
			return m, true
		}
	}
	return Member{}, false
}

// member returns the member at an address.
func (v Viewed) member(address string) (Member, bool) {
	for _, m := range v.Members {
		if m.Address == address {
			return m, true
		}
	}
	return Member{}, false
}

// remember has the folder remember where the other members are that keep a disk, or can.
func (c *Core) remember() {
	if c.cfg.Disk == 0 {
		return
	}
	var all []string
	for _, m := range c.view.Members {
		if m.Keeps && m.Address != c.cfg.Address && len(all) < maxRemembered {
			all = append(all, m.Address)
		}
	}
	for i := len(c.book.places) - 1; i >= 0 && len(all) > 0; i-- { // disks of the ledger that are away
		if p := c.book.places[i].Address; p != c.cfg.Address && !slices.Contains(all, p) && len(all) < maxRemembered {
			all = append(all, p)
		}
	}
	if len(all) > 0 && !slices.Equal(all, c.book.remembered) {
		c.book.remembered = all
		c.emit(Remember{Addresses: slices.Clone(all)})
	}
}

// maxRemembered bounds how many addresses a folder remembers.
const maxRemembered = 64

var errStale = errors.New("ledger: this folder is open elsewhere, or was: it was copied or restored. Remove it and start with an empty one")
