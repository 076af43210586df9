package ledger

import (
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/tracker"
)

// leading is the state that only the leader of a term has.
//
// Its tenure begins when the disk has the rows of the first entry of the term, before which
// there are all entries that were ever committed. The tenure ends with the leadership, or
// before: after one proposal that raft refused nothing later is proposed, since what follows
// would leave a gap. A leader without a tenure transfers the leadership, or drops it.
type leading struct {
	term    uint64
	beat    time.Duration // when raft was last ticked
	stirred time.Duration // when something was last asked of this leader
	contact map[uint64]time.Duration
	first   uint64 // the first entry of the term that is applied; 0: none is
	began   bool   // the tenure
	ended   bool   // the tenure, for ever
	appends appends
	reads   reads
	rounds  uint64 // how often raft asked its voters for the sake of reads
	streams map[uint64]uint64
	group   Group // the last one that was said

	proposed uint64 // the last entry that may change the replicas
	settles  uint64 // when it is committed, so is the last change, as most voters then know
	handing  bool   // the leadership is being transferred
	since    time.Duration
}

func (c *Core) startLeading(term uint64) {
	c.election.on, c.asleep = false, false
	c.lead = &leading{
		term: term, beat: c.now, stirred: c.now, contact: map[uint64]time.Duration{}, streams: map[uint64]uint64{},
		proposed: c.log.end(), settles: c.log.end(), // the first entry of the term
	}
	for _, id := range c.voters() {
		c.lead.contact[id] = c.now // they have just elected this one
	}
}

// stopLeading answers all that waits for this leader.
func (c *Core) stopLeading() {
	if c.lead == nil {
		return
	}
	c.endTenure()
	c.endReads()
	c.lead, c.asleep = nil, false
}

// endTenure refuses what is not committed. Some of it may be yet.
func (c *Core) endTenure() {
	l := c.lead
	if l.ended {
		return
	}
	l.ended = true
	c.stalled(false)
	for _, w := range l.appends.all() {
		c.emit(Refused{Epoch: l.term, Number: w.number, Reason: Fenced})
	}
	l.appends = appends{}
	c.endReads()
	if l.began {
		c.emit(TenureEnded{Epoch: l.term})
	}
}

// serves reports whether epoch is the tenure of this replica, which has begun and not ended.
func (c *Core) serves(epoch uint64) bool {
	return c.lead != nil && c.lead.term == epoch && c.lead.began && !c.lead.ended
}

// tickLeader does what the time asks of a leader.
func (c *Core) tickLeader() {
	l := c.lead
	if c.now-l.beat >= c.beatEvery() {
		c.restOrRouse()
		l.beat = c.now
		c.node.Tick() // may step down, if most voters were silent
	}
	if at, ok := l.appends.oldest(); ok && c.now-at >= c.cfg.LateAfter {
		c.stalled(true)
	}
	switch {
	case l.handing && c.now-l.since >= c.cfg.HandOverFor:
		c.drop()
	case l.handing || c.alone():
		if l.ended && c.alone() {
			c.drop()
		}
	case l.ended:
		c.handOver("its tenure has ended")
	case c.late():
		c.handOver("its disk is late")
	}
}

// handOver transfers the leadership to the voter that has most of the log, among those that were
// heard lately: to a wanted one, if there is one, and only to one of these if any are given. If that takes
// longer than Config.HandOverFor, this replica leads no more.
func (c *Core) handOver(cause string, only ...uint64) {
	l := c.lead
	if l.handing || c.alone() {
		return
	}
	to, match, wanted := uint64(0), uint64(0), false
	c.node.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) {
		if id == c.id || !c.stays(id) || !c.recent(id) || len(only) > 0 && !slices.Contains(only, id) {
			return
		}
		w := c.wants(id) && p.Match+near >= c.log.end()
		if to == 0 || w && !wanted || w == wanted && p.Match > match {
			to, match, wanted = id, p.Match, w
		}
	})
	l.handing, l.since = true, c.now
	c.emit(Transfers{To: to, Cause: cause})
	if to != 0 {
		c.node.TransferLeader(to)
	}
}

// recent reports whether another replica was heard within Config.SilentAfter.
func (c *Core) recent(id uint64) bool {
	at, ok := c.lead.contact[id]
	return id == c.id || ok && c.now-at < c.cfg.SilentAfter
}

// steer gives raft the next proposal, and reports whether there was one.
//
// While the voters change there is none. The change ends with an entry that the old voters get
// too. If they got later entries, the new voters might not know yet that the change has ended,
// and would ask the old ones, whose logs are longer, in vain for their votes, for ever.
func (c *Core) steer() bool {
	if c.lead == nil || c.node == nil || c.joint() {
		return false
	}
	return c.propose() || c.steerGroup()
}

// answer says what the disk's progress has made true.
func (c *Core) answer() {
	l := c.lead
	if l == nil {
		return
	}
	if !l.began && !l.ended && l.first > 0 && c.disk.visible >= l.first {
		l.began = true
		c.emit(TenureBegan{Epoch: l.term})
		c.settle() // replicas may be waiting for it
		return
	}
	c.readable()
	c.sayGroup()
}
