package ledger

import (
	"encoding/binary"

	"go.etcd.io/raft/v3"
)

// reads are linearizable reads (raft thesis, section 6.4). A leader asks its voters whether it
// still leads, once for all reads that came meanwhile, and a read is answered when the disk has
// what was committed as it was asked.
type reads struct {
	next   []uint64 // come with the next round
	asked  []uint64 // wait for the voters
	known  []read   // wait for the disk
	number uint64   // of the round
}

type read struct{ index, id uint64 }

func (r *reads) len() int { return len(r.next) + len(r.asked) + len(r.known) }

func (c *Core) read(id uint64) {
	if c.lead == nil || !c.serves(c.lead.term) || c.lead.reads.len() >= c.cfg.MaxReads {
		c.emit(NotReadable{ID: id})
		return
	}
	c.lead.reads.next = append(c.lead.reads.next, id)
	c.ask()
}

// ask begins the next round, if none is under way.
func (c *Core) ask() {
	r := &c.lead.reads
	if len(r.asked) > 0 || len(r.next) == 0 {
		return
	}
	r.asked, r.next = r.next, nil
	r.number++
	c.beginRound()
}

// beginRound has raft ask the voters. It is called again when there is none left to answer: raft
// itself forgets such a round.
func (c *Core) beginRound() {
	if !c.alone() { // else raft asks nobody
		c.lead.rounds++
	}
	c.node.ReadIndex(binary.BigEndian.AppendUint64(nil, c.lead.reads.number))
}

// confirmed is told that this replica led still when it asked for a round.
func (c *Core) confirmed(s raft.ReadState) {
	if c.lead == nil {
		return
	}
	r := &c.lead.reads
	if len(s.RequestCtx) != 8 || binary.BigEndian.Uint64(s.RequestCtx) != r.number {
		return // of a term before
	}
	for _, id := range r.asked {
		r.known = append(r.known, read{index: s.Index, id: id})
	}
	r.asked = nil
	c.ask()
}

// readable answers the reads for which the disk is far enough.
func (c *Core) readable() {
	r := &c.lead.reads
	for len(r.known) > 0 && r.known[0].index <= c.disk.visible {
		c.emit(Readable{ID: r.known[0].id})
		r.known = r.known[1:]
	}
}

// endReads answers the reads that will never be readable here.
func (c *Core) endReads() {
	r := &c.lead.reads
	for _, k := range r.known {
		c.emit(NotReadable{ID: k.id})
	}
	for _, id := range append(r.asked, r.next...) {
		c.emit(NotReadable{ID: id})
	}
	*r = reads{number: r.number}
}
