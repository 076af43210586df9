package directory

import (
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Config fixes the shape of a shard replica.
type Config struct {
	Shard int
	Self  phalanx.NodeID
	// InlineLimit is the size in bytes below which objects live with the owner.
	InlineLimit int64
	// Fanout is how many receivers of one object a sender serves at a time;
	// 0 means 1.
	Fanout int
}

// The times of the specification.
const (
	tombstoneLife  = 20 * time.Minute
	repeatEvery    = 100 * time.Millisecond // pushes
	replicateEvery = 20 * time.Millisecond  // unconfirmed changes
	leaseQuiet     = 5 * time.Second        // then its receiver is asked
	firstBar       = time.Second
	longestBar     = 10 * time.Second
)

// MaxReady bounds the locations in a Readiness.
const MaxReady = 16

// Shard is one replica of one shard.
//
// Invariant: role owner ⇒ every record was confirmed by the in-sync backup of
// its epoch, if the view has more than one member.
type Shard struct {
	cfg     Config
	now     time.Duration
	view    Configure
	leased  time.Duration // until when this node may answer
	objects map[phalanx.ObjectID]*object

	// As owner.
	genSeq   uint64 // of the last generation given in this epoch
	leaseSeq uint64
	pushSeq  uint64
	streams  map[phalanx.NodeID]*stream // to backup and next
	warming  map[phalanx.NodeID]bool    // members whose holdings are missing
	told     map[phalanx.NodeID]*told   // what they have reported so far
	flight   []*object                  // with a change that is not durable yet, in order

	// As a replica.
	in incoming

	out []Effect
}

// New returns a replica that has no role until it is configured.
func New(cfg Config) *Shard {
	if cfg.Fanout == 0 {
		cfg.Fanout = 1
	}
	return &Shard{cfg: cfg, objects: map[phalanx.ObjectID]*object{}, streams: map[phalanx.NodeID]*stream{}}
}

// Step applies ev, at now since the start of the node, and returns what the
// shell must do, in that order.
func (s *Shard) Step(now time.Duration, ev Event) []Effect {
	s.now = max(s.now, now)
	switch ev := ev.(type) {
	case Configure:
		s.configure(ev)
	case Lease:
		s.leased = max(s.leased, ev.Until)
		if s.owner() {
			s.settle()
		}
	case Request:
		s.request(ev)
	case Replicate:
		s.replicate(ev)
	case Confirm:
		s.confirm(ev)
	case Holdings:
		s.holdings(ev)
	case PushAcked:
		s.pushAcked(ev)
	case WatchAcked:
		s.watchAcked(ev)
	case LeaseKnown:
		s.leaseKnown(ev)
	case Tick:
		s.tick()
	}
	out := s.out
	s.out = nil
	return out
}

func (s *Shard) emit(e Effect) { s.out = append(s.out, e) }

func (s *Shard) owner() bool { return s.view.Owner == s.cfg.Self }

// alone reports whether there is no other member that could hold a backup.
func (s *Shard) alone() bool { return len(s.view.Members) <= 1 }

// mayAnswer reports whether this node still hears from a majority.
func (s *Shard) mayAnswer() bool { return s.now <= s.leased }

// configure takes the shard's entry in a new view.
func (s *Shard) configure(v Configure) {
	if v.Epoch < s.view.Epoch {
		return
	}
	was := s.view
	s.view = v
	if !s.owner() {
		s.resign(v)
		return
	}
	if was.Owner != s.cfg.Self {
		s.assume()
	}
	for _, o := range s.sorted() {
		s.forgetAbsent(o)
	}
	s.aim()
	if v.Epoch != was.Epoch {
		s.genSeq, s.leaseSeq = 0, 0
	}
	for n := range s.warming {
		if !slices.Contains(v.Members, n) {
			delete(s.warming, n)
			delete(s.told, n)
		}
	}
	s.warmed()
	s.settle()
	for _, o := range s.sorted() {
		s.serve(o)
		s.notify(o)
	}
}

// assume becomes owner: the records are there, what is soft is asked of the
// members.
func (s *Shard) assume() {
	s.warming, s.told = map[phalanx.NodeID]bool{}, map[phalanx.NodeID]*told{}
	for _, n := range s.view.Members {
		s.warming[n] = true
	}
	s.in = incoming{}
}

// resign forgets what only an owner knows. Requests that wait are repeated by
// their senders to the new owner.
func (s *Shard) resign(v Configure) {
	s.warming, s.told, s.flight = nil, nil, nil
	clear(s.streams)
	keep := v.Backup == s.cfg.Self || v.Next == s.cfg.Self
	for id, o := range s.objects {
		if !keep || o.rec.State == Unbound {
			delete(s.objects, id)
			continue
		}
		s.objects[id] = &object{rec: o.rec, expires: o.expires}
	}
	if !keep {
		s.in = incoming{}
	}
}

// forgetAbsent removes everything that names a node outside of the view.
func (s *Shard) forgetAbsent(o *object) {
	gone := func(n phalanx.NodeID) bool { return n != "" && !slices.Contains(s.view.Members, n) }
	for _, h := range slices.Clone(o.holders) {
		if gone(h.node) {
			o.unlist(h.node)
		}
	}
	o.waiters = slices.DeleteFunc(o.waiters, func(r Request) bool { return gone(r.From) })
	o.creators = slices.DeleteFunc(o.creators, func(r Request) bool { return gone(r.From) })
	o.watchers = slices.DeleteFunc(o.watchers, func(w *watcher) bool { return gone(w.to) })
	o.pushes = slices.DeleteFunc(o.pushes, func(p *push) bool { return gone(p.To) })
	o.bars = slices.DeleteFunc(o.bars, func(b bar) bool { return gone(b.sender) || gone(b.receiver) })
	o.reports = slices.DeleteFunc(o.reports, func(r reported) bool { return gone(r.node) })
	if o.rec.State == Begun && gone(o.rec.Origin) && o.change == nil {
		s.release(o, nil)
	}
	s.checkLost(o)
}

// sorted returns the objects by id: map order must not show.
func (s *Shard) sorted() []*object {
	ids := slices.Sorted(maps.Keys(s.objects))
	out := make([]*object, len(ids))
	for i, id := range ids {
		out[i] = s.objects[id]
	}
	return out
}

func (s *Shard) object(id phalanx.ObjectID) *object {
	o := s.objects[id]
	if o == nil {
		o = &object{rec: Record{Object: id}}
		s.objects[id] = o
	}
	return o
}

// state returns the state of o as it is shown.
func (s *Shard) state(o *object) State {
	if o.rec.State == Finished && !o.rec.Inline && len(s.warming) == 0 && o.completeCopies("") == 0 {
		return Lost
	}
	return o.rec.State
}

func (s *Shard) tick() {
	for _, st := range s.sortedStreams() {
		s.pump(st, true)
	}
	if !s.owner() {
		return
	}
	for _, o := range s.sorted() {
		if o.rec.State == Deleted && o.expires <= s.now && o.change == nil && len(o.pushes) == 0 {
			rec := Record{Object: o.rec.Object}
			s.commit(o, rec, nil)
		}
		s.repeatPushes(o)
		s.repeatWatches(o)
		s.askLeases(o)
		if n := len(o.bars); n > 0 {
			o.bars = slices.DeleteFunc(o.bars, func(b bar) bool { return b.forget <= s.now })
			s.serve(o)
		}
		if o.idle() {
			delete(s.objects, o.rec.Object)
		}
	}
}
