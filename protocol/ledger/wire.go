package ledger

import (
	"encoding/binary"
	"errors"
	"hash/fnv"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// maxMessage bounds a message between replicas, in bytes. One with entries has at most a quarter
// of it, or one entry.
const maxMessage = 4 << 20

// A raft message travels behind a checksum of all that follows it, the name of the ledger, the
// opening of the sender's disk, and the opening of the receiver's disk as the sender knows it.
// The checksum keeps damaged bytes from raft, which would panic. The name keeps two ledgers
// apart. The openings tell two nodes apart that use copies of one disk.
const envelope = 6 * 8

// opening names one opening of a disk. A disk raises the count each time.
type opening struct{ count, run uint64 }

// before reports whether other cannot be the same opening, and is not older: it was opened later,
// or it is another one of the same count, which can be only if a disk was copied.
func (o opening) before(other opening) bool {
	return other.count > o.count || other.count == o.count && other.run != o.run
}

// openings are the newest openings of the other replicas' disks, as far as they are known.
type openings map[uint64]opening

// maxOpenings bounds how many replicas are remembered. A ledger has a few at a time.
const maxOpenings = 64

// note remembers an opening, and reports whether it is the one that counts.
func (o openings) note(id uint64, at opening) bool {
	known, ok := o[id]
	if ok && known != at && !(at.count > known.count) {
		return false
	}
	if !ok && len(o) >= maxOpenings {
		return true
	}
	o[id] = at
	return true
}

func (c *Core) opening() opening { return opening{c.cfg.Opened, c.cfg.Run} }

func (c *Core) seal(m *raftpb.Message) []byte {
	body, err := marshal.Marshal(m)
	if err != nil {
		panic("ledger: a raft message that cannot be encoded: " + err.Error())
	}
	to := c.openings[m.GetTo()]
	data := make([]byte, 8, envelope+len(body))
	for _, n := range []uint64{c.cfg.Ledger, c.cfg.Opened, c.cfg.Run, to.count, to.run} {
		data = binary.BigEndian.AppendUint64(data, n)
	}
	data = append(data, body...)
	binary.BigEndian.PutUint64(data, sum(data[8:]))
	return data
}

var errStale = errors.New("ledger: this replica's disk is open elsewhere: it was copied or restored")

// unseal returns the raft message in data, which from sent. The error errStale says that this
// Core is the one that has to end.
func (c *Core) unseal(from uint64, data []byte) (*raftpb.Message, error) {
	if len(data) < envelope || len(data) > maxMessage {
		return nil, errors.New("its size cannot be")
	}
	number := func(i int) uint64 { return binary.BigEndian.Uint64(data[8*i:]) }
	if number(0) != sum(data[8:]) {
		return nil, errors.New("its checksum is wrong")
	}
	if number(1) != c.cfg.Ledger {
		return nil, errors.New("it belongs to another ledger")
	}
	m := new(raftpb.Message)
	// Raft would compare fields that it does not know, and panic.
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data[envelope:], m); err != nil {
		return nil, err
	}
	switch {
	case m.GetFrom() != from:
		return nil, errors.New("it names another sender")
	case m.GetTo() != c.id:
		return nil, errors.New("it is for another replica")
	}
	if !c.openings.note(from, opening{number(2), number(3)}) {
		return nil, errors.New("its sender's disk was opened again since")
	}
	if c.opening().before(opening{number(4), number(5)}) {
		return nil, errStale
	}
	return m, nil
}

func sum(data []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(data) // never fails
	return h.Sum64()
}
