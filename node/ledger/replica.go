package ledger

import (
	"fmt"

	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// opened takes up what the disk holds.
func (c *Core) opened(ev Opened) {
	c.make = creation{}
	if c.cfg.Disk == 0 || c.replica != nil || c.failed != nil {
		return
	}
	if c.askFirst(ev) {
		return
	}
	cfg := c.cfg.Replica
	cfg.Ledger, cfg.Opened, cfg.Run = ev.Ledger, c.cfg.Opened, c.cfg.Run
	replica, err := ledger.New(cfg, ev.State)
	c.cfg.Ledger, c.id = ev.Ledger, ev.State.Replica
	if err != nil {
		c.end(fmt.Errorf("the folder is corrupt: remove it and start with an empty one: %w", err))
		return
	}
	c.replica = replica
	c.lead.Term = max(c.lead.Term, ledger.FirstTerm(replica.Generation())) // others may hear of it by that
	if c.outdated(ledger.GenerationOf(c.lead.Term)); c.failed != nil {
		return
	}
	c.book.put(c.id, c.cfg.Address)
	c.forReplica(ledger.Tick{})
	c.soon()
}

// end has the replica end. The leader hears of it.
func (c *Core) end(err error) {
	if c.failed != nil {
		return
	}
	c.replica, c.failed, c.began, c.serve.epoch, c.recovered.opened = nil, err, false, 0, nil
	c.bootEndsTenure()
	c.emit(Halted{Err: err})
	c.soon()
}

// letter takes a message of another replica.
func (c *Core) letter(ev Letter) {
	if c.replica == nil || ev.To != c.id || ev.From == c.id {
		return
	}
	c.book.put(ev.From, ev.Address)
	c.sawReplica(ev.From)
	c.forReplica(ledger.Receive{From: ev.From, Data: ev.Data})
}

// forReplica gives the replica an event, and carries out what it decides about the node.
func (c *Core) forReplica(ev ledger.Event) {
	if c.replica == nil {
		c.decline(ev)
		return
	}
	for _, e := range c.replica.Step(c.now, ev) {
		c.fromReplica(e)
	}
}

// decline answers an event for a replica that is not there.
func (c *Core) decline(ev ledger.Event) {
	switch ev := ev.(type) {
	case ledger.Append:
		c.emit(FromReplica{ledger.Refused{Epoch: ev.Epoch, Number: ev.Number, Reason: ledger.Fenced}})
	case ledger.Read:
		c.emit(FromReplica{ledger.NotReadable(ev)})
	case ledger.SnapshotArrived:
		c.emit(FromReplica{ledger.DropStream{Stream: ev.Stream}})
	}
}

func (c *Core) fromReplica(e ledger.Effect) {
	switch e := e.(type) {
	case ledger.Send:
		if at := c.book.of(e.To); at != "" {
			c.emit(Post{Address: at, From: c.id, To: e.To, Data: e.Data})
		}
	case ledger.SendSnapshot:
		c.emit(SendSnapshot{Address: c.book.of(e.To), From: c.id, SendSnapshot: e})
	case ledger.Lead:
		c.led(Lead{Term: e.Term, Replica: e.Replica, Address: c.book.of(e.Replica)}, true)
	case ledger.Group:
		c.grouped(e)
	case ledger.Halted:
		c.end(e.Err)
	case ledger.TenureBegan:
		c.beginTenure()
		c.boot.epoch, c.boot.known = e.Epoch, false
		c.serve.epoch, c.serve.since = e.Epoch, 0
		c.emit(FromReplica{e})
		c.emit(ReadRecord(e))
	case ledger.TenureEnded:
		c.began, c.serve.epoch = false, 0
		c.bootEndsTenure()
		c.emit(FromReplica{e})
	default:
		c.emit(FromReplica{e})
	}
}
