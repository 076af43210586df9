package directory

import (
	"cmp"
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
	// LostIn is the epoch in which the replica before this one lost its state; 0 if
	// there was none.
	LostIn uint64
}

// Durations (specification 1.10, 2.7, 2.9, 2.10, 2.13).
const (
	tombstoneLife = 20 * time.Minute
	repeatEvery   = 100 * time.Millisecond // pushes
	endedLife     = time.Minute            // how late a copy of a request may come
	waitLife      = 30 * time.Second       // of a request that waits and is not repeated: its node repeats it every second
	copyRepeat    = time.Second            // orders to copy
	askEvery      = time.Second            // about one lease
	copyPatience  = 30 * time.Second       // then another node is ordered too
	beginPatience = time.Second            // the same while a member leaves, if the copy has not been begun
	leaseQuiet    = 5 * time.Second        // then its receiver is asked
	moveEvery     = time.Second            // one receiver, away from a slow sender
	firstBar      = time.Second
	longestBar    = 10 * time.Second
)

// maxEnded bounds the requests to one object that are remembered as ended.
const maxEnded = 256

// MaxReady bounds the locations in a Readiness.
const MaxReady = 16

// Shard is one replica of one shard.
//
// Invariant: owner and sure ⇒ every record was confirmed by the in-sync backup,
// if the view has more than one member. Nothing is shown before that.
type Shard struct {
	cfg     Config
	now     time.Duration
	view    Configure
	leased  time.Duration // until when this node may answer
	objects map[phalanx.ObjectID]*object
	memory  int64 // see Memory

	tombstones map[phalanx.ObjectID]tombstone // of those that rest

	// As owner.
	genSeq   uint64 // of the last generation given in this epoch
	leaseSeq uint64
	pushSeq  uint64
	streams  map[phalanx.NodeID]*stream // to backup and next
	warming  map[phalanx.NodeID]bool    // members whose holdings are missing
	told     map[phalanx.NodeID]*told   // their reports so far
	before   map[phalanx.NodeID]uint64  // Holdings.Before of each
	since    uint64                     // the epoch in which this replica became owner
	rebuild  bool                       // its records were lost, and not all were found again before it became owner
	rates    map[phalanx.NodeID]int64   // bytes per second, as measured by their receivers
	slowly   map[phalanx.NodeID]bool    // receivers that were slow
	downs    map[phalanx.NodeID]int64   // bytes per second that each has got at best, as it says
	fastest  int64                      // of those
	flight   []*object                  // with a change that is not durable yet, in order; Invariant: change is not nil
	asking   Request                    // that is handled now; Num 0: none is
	sure     bool                       // the backup has the state that this replica took over
	held     held                       // requests and holdings that came before that
	behind   bool                       // all objects are to be looked at once this replica may show something
	unseen   []*object                  // if not behind: the objects that are to be looked at then
	ids      ids                        // for lists
	agenda   agenda                     // of ticks
	stirred  []*object                  // by the present event

	// As a replica.
	whole uint64 // the Configure.LostAt after which all that members have was added to the records
	in    incoming
	lost  lost

	out []Effect
}

// New returns a replica that has no role until it is configured.
func New(cfg Config) *Shard {
	if cfg.Fanout == 0 {
		cfg.Fanout = 1
	}
	return &Shard{cfg: cfg, objects: map[phalanx.ObjectID]*object{}, tombstones: map[phalanx.ObjectID]tombstone{}, streams: map[phalanx.NodeID]*stream{},
		rates: map[phalanx.NodeID]int64{}, slowly: map[phalanx.NodeID]bool{}, downs: map[phalanx.NodeID]int64{}, lost: lost{in: cfg.LostIn}}
}

// Step applies ev, at now since the start of the node, and returns what the
// shell must do, in that order.
func (s *Shard) Step(now time.Duration, ev Event) []Effect {
	s.now = max(s.now, now)
	if _, view := ev.(Configure); s.lost.out && !view {
		s.whileLost(ev)
		return s.effects()
	}
	switch ev := ev.(type) {
	case Configure:
		s.configure(ev)
	case Lease:
		silenced := !s.mayAnswer()
		s.leased = max(s.leased, ev.Until)
		if silenced {
			s.awaken()
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
	case Unsendable:
		s.unsendable(ev)
	case Tick:
		s.tick()
	}
	s.arrange()
	return s.effects()
}

func (s *Shard) effects() []Effect {
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

// acts reports whether this replica is an owner that may show its records.
func (s *Shard) acts() bool { return s.owner() && s.sure && s.mayAnswer() }

// configure takes the shard's entry in a new view. Views come often, and most are
// about other shards.
func (s *Shard) configure(v Configure) {
	if v.Epoch < s.view.Epoch || !s.takesPart(v) {
		return
	}
	was := s.view
	s.view = v
	members := slices.Equal(v.Members, was.Members) && slices.Equal(v.Leaving, was.Leaving)
	switch {
	case !s.owner() && was.Owner != s.cfg.Self && (v.Backup == s.cfg.Self || v.Next == s.cfg.Self):
		return // it goes on to copy
	case !s.owner():
		s.resign(v)
		return
	case members && v.Epoch == was.Epoch && v.Next == was.Next:
		return
	}
	if v.Epoch != was.Epoch {
		s.genSeq, s.leaseSeq = 0, 0
	}
	if v.Epoch > was.Epoch+1 {
		clear(s.streams) // a view was missed: the replicas may have had another owner
	}
	assumes, acted := was.Owner != s.cfg.Self || v.LostAt != was.LostAt, s.acts()
	if v.LostAt != was.LostAt { // others may have changed the state since, or this is a part of a snapshot
		s.resign(v)
	}
	if assumes {
		s.assume()
	}
	s.aim(was)
	if assumes {
		s.forgetAllAbsent(s.sorted())
	} else if slices.ContainsFunc(was.Members, s.absent) {
		s.forgetAllAbsent(s.awake())
	}
	for n := range s.warming {
		if s.absent(n) {
			delete(s.warming, n)
			delete(s.told, n)
		}
	}
	if s.secure(); members && acted && s.acts() {
		s.settle()
		return
	}
	s.resume()
}

// forgetAllAbsent removes all references to nodes outside of the view.
func (s *Shard) forgetAllAbsent(objects []*object) {
	for _, o := range objects {
		s.stir(o)
		s.forgetAbsent(o)
	}
	maps.DeleteFunc(s.told, func(n phalanx.NodeID, _ *told) bool { return s.absent(n) })
	maps.DeleteFunc(s.before, func(n phalanx.NodeID, _ uint64) bool { return s.absent(n) })
	maps.DeleteFunc(s.rates, func(n phalanx.NodeID, _ int64) bool { return s.absent(n) })
	maps.DeleteFunc(s.downs, func(n phalanx.NodeID, _ int64) bool { return s.absent(n) })
	maps.DeleteFunc(s.slowly, func(n phalanx.NodeID, _ bool) bool { return s.absent(n) })
	s.findFastest()
}

// assume becomes owner: the records are there, and it asks the members for the soft
// state.
func (s *Shard) assume() {
	s.warming, s.told, s.before = map[phalanx.NodeID]bool{}, map[phalanx.NodeID]*told{}, map[phalanx.NodeID]uint64{}
	for _, n := range s.view.Members {
		s.warming[n] = true
	}
	s.in = incoming{}
	s.sure, s.held, s.unseen = false, held{}, nil
	s.since, s.rebuild = s.view.Epoch, s.whole < s.view.LostAt
	s.bookTombstones()
}

// secure notes when the in-sync backup has all that this replica took over. A
// replica can have changes that its former owner never acknowledged; if this copy
// alone showed such a change, it could still be lost.
func (s *Shard) secure() {
	if s.sure || !s.owner() {
		return
	}
	st := s.streams[s.view.Backup]
	s.sure = s.alone() || s.view.Backup != "" && st != nil && st.confirmed >= st.snapshot
}

// resume goes on with all objects where an owner that could not show anything has
// stopped.
func (s *Shard) resume() {
	if s.behind = !s.acts(); s.behind {
		return
	}
	s.settle()
	events := s.held.take()
	for _, ev := range events {
		switch ev := ev.(type) {
		case Request:
			s.request(ev)
		case Holdings:
			s.holdings(ev)
		}
	}
	s.warmed()
	s.takeUnseen()
	for _, o := range s.awake() {
		s.look(o)
	}
}

// awaken goes on where an owner that heard from no majority for a while has stopped. It
// looks only at objects about which something came meanwhile. Requests were dropped, and
// come again.
func (s *Shard) awaken() {
	if s.behind || !s.acts() {
		s.resume()
		return
	}
	s.settle()
	for _, o := range s.takeUnseen() {
		if s.objects[o.rec.Object] == o {
			s.look(o)
		}
	}
}

func (s *Shard) takeUnseen() []*object {
	unseen := s.unseen
	s.unseen = nil
	for _, o := range unseen {
		o.unseen = false
	}
	return unseen
}

// look does the work for o that an owner that may not show anything has left undone.
func (s *Shard) look(o *object) {
	s.stir(o)
	s.checkLost(o)
	s.clear(o)
	s.serve(o)
	s.notify(o)
	s.keepCopies(o)
}

// resign forgets the state that only an owner has. Senders of waiting requests repeat
// them to the new owner.
func (s *Shard) resign(v Configure) {
	s.warming, s.told, s.flight = nil, nil, nil
	s.held, s.sure, s.unseen = held{}, false, nil
	clear(s.streams)
	s.agenda = nil
	keep := v.Backup == s.cfg.Self || v.Next == s.cfg.Self
	for id, o := range s.objects {
		if !keep || o.rec.State == Unbound {
			s.remove(id)
			continue
		}
		if o = (&object{rec: o.rec, expires: o.expires}); !s.bury(o) {
			s.objects[id] = o
		}
	}
	if !keep {
		clear(s.tombstones)
		s.whole = 0
	}
	s.memory = s.weigh() // changes that were on their way are given up
	if !keep {
		s.in = incoming{}
	}
}

// forgetAbsent removes everything that names a node outside of the view.
func (s *Shard) forgetAbsent(o *object) {
	gone := s.absent
	for _, h := range slices.Clone(o.holders) {
		if gone(h.node) {
			o.unlist(h.node)
		}
	}
	o.waiters = slices.DeleteFunc(o.waiters, func(r Request) bool { return gone(r.From) })
	o.creators = slices.DeleteFunc(o.creators, func(r Request) bool { return gone(r.From) })
	o.awaiting = slices.DeleteFunc(o.awaiting, func(r Request) bool { return gone(r.From) })
	o.watchers = slices.DeleteFunc(o.watchers, func(w *watcher) bool { return gone(w.to) })
	o.pushes = slices.DeleteFunc(o.pushes, func(p *push) bool { return gone(p.To) })
	o.bars = slices.DeleteFunc(o.bars, func(b bar) bool { return gone(b.sender) || gone(b.receiver) })
	o.over = slices.DeleteFunc(o.over, func(e ended) bool { return gone(e.node) })
	o.reports = slices.DeleteFunc(o.reports, func(r reported) bool { return gone(r.node) })
	o.dropped = slices.DeleteFunc(o.dropped, gone)
	o.given = slices.DeleteFunc(o.given, gone)
	if o.accused != nil {
		o.accused.asked = slices.DeleteFunc(o.accused.asked, func(q *question) bool { return gone(q.to) })
	}
	if o.rec.State == Begun && gone(o.rec.Origin) && o.change == nil {
		s.release(o, 0, nil)
	}
	s.clear(o)
	s.checkLost(o)
}

// absent reports whether n names a node outside of the view.
func (s *Shard) absent(n phalanx.NodeID) bool {
	return n != "" && !slices.Contains(s.view.Members, n)
}

// sorted returns the objects by id, without tombstones: map order must not show.
func (s *Shard) sorted() []*object { return s.sortedBut(func(*object) bool { return false }) }

// records returns the durable state of everything, by id.
func (s *Shard) records() []*Record {
	out := make([]*Record, 0, len(s.objects)+len(s.tombstones))
	for _, o := range s.objects {
		if o.rec.State != Unbound {
			out = append(out, &o.rec)
		}
	}
	for id, t := range s.tombstones {
		r := t.record(id)
		out = append(out, &r)
	}
	slices.SortFunc(out, func(a, b *Record) int { return cmp.Compare(a.Object, b.Object) })
	return out
}

// awake returns the objects, by id, that a new view can change: most objects are
// tombstones that no node uses any more.
func (s *Shard) awake() []*object { return s.sortedBut((*object).rests) }

func (s *Shard) sortedBut(not func(*object) bool) []*object {
	var out []*object
	for _, o := range s.objects {
		if !not(o) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *object) int { return cmp.Compare(a.rec.Object, b.rec.Object) })
	return out
}

func (s *Shard) object(id phalanx.ObjectID) *object {
	o := s.objects[id]
	if o == nil {
		o = s.exhume(id)
	}
	if o == nil {
		o = &object{rec: Record{Object: id}}
		s.objects[id] = o
		s.ids.stale = true
		s.memory += recordCost
	}
	s.stir(o)
	return o
}

// state returns the state of o as it is shown. While a change is in flight no
// object is lost: it may be leave to evict a copy, which can come to nothing.
func (s *Shard) state(o *object) State {
	if o.rec.State == Finished && !o.rec.Inline && o.change == nil && s.owner() && len(s.warming) == 0 && o.completeCopies("") == 0 {
		return Lost
	}
	return o.rec.shown()
}

func (s *Shard) tick() {
	for _, st := range s.sortedStreams() {
		s.pump(st, true)
	}
	if !s.acts() {
		return
	}
	for _, o := range s.met() {
		s.attend(o)
		s.stir(o)
		o.news = false
	}
}
