package directory

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

const window = 4 << 20 // bytes that may be on their way to one replica

// replicatePauses are the pauses after which unconfirmed changes are sent to a replica again. A
// replica that is only slow must not get ever more to do.
var replicatePauses = retry.Pauses{First: 20 * time.Millisecond, Most: 320 * time.Millisecond}

// change is a durable change on its way: it is applied and shown once the
// in-sync backup confirmed it.
type change struct {
	rec    Record
	done   func() // after it was applied; may be nil
	seqs   map[phalanx.NodeID]uint64
	asked  Request // that wants it; Num 0: none does
	failed string  // why it cannot be replicated, so that it is not applied; "": it can
	undo   func()  // if it has failed, undoes its immediate effects; may be nil
}

// stream is the ordered flow of changes to one replica. It begins with a
// snapshot.
type stream struct {
	to        phalanx.NodeID
	began     uint64 // epoch
	log       []Change
	base      uint64 // sequence number of log[0]
	confirmed uint64
	sent      uint64        // highest sequence number that was sent, and counts as on its way
	flying    int           // bytes on their way
	again     time.Duration // when they count as lost
	losses    int           // how often they did since the last sign of the replica
	probing   bool          // some were lost: one batch is sent, and the rest once that is confirmed
	snapshot  uint64        // sequence number of the snapshot's End
	told      time.Duration
	acked     uint64 // highest sequence number of a change that was shown
	caughtUp  bool   // has every change that was shown, and will have the next ones first
	singly    uint64 // up to this sequence number changes are sent one by one: they could not be sent together
}

// incoming is the stream that a replica receives.
type incoming struct {
	from     phalanx.NodeID
	began    uint64
	applied  uint64
	snapshot bool // End was seen
	fresh    map[phalanx.ObjectID]bool
}

// commit makes rec durable, then applies it and calls done. Requests for the
// object that come meanwhile are queued.
func (s *Shard) commit(o *object, rec Record, done func()) {
	if o.change != nil {
		panic("directory: two changes of one object in flight")
	}
	o.change = &change{rec: rec, done: done, seqs: map[phalanx.NodeID]uint64{}, asked: s.asking}
	s.memory += extra(&rec)
	s.flight = append(s.flight, o)
	for _, st := range s.sortedStreams() {
		st.log = append(st.log, Change{Record: rec})
		o.change.seqs[st.to] = st.end()
		s.pump(st, false)
	}
	s.settleOne(o)
}

// settle applies every change that is durable by now, in the order of commit. Replicas
// confirm in that order, so settle ends at the first change that is not durable.
func (s *Shard) settle() {
	for s.acts() && len(s.flight) > 0 && s.durable(s.flight[0].change) {
		s.settleOne(s.flight[0])
	}
}

// landed removes o from the objects with a change in flight.
func (s *Shard) landed(o *object) {
	if s.flight[0] == o {
		s.flight[0] = nil
		s.flight = s.flight[1:]
		return
	}
	s.flight = slices.DeleteFunc(s.flight, func(f *object) bool { return f == o })
}

func (s *Shard) settleOne(o *object) {
	c := o.change
	if c == nil || !s.acts() || !s.durable(c) {
		return
	}
	o.change = nil
	s.memory -= extra(&c.rec)
	s.stir(o)
	for _, st := range s.sortedStreams() {
		st.acked = max(st.acked, c.seqs[st.to])
	}
	s.landed(o)
	switch {
	case c.failed == "":
		s.apply(o, c.rec)
		if c.done != nil {
			c.done()
		}
	case c.asked.Num != 0:
		s.reject(c.asked, o, phalanx.ErrInvalid, "the directory cannot record the change: %s", c.failed)
	}
	if c.failed != "" && c.undo != nil {
		c.undo()
	}
	if o.change == nil && o.rec.State == Begun && s.absent(o.rec.Origin) { // it left in the meantime
		s.release(o, 0, nil)
	}
	s.takeCopies(o, func(of copied) bool { return c.failed == "" || of.Gen != c.rec.Gen }) // else the same would fail again, for ever
	s.complete()
	if o.change == nil {
		s.checkLost(o)
	}
	s.requeue(o)
}

// requeue answers requests that came while a change was in flight.
func (s *Shard) requeue(o *object) {
	queue := o.queue
	o.queue = nil
	for _, r := range queue {
		s.request(r)
	}
}

// durable reports whether the in-sync backup has confirmed c. A next one that
// was reported to have caught up can become the backup at any time, so it has
// to confirm too.
func (s *Shard) durable(c *change) bool {
	if s.alone() {
		return true
	}
	if s.view.Backup == "" {
		return false
	}
	for _, st := range s.sortedStreams() {
		if seq, ok := c.seqs[st.to]; (st.to == s.view.Backup || st.caughtUp) && (!ok || st.confirmed < seq) {
			return false
		}
	}
	return s.streams[s.view.Backup] != nil
}

// apply sets the durable state of an object; owner and backup both do it so.
func (s *Shard) apply(o *object, rec Record) {
	if rec.Gen != o.rec.Gen {
		o.maker = ""
	}
	s.memory += extra(&rec) - extra(&o.rec)
	o.rec = rec
	if rec.State == Deleted {
		o.expires = s.now + tombstoneLife
	}
}

// beginsAnew reports whether a replica was dropped, because it has lost its state,
// and is the next one again: it has lost the changes that it confirmed.
func (s *Shard) beginsAnew(n phalanx.NodeID, was Configure) bool {
	if n != s.view.Next || s.view.Epoch == was.Epoch {
		return false
	}
	return was.Backup == n || was.Next == n && was.Owner == s.view.Owner && was.Backup == s.view.Backup
}

// aim opens a stream to the backup and to the next replica and closes others.
func (s *Shard) aim(was Configure) {
	for n := range s.streams {
		if n != s.view.Backup && n != s.view.Next || s.beginsAnew(n, was) {
			delete(s.streams, n)
		}
	}
	for _, n := range []phalanx.NodeID{s.view.Backup, s.view.Next} {
		if n == "" || n == s.cfg.Self {
			continue
		}
		if st := s.streams[n]; st != nil {
			if s.view.Epoch != was.Epoch { // the replica refused messages of an older epoch
				st.goBack()
				st.probing, st.losses = false, 0
			}
			s.pump(st, false)
			continue
		}
		st := &stream{to: n, began: s.view.Epoch, base: 1}
		for _, r := range s.records() {
			st.log = append(st.log, Change{Record: *r})
		}
		st.log = append(st.log, Change{End: true, Rebuilding: s.whole < s.view.LostAt})
		st.snapshot = uint64(len(st.log))
		for _, o := range s.flight {
			if o.change != nil {
				rec := o.change.rec
				if o.change.failed != "" {
					rec = o.rec
				}
				st.log = append(st.log, Change{Record: rec})
				o.change.seqs[n] = st.end()
			}
		}
		s.streams[n] = st
		s.pump(st, false)
	}
}

func (s *Shard) sortedStreams() []*stream {
	var out []*stream
	for _, n := range []phalanx.NodeID{s.view.Backup, s.view.Next} {
		if st := s.streams[n]; st != nil && !slices.Contains(out, st) {
			out = append(out, st)
		}
	}
	return out
}

// end returns the sequence number of the last entry.
func (st *stream) end() uint64 { return st.base + uint64(len(st.log)) - 1 }

// goBack has all that is not confirmed count as not sent.
func (st *stream) goBack() { st.sent, st.flying = st.confirmed, 0 }

// pump sends unsent changes, as many as may be on their way, or the first
// unconfirmed one if the replica has been silent for too long.
func (s *Shard) pump(st *stream, tick bool) {
	if tick && st.caughtUp && st.to == s.view.Next && s.now-st.told >= repeatEvery {
		st.told = s.now
		s.emit(CaughtUp{Epoch: s.view.Epoch, Node: st.to})
	}
	if tick && st.sent > st.confirmed && s.now >= st.again {
		st.goBack()
		st.probing, st.losses = true, st.losses+1
		s.sendBatch(st)
	}
	for !st.probing && st.sent < st.end() && st.flying < window {
		s.sendBatch(st)
	}
}

func (s *Shard) sendBatch(st *stream) {
	first, bytes, n := st.sent+1, 0, 0
	i := int(first - st.base)
	for _, c := range st.log[i:] {
		if n > 0 && (first <= st.singly || bytes+c.Weight() > MaxPart) {
			break
		}
		bytes += c.Weight()
		n++
	}
	s.emit(SendReplicate{To: st.to, Replicate: Replicate{From: s.cfg.Self, Epoch: s.view.Epoch, Stream: st.began,
		First: first, Changes: slices.Clone(st.log[i : i+n])}})
	st.sent += uint64(n)
	st.flying += bytes
	st.again = s.now + replicatePauses.After(st.losses+1)
}

// replicate takes a part of the owner's stream. Only the next entry in order is
// applied; anything else is answered with how far this replica is.
func (s *Shard) replicate(r Replicate) {
	if r.Epoch != s.view.Epoch || r.From != s.view.Owner || s.owner() || len(r.Changes) == 0 ||
		(s.view.Backup != s.cfg.Self && s.view.Next != s.cfg.Self) || !s.mayAnswer() {
		return
	}
	if s.in.from != r.From || s.in.began != r.Stream {
		if r.First != 1 {
			s.gap(r)
			return
		}
		s.in = incoming{from: r.From, began: r.Stream, fresh: map[phalanx.ObjectID]bool{}}
	}
	for i, c := range r.Changes {
		if r.First+uint64(i) != s.in.applied+1 {
			continue
		}
		s.in.applied++
		s.take(c)
	}
	s.emit(SendConfirm{To: r.From, Confirm: Confirm{From: s.cfg.Self, Epoch: r.Epoch, Stream: r.Stream, Seq: s.in.applied}})
}

func (s *Shard) take(c Change) {
	if c.End {
		if !s.in.snapshot {
			s.endSnapshot()
		}
		if s.whole = s.view.LostAt; c.Rebuilding {
			s.whole = 0
		}
		return
	}
	if !s.in.snapshot {
		s.in.fresh[c.Record.Object] = true
	}
	if c.Record.State == Unbound {
		s.remove(c.Record.Object)
		return
	}
	s.apply(s.object(c.Record.Object), c.Record)
}

// endSnapshot forgets objects that were not in the snapshot.
func (s *Shard) endSnapshot() {
	for id := range s.objects {
		if !s.in.fresh[id] {
			s.remove(id)
		}
	}
	for id := range s.tombstones {
		if !s.in.fresh[id] {
			s.remove(id)
		}
	}
	s.in.snapshot, s.in.fresh = true, nil
	s.lost = lost{}
}

// confirm notes how far a replica is and acknowledges changes that have become durable.
func (s *Shard) confirm(c Confirm) {
	st := s.streams[c.From]
	if !s.owner() || st == nil || c.Epoch != s.view.Epoch || c.Stream != st.began || c.Seq <= st.confirmed || c.Seq > st.end() {
		return
	}
	n := c.Seq - st.confirmed
	for _, change := range st.log[:min(n, st.sent-st.confirmed)] {
		st.flying -= change.Weight()
	}
	st.log = st.log[n:]
	st.base, st.confirmed, st.sent = c.Seq+1, c.Seq, max(st.sent, c.Seq)
	st.probing, st.losses, st.again = false, 0, s.now+replicatePauses.First
	s.pump(st, false)
	if !st.caughtUp && st.confirmed >= max(st.snapshot, st.acked) {
		st.caughtUp = true
		if st.to == s.view.Next {
			st.told = s.now
			s.emit(CaughtUp{Epoch: s.view.Epoch, Node: st.to})
		}
	}
	if s.sure {
		s.settle()
		return
	}
	if s.secure(); s.sure {
		s.resume()
	}
}
