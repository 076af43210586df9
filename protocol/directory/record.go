package directory

import (
	"fmt"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// State is the state of an id.
//
//	unbound ─Begin→ begun ─Final→ final ─no complete copy→ lost
//	   ↑──Abort──────┘  (Delete, from these) → deleted ─20 min→ unbound
//
// Begin binds a deleted id too, if it names the generation that was deleted. If that
// binding is released, the record is a tombstone as before, which stops late requests, but
// others are told that the id is unbound: they wait for another creation.
type State uint8

// The states of an id.
const (
	Unbound State = iota
	Begun
	Finished
	Lost
	Deleted
)

var states = [...]string{"unbound", "begun", "final", "lost", "deleted"}

// String returns the word of specification 1.3 for s.
func (s State) String() string {
	if int(s) >= len(states) {
		return fmt.Sprintf("state(%d)", uint8(s))
	}
	return states[s]
}

// Record is the durable state of one id: the backup has it before it is acknowledged.
// State is never Lost, which follows from the locations.
type Record struct {
	Object    phalanx.ObjectID
	State     State // Unbound removes the record
	Gen       phalanx.Generation
	After     phalanx.Generation // the last that was deleted, before Gen; zero: none that is remembered
	Released  phalanx.Generation // the last whose binding was released since then, at most Gen; zero: none
	First     phalanx.Generation // that Begin has given, if Restart has given Gen since
	Meta      phalanx.Meta
	Digest    phalanx.Digest
	Maker     Maker
	Tag       string
	Note      []byte
	Origin    phalanx.NodeID // the node that began it; of a tombstone, the node that had put it, if that was inline
	OriginNum uint64         // its request, so that a repeat is answered again
	Run       uint64         // of Begin
	Inline    bool
	Bytes     []byte // if Inline; never changed in place
	Copies    int
	Evicted   []phalanx.NodeID // granted, of Gen: a late holding of these is not a copy; at most maxEvicted
}

// shown returns the state that others are told. A tombstone of a binding that was released
// is unbound to them, not deleted.
func (r Record) shown() State {
	if r.State == Deleted && !r.Released.IsZero() {
		return Unbound
	}
	return r.State
}

// stops returns the last generation that was deleted, or released since: a Begin that does
// not name it is late.
func (r Record) stops() phalanx.Generation {
	if gen := r.deletedGen(); r.Released.Less(gen) {
		return gen
	}
	return r.Released
}

// object is a replica's knowledge of one id.
//
// Invariant: leases[i].sender is listed, and holders[receiver].upstream is it.
type object struct {
	rec     Record
	expires time.Duration // when a tombstone ends

	// Soft, at the owner only.
	holders  []*holder // in the order in which they became available
	leases   []*lease
	waiters  []Request     // Locate, in the order of arrival
	weed     time.Duration // when to look for waiting requests that were not repeated; 0: nothing waits
	creators []Request     // Begin, waiting for the present creator
	awaiting []Request     // AwaitCopies
	orders   []*copyOrder
	watchers []*watcher
	bars     []bar
	pushes   []*push
	reports  []reported
	over     []ended
	dropped  []phalanx.NodeID // of rec.Evicted: have told that their copy is gone
	given    []phalanx.NodeID // were sent the inline bytes and are not listed by that
	accused  *accusation
	cleared  time.Duration  // until when accusations are ignored, after a wrong one
	version  uint64         // of the messages to watchers
	lost     bool           // and that was told
	maker    phalanx.NodeID // of the bytes of rec.Gen, if it has announced itself as their origin
	uncopied *uncopied

	change *change   // in flight to the backup
	queue  []Request // requests that arrived meanwhile
	copies []copied  // reports that arrived, if nothing was known before

	listing bool          // copies are being taken: nothing follows from one before the next
	stirred bool          // by the present event
	unseen  bool          // it is in Shard.unseen
	news    bool          // there was an event since the last tick that looked at it
	booked  bool          // it is on the agenda, at meets
	meets   time.Duration // Invariant: booked and at most dueAt, if that is known
}

// rests reports whether o is a tombstone, and nothing but its end is to come.
func (o *object) rests() bool {
	return o.rec.State == Deleted && o.change == nil && len(o.holders)+len(o.leases)+len(o.waiters)+len(o.creators)+len(o.awaiting)+
		len(o.orders)+len(o.watchers)+len(o.bars)+len(o.pushes)+len(o.queue)+len(o.copies) == 0
}

// ended is a request that its sender has given up or undone: a late copy of it
// must not bind or wait again.
type ended struct {
	node     phalanx.NodeID
	num      uint64
	run      uint64 // not 0: nothing of this run of a Reduce binds any more
	until    time.Duration
	enough   bool         // copies were listed for which it waited
	turned   bool         // away: it wanted to bind, and did not
	located  bool         // it is a Locate that has waited
	kind     phalanx.Kind // of its answer
	text     string
	attached phalanx.NodeID // that it was told to follow
}

// end remembers that node's request num is over, and returns the memory of it, valid
// until the next call; 0 is no request.
func (o *object) end(node phalanx.NodeID, num uint64, now time.Duration) *ended {
	e := ended{node: node, num: num}
	if num == 0 {
		return &e
	}
	if i := slices.IndexFunc(o.over, func(e ended) bool { return e.node == node && e.num == num }); i >= 0 {
		e = o.over[i]
		o.over = slices.Delete(o.over, i, i+1)
	} else if len(o.over) >= maxEnded {
		o.over = slices.Delete(o.over, 0, 1)
	}
	e.until = now + endedLife
	o.over = append(o.over, e)
	return &o.over[len(o.over)-1]
}

// wasOver returns the memory of r, if it is over.
func (o *object) wasOver(r Request) *ended {
	run := uint64(0)
	if b, ok := r.Body.(Begin); ok {
		run = b.Run
	}
	over := func(e ended) bool { return e.node == r.From && (e.num == r.Num || run != 0 && e.run == run) }
	if i := slices.IndexFunc(o.over, over); i >= 0 {
		return &o.over[i]
	}
	return nil
}

// copied is a holding of a node.
type copied struct {
	from   phalanx.NodeID
	before uint64 // as in Holdings
	Holding
}

// reported is the number of the last report that a node made about its copy.
type reported struct {
	node    phalanx.NodeID
	num     uint64
	refused bool               // the report asked for leave to evict, and was refused
	dropped phalanx.Generation // the report said that this copy is gone; zero: it did not
	puts    []uint64           // the last requests of the node by which its own copy was listed
}

// maxPuts bounds the Puts of a node whose late copies an owner knows.
const maxPuts = 8

type holder struct {
	node     phalanx.NodeID
	gen      phalanx.Generation
	complete bool
	pinned   bool
	origin   bool
	begun    bool         // has its first piece
	makes    phalanx.Meta // the object that it makes by its report, as the root of a reduce; size 0: none
	listed   bool         // in its node's report to a new owner
	retiring bool         // goes on only for its present readers
	told     bool         // its node has told of it, not only asked for it
	kept     bool         // and that it is pinned
	by       []claim      // the requests by whose answers its node has it
	upstream phalanx.NodeID
	moved    time.Duration // when it was last told to look for another sender
	wasMoved bool
}

// madeBy returns the node that makes the bytes of the present generation: a Put's node, or
// the root of a reduce. Before the root's report, it is the coordinator's node.
func (o *object) madeBy() phalanx.NodeID {
	if o.maker != "" {
		return o.maker
	}
	return o.rec.Origin
}

// meta returns the known properties of the bytes of the present generation. The target of a
// reduce is begun before any source is ready: its root knows more than the record,
// until it is final.
func (o *object) meta() phalanx.Meta {
	if o.rec.State == Begun && o.rec.Maker == ByReduce && o.rec.Meta.Size == phalanx.UnknownSize {
		for _, h := range o.holders {
			if h.origin && h.gen == o.rec.Gen && h.makes.Size > 0 {
				return h.makes
			}
		}
	}
	return o.rec.Meta
}

func (o *object) holder(n phalanx.NodeID) *holder {
	for _, h := range o.holders {
		if h.node == n {
			return h
		}
	}
	return nil
}

// stale reports whether r, a report of From about its copy, is older than one
// that was taken already: a report that was sent twice must not undo later ones.
// The numbers of such reports rise with each (node, object).
func (o *object) stale(r Request) bool {
	for i := range o.reports {
		if last := &o.reports[i]; last.node == r.From {
			old := r.Num < last.num
			if r.Num > last.num {
				*last = reported{node: r.From, num: r.Num, puts: last.puts}
			}
			return old
		}
	}
	o.reports = append(o.reports, reported{node: r.From, num: r.Num})
	return false
}

// again reports whether r, or a later report of From about its copy, was taken.
func (o *object) again(r Request) bool {
	return slices.ContainsFunc(o.reports, func(last reported) bool { return last.node == r.From && r.Num <= last.num })
}

// refused remembers the answer to r, so that a copy of it gets the same.
func (o *object) refused(r Request) {
	for i := range o.reports {
		if last := &o.reports[i]; last.node == r.From && last.num == r.Num {
			last.refused = true
		}
	}
}

// drop remembers that r says that a copy is gone. The holdings of its node may have been
// listed before that, and come after.
func (o *object) drop(r Request, g phalanx.Generation) {
	for i := range o.reports {
		if last := &o.reports[i]; last.node == r.From && last.num == r.Num {
			last.dropped = g
		}
	}
}

// gone reports whether the node of a holding has told since that this copy is gone.
func (o *object) gone(c copied) bool {
	return slices.ContainsFunc(o.reports, func(last reported) bool {
		return last.node == c.from && last.dropped == c.Gen && c.before <= last.num && !c.Gen.IsZero()
	})
}

// droppedBy reports whether n has told last that its copy of generation g is gone.
func (o *object) droppedBy(n phalanx.NodeID, g phalanx.Generation) bool {
	return slices.ContainsFunc(o.reports, func(last reported) bool { return last.node == n && last.dropped == g })
}

// putBefore reports whether the copy of r, which made an object final, was listed before: r comes
// again, and the copy may be gone.
func (o *object) putBefore(r Request) bool {
	return slices.ContainsFunc(o.reports, func(last reported) bool { return last.node == r.From && slices.Contains(last.puts, r.Num) })
}

// toldGone reports whether any node has told that its copy is gone.
func (o *object) toldGone() bool {
	return slices.ContainsFunc(o.reports, func(last reported) bool { return !last.dropped.IsZero() })
}

func (o *object) wasRefused(r Request) bool {
	return slices.ContainsFunc(o.reports, func(last reported) bool { return last.node == r.From && last.num == r.Num && last.refused })
}

// hold returns the entry of n for generation g, listed last if it is new. Either n has reported
// its copy, or others know that it has one.
func (o *object) hold(n phalanx.NodeID, g phalanx.Generation) *holder {
	h := o.holder(n)
	if h != nil && h.gen == g {
		h.told = true
		return h
	}
	if h != nil {
		o.unlist(n)
	}
	h = &holder{node: n, gen: g, told: true}
	o.holders = append(o.holders, h)
	return h
}

// unlist removes n's copy, and with it every lease to or from n.
func (o *object) unlist(n phalanx.NodeID) {
	o.holders = slices.DeleteFunc(o.holders, func(h *holder) bool { return h.node == n })
	for _, l := range slices.Clone(o.leases) {
		if l.sender == n || l.receiver == n {
			o.endLease(l)
		}
	}
}

// completeCopies counts the listed complete copies of the present generation
// on nodes other than not.
func (o *object) completeCopies(not phalanx.NodeID) int {
	n := 0
	for _, h := range o.holders {
		if h.complete && h.gen == o.rec.Gen && h.node != not {
			n++
		}
	}
	return n
}

// idle reports whether nothing about o has to be remembered. While the shard is warming,
// the holdings of a node that has dropped its copy may still come.
func (s *Shard) idle(o *object) bool {
	return o.rec.State == Unbound && len(o.holders)+len(o.leases)+len(o.waiters)+len(o.creators)+
		len(o.watchers)+len(o.pushes)+len(o.queue)+len(o.copies)+len(o.over)+len(o.awaiting) == 0 && o.change == nil && !(len(s.warming) > 0 && o.toldGone())
}
