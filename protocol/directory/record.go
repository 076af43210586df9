package directory

import (
	"fmt"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/planted"
)

// State is the state of an id.
//
//	unbound ─Begin→ begun ─Final→ final ─no complete copy→ lost
//	   ↑──Abort──────┘  (Delete, from any) → deleted ─20 min→ unbound
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

// String returns the specification's word for s.
func (s State) String() string {
	if int(s) >= len(states) {
		return fmt.Sprintf("state(%d)", uint8(s))
	}
	return states[s]
}

// Record is the durable state of one id: what is on the backup before it is
// acknowledged. State is never Lost, which follows from the locations.
type Record struct {
	Object    phalanx.ObjectID
	State     State // Unbound removes the record
	Gen       phalanx.Generation
	Meta      phalanx.Meta
	Digest    phalanx.Digest
	Maker     Maker
	Tag       string
	Note      []byte
	Origin    phalanx.NodeID // who began it
	OriginNum uint64         // its request, so that a repeat is answered again
	Run       uint64         // of Begin
	Since     uint64         // the number of the owner's view when Gen was begun
	Inline    bool
	Bytes     []byte // if Inline; never changed in place
	Copies    int
	Evicted   []phalanx.NodeID // granted, of Gen: a late holding of these is not a copy
}

// object is what a replica knows of one id.
//
// Invariant: leases[i].sender is listed, and holders[receiver].upstream is it.
type object struct {
	rec     Record
	expires time.Duration // when a tombstone ends

	// Soft, at the owner only.
	holders  []*holder // in the order in which they became available
	leases   []*lease
	waiters  []Request // Locate, in the order of arrival
	creators []Request // Begin, waiting for the present creator
	awaiting []Request // AwaitCopies
	orders   []*copyOrder
	watchers []*watcher
	bars     []bar
	pushes   []*push
	reports  []reported
	over     []ended
	version  uint64         // of what watchers are told
	lost     bool           // and that was told
	maker    phalanx.NodeID // of the bytes of rec.Gen, if it has announced itself as their origin
	coming   bool           // it is final, and its origin, which has it, has not announced itself yet

	change *change   // in flight to the backup
	queue  []Request // what arrived meanwhile
	copies []copied  // and what was reported, if nothing was known before

	stirred bool          // by the present event
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
	node   phalanx.NodeID
	num    uint64
	run    uint64 // not 0: nothing of this run of a Reduce binds any more
	until  time.Duration
	turned bool         // away: it wanted to bind, and did not
	kind   phalanx.Kind // of its answer
	text   string
}

// end remembers that node's request num is over.
func (o *object) end(node phalanx.NodeID, num uint64, now time.Duration) {
	if num == 0 {
		return
	}
	if len(o.over) >= maxEnded {
		o.over = slices.Delete(o.over, 0, 1)
	}
	o.over = append(o.over, ended{node: node, num: num, until: now + endedLife})
}

// wasOver returns what is remembered of r, if it is over.
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
	from phalanx.NodeID
	Holding
}

// reported is the number of the last report that a node made about its copy.
type reported struct {
	node    phalanx.NodeID
	num     uint64
	refused bool // it asked for leave to evict, and was refused
}

type holder struct {
	node     phalanx.NodeID
	gen      phalanx.Generation
	complete bool
	pinned   bool
	origin   bool
	begun    bool   // has its first piece
	retiring bool   // goes on only for those that read from it
	by       uint64 // the Locate whose answer was this copy; 0 once its node has told of it
	upstream phalanx.NodeID
	moved    time.Duration // when it was last told to look for another sender
	wasMoved bool
}

// madeBy returns who makes the bytes of the present generation: a Put's node, or
// the root of a reduce. Before the root has told, it is the coordinator's node.
func (o *object) madeBy() phalanx.NodeID {
	if o.maker != "" {
		return o.maker
	}
	return o.rec.Origin
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
// that was taken already: a copy that was sent twice must not undo what came
// after it. The numbers of such reports rise with each (node, object).
func (o *object) stale(r Request) bool {
	for i := range o.reports {
		if last := &o.reports[i]; last.node == r.From {
			old := r.Num < last.num
			if r.Num > last.num {
				last.num, last.refused = r.Num, false
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

func (o *object) wasRefused(r Request) bool {
	return slices.Contains(o.reports, reported{node: r.From, num: r.Num, refused: true})
}

// hold returns the entry of n for generation g, listed last if it is new.
func (o *object) hold(n phalanx.NodeID, g phalanx.Generation) *holder {
	h := o.holder(n)
	if h != nil && h.gen == g {
		h.by = 0
		return h
	}
	if h != nil {
		o.unlist(n)
	}
	h = &holder{node: n, gen: g}
	o.holders = append(o.holders, h)
	return h
}

// unlist removes n's copy, and with it every lease to or from n.
func (o *object) unlist(n phalanx.NodeID) {
	o.holders = slices.DeleteFunc(o.holders, func(h *holder) bool { return h.node == n })
	for _, l := range slices.Clone(o.leases) {
		if l.sender == n && !planted.On(planted.KeepStaleLease) || l.receiver == n {
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

// idle reports whether nothing about o has to be remembered.
func (o *object) idle() bool {
	return o.rec.State == Unbound && len(o.holders)+len(o.leases)+len(o.waiters)+len(o.creators)+
		len(o.watchers)+len(o.pushes)+len(o.queue)+len(o.over)+len(o.awaiting) == 0 && o.change == nil
}
