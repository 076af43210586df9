package ledger

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// boot hosts the protocol's Boot, which decides who begins a cluster anew after a restart of everything. A view
// whose Restarts is n has the number n+1 there, as 0 is that of a node that was in none.
type boot struct {
	core    *ledger.Boot // nil: the node has no folder, or one that belongs to no ledger yet
	follows uint64       // without core: the ledger of the nodes of the view; 0: not known yet
	was     Viewed       // of the incarnation that ends: it does not count for this core
	held    bool
	number  uint64
	alone   bool          // it waits for nobody
	record  ledger.Record // of this tenure
	known   bool          // the record is
	epoch   uint64
	again   time.Duration // when the core hears again that it leads, after a Record that has failed; 0: it has
}

// atOnceAlone is BootConfig.AloneAfter of a node that starts and knows no other one.
const atOnceAlone = time.Millisecond

func (c *Core) newBoot() {
	cfg := c.cfg.Boot
	cfg.Node = c.cfg.Name
	cfg.Addresses = slices.DeleteFunc(c.candidates(), func(a string) bool { return a == c.cfg.Address })
	if c.boot.alone = len(cfg.Addresses) == 0 && c.view.Number == 0; c.boot.alone {
		cfg.AloneAfter = atOnceAlone
	}
	c.boot.core = ledger.NewBoot(cfg)
	c.boot.held, c.boot.number = false, 0
	c.forBoot(ledger.BootTick{})
	c.bootLeads()
}

// bootLeads tells the Boot what the ledger has recorded, if the own replica leads and that is known.
func (c *Core) bootLeads() {
	c.boot.again = 0
	if c.boot.known {
		c.forBoot(ledger.Leads{Record: c.boot.record})
	}
}

func (c *Core) bootDue() (time.Duration, bool) {
	if c.boot.core == nil {
		return 0, false
	}
	due, ok := c.boot.core.Due()
	if c.boot.again > 0 {
		due, ok = min(due, c.boot.again), true
	}
	return due, ok
}

// tickBoot has the Boot hear of the time and of the own lease.
func (c *Core) tickBoot() {
	b := &c.boot
	if b.core == nil {
		if c.cfg.Disk == 0 || c.cfg.Ledger == 0 {
			return
		}
		c.newBoot()
	}
	number := uint64(0)
	if c.member() {
		number = c.view.Restarts + 1
	}
	if number > 0 && b.alone {
		c.newBoot() // in a cluster it has to wait for a lease that comes late
	}
	if held := c.inCluster(); held != b.held || number != b.number {
		if b.held && !held {
			c.forBoot(ledger.Known{Addresses: c.candidates()})
		}
		b.held, b.number = held, number
		c.forBoot(ledger.Lease{Held: held, Number: number})
	}
	if c.viewLost() {
		c.forBoot(ledger.ViewLost{})
	}
	if b.again > 0 && b.again <= c.now {
		c.bootLeads()
	}
	if at, ok := b.core.Due(); ok && at <= c.now {
		c.forBoot(ledger.BootTick{})
	}
}

// viewLost reports whether the processes of so many voters of the own view have ended that the others are no majority.
func (c *Core) viewLost() bool {
	if c.boot.number == 0 || c.boot.held {
		return false
	}
	voters, gone := 0, 0
	for _, m := range c.view.Members {
		if m.Votes {
			voters++
		}
		if m.Votes && m.Node != c.view.Self && c.boot.core.Ended(m.Address) {
			gone++
		}
	}
	return voters > 0 && 2*(voters-gone) <= voters
}

// standing returns what the node says of its cluster.
func (c *Core) standing() ledger.Standing {
	if c.boot.core == nil {
		if c.view.Number == 0 {
			return ledger.Standing{}
		}
		return ledger.Standing{InCluster: c.inCluster(), Number: c.view.Restarts + 1}
	}
	return c.boot.core.Standing()
}

func (c *Core) forBoot(ev ledger.BootEvent) {
	if c.boot.core == nil {
		return
	}
	for _, e := range c.boot.core.Step(c.now, ev) {
		c.fromBoot(e)
	}
}

func (c *Core) fromBoot(e ledger.BootEffect) {
	switch e := e.(type) {
	case ledger.Ask:
		if c.boot.held && c.view.has(e.Address) {
			return // a node with a lease hears of members that go: then it asks them
		}
		c.say(e.Address, Hello{Asks: true})
	case ledger.Join:
		if c.boot.number == 0 { // a member of a cluster of that number is in that one
			c.emit(Enter{Address: e.Address})
		}
	case ledger.EndIncarnation:
		c.emit(Enter{Address: e.Address})
		c.anew()
	case ledger.RecordBoot:
		r := e.Record
		r.Address = c.cfg.Address
		c.boot.record = r
		c.emit(Record{Epoch: c.boot.epoch, Record: r})
	case ledger.BootView:
		c.emit(Begin{Restarts: e.Number - 1})
		if c.boot.number > 0 {
			c.anew()
		}
	}
}

// anew begins a Boot for the node's next incarnation.
func (c *Core) anew() {
	c.boot.was = c.view
	c.held = held{}
	c.newBoot()
}

// recorded takes up the ledger's record as a tenure begins, or the end of a Record.
func (c *Core) recorded(ev Recorded) {
	if ev.Epoch != c.boot.epoch || !c.began {
		return
	}
	if ev.Failed {
		c.forBoot(ledger.LeadsNoMore{})
		c.boot.again = c.now + c.cfg.SeekEvery
		return
	}
	if !c.boot.known {
		c.boot.record, c.boot.known = ev.Record, true
		if ev.Record.Number == 0 { // of the cluster in which the ledger was created; nobody has to be asked about that
			c.boot.record = ledger.Record{Number: 1, Node: c.cfg.Name}
		}
		c.bootLeads()
		return
	}
	c.forBoot(ledger.Recorded{Number: ev.Record.Number})
}

func (c *Core) bootEndsTenure() {
	if c.boot.known {
		c.forBoot(ledger.LeadsNoMore{})
	}
	c.boot.known, c.boot.again = false, 0
}
