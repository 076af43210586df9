package ledger

import (
	"errors"
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// A ledger that was recovered by hand has a later generation (protocol/ledger). Each node tells by the term of the leader that it
// knows which generation it has heard of. A replica that has something of an earlier one ends, for good: it may have what the recovered
// ledger lacks, and would lead with others like it. The host has the folder remember that.
//
// Somebody may recover a ledger by mistake: most of its disks may be there, on the other side of a broken link. So a disk
// that was just recovered asks the other nodes first, before its replica begins and tells them of the new generation. If one of them
// leads the earlier one, its disks go on, and the replica ends that was recovered.
type recovered struct {
	opened *Opened       // waits until others had the time to answer; nil: none
	until  time.Duration // then it begins
	heard  bool          // they had that time
	led    time.Duration // when a node first said that it leads the earlier generation; 0: none has
}

// ledFor is how long a node has to lead the earlier generation, as it says: one message may have come late, from a process that is gone.
const ledFor = time.Second

// askFirst holds back a replica that was just recovered, and reports whether it does.
func (c *Core) askFirst(ev Opened) bool {
	r := &c.recovered
	if r.heard || !ledger.Recovered(ev.State) {
		return false
	}
	if r.opened == nil {
		r.opened, r.until = &ev, c.now+silentFor
	}
	return true
}

// tickRecovered has a replica begin that was recovered, when nobody has said that it leads the earlier generation.
func (c *Core) tickRecovered() {
	if r := &c.recovered; r.opened != nil && c.now >= r.until {
		ev := *r.opened
		r.opened, r.heard = nil, true
		c.opened(ev)
	}
}

func (c *Core) recoveredDue() (time.Duration, bool) {
	return c.recovered.until, c.recovered.opened != nil
}

// mistaken ends a replica that was recovered, if a node leads the disks of the generation before.
func (c *Core) mistaken(h Hello) {
	r := &c.recovered
	leads := h.Lead.Replica != 0 && h.Lead.Replica == h.Replica && len(h.Voters) > 0
	if r.opened == nil || !leads || ledger.GenerationOf(h.Lead.Term) >= ledger.GenerationOf(r.opened.State.Hard.GetTerm()) {
		return
	}
	if r.led == 0 {
		r.led = max(c.now, 1)
	}
	if c.now-r.led < ledFor {
		return
	}
	r.opened = nil
	c.end(fmt.Errorf("ledger: this disk was recovered although most of the others are there: the node at %s leads them. The ledger goes on without this disk: "+
		"start its node with an empty folder", h.Address))
}

// outdated ends a replica of an earlier generation than one of which somebody knows.
func (c *Core) outdated(generation uint64) {
	if c.replica == nil || c.replica.Empty() || generation <= c.replica.Generation() {
		return
	}
	c.emit(Outdated{Generation: generation})
	c.end(errOutdated)
}

var errOutdated = errors.New("ledger: the ledger was recovered without this disk, and goes on from what another one had. What only this disk has of it does not count any more. " +
	"Keep a copy of the folder if you may need that, and start the node with an empty one")
