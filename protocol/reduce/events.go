package reduce

import (
	"cmp"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Event is everything that can happen to a Coordinator.
type Event interface{ event() }

// From the host.
type (
	// Start begins the Reduce. Repeated, it gets the answer again: Begin while
	// there is none, then Result or Fail.
	Start struct{ Now time.Duration }

	// Resume begins it in place of Start after a restart of the coordinator,
	// with the content of the last Remember effect; if there was none, with only Now.
	// A NodeGone follows for each of Nodes that is not in the view any more.
	Resume struct {
		Now    time.Duration
		Reduce phalanx.Generation
		Degree int
		Meta   phalanx.Meta
		Nodes  []phalanx.NodeID
	}

	// Tick tells the time. The coordinator sends unacknowledged messages again.
	Tick struct{ Now time.Duration }

	// Cancel says that no caller wants the result any more.
	Cancel struct{}

	// Joined says that a node wants the target, and asks for the same Reduce; and
	// which of the sources it has in full. The coordinator's own node joins too.
	Joined struct {
		Node phalanx.NodeID
		Has  []Ready
	}

	// Made says that the target is seen to be final on this coordinator's node, which
	// need not have been by another Reduce. It counts as Start, unless it answers
	// the request.
	Made struct {
		Now    time.Duration
		Gen    phalanx.Generation
		Size   int64
		Digest phalanx.Digest
	}

	// NodeGone says that a node left the view (Down), or is suspected. It is
	// handled at once for every place that runs there.
	NodeGone struct {
		Node phalanx.NodeID
		Down bool
	}

	// Leaving names the members that are about to leave, in the newest view. No place is
	// tried there any more; places that run there may end.
	Leaving struct{ Nodes []phalanx.NodeID }

	// PlaceLost says that a place runs no more. The host sends it when the
	// place's actor ended or panicked; a Place reports it of itself when its
	// source failed (LostSource), and of its child when the edge is broken
	// (LostEdge). Gen is the label it was last known by; it is stale if another
	// source has taken the place since, and a broken edge is also stale if the
	// child was cleared since.
	PlaceLost struct {
		Place  int
		Gen    PlaceGen
		Reason Reason
		Text   string // for people
	}
)

// From the directory.
type (
	// Begun answers Begin: the target is bound to this Reduce, in generation
	// Gen. A repeated Begin of the same attempt gets the same answer; a later
	// attempt of the same coordinator gets the present generation.
	Begun struct{ Gen phalanx.Generation }

	// Attached answers Begin: the same request is known. If it is Final the
	// other fields are the recorded answer; without In and Out if only copies of
	// the target are left of it, since its directory shard was lost. Otherwise a coordinator elsewhere
	// runs it: this one repeats Begin until it is final, or Begun because that
	// coordinator's node is down.
	Attached struct {
		Gen         phalanx.Generation
		Coordinator phalanx.NodeID
		Final       bool
		In, Out     []phalanx.ObjectID
		Size        int64
		Digest      phalanx.Digest
	}

	// Rejected answers Begin: it cannot be (another request: ErrExists; a
	// tombstone: ErrDeleted …).
	Rejected struct {
		Kind phalanx.Kind
		Text string
		Gen  phalanx.Generation // with ErrDeleted: the last that was deleted, or released since
		// Deleted is the last generation of the target that was deleted.
		Deleted phalanx.Generation
	}

	// Ready says that a source can be read at Node: a complete or inline copy
	// is listed there, or the origin has its first piece; never a receiver's
	// partial copy. Repeats are harmless. A source of unknown size becomes
	// ready with the Ready that tells its size. Node may be empty for an inline
	// copy, which then can be used only if it is small enough to be combined by
	// the coordinator.
	Ready struct {
		Source phalanx.ObjectID
		Node   phalanx.NodeID
		Gen    phalanx.Generation
		Meta   phalanx.Meta
		Kind   CopyKind
		Final  bool // the source is final in Gen
	}

	// Surveyed is the first answer to Watch: the sources that are ready at the start.
	// The coordinator takes them in the order of the request, not in theirs.
	Surveyed struct{ Ready []Ready }

	// SourceFinal says that a source is final in Gen.
	SourceFinal struct {
		Source phalanx.ObjectID
		Gen    phalanx.Generation
	}

	// SourceReset says that a source starts over in generation Gen. It is
	// ready again with the next Ready.
	SourceReset struct {
		Source phalanx.ObjectID
		Gen    phalanx.Generation
	}

	// SourceGone says that a source's generation Gen is no more. ErrAborted: it
	// never became final and can be created again. ErrDeleted: it has failed until it
	// is put again, unless it was delivered. ErrLost: no complete copy is listed; it can
	// be put again. Any other Kind counts as ErrLost.
	SourceGone struct {
		Source phalanx.ObjectID
		Gen    phalanx.Generation
		Kind   phalanx.Kind
	}

	// SourceMissing says that, by the first answer about a source, it is unbound. Gen is the deleted
	// generation, or zero. It matters to a coordinator that goes on with a place which has read the
	// source: whether that became final cannot be known any more.
	SourceMissing struct {
		Source phalanx.ObjectID
		Gen    phalanx.Generation
		Kind   phalanx.Kind // ErrDeleted or ErrAborted
	}

	// HolderGone says that Node's copy of a source is not listed any more. A
	// place that runs there goes on.
	HolderGone struct {
		Source phalanx.ObjectID
		Node   phalanx.NodeID
	}

	// Restarted answers Restart: Gen is the target's new generation. A repeated
	// Restart gets the same answer.
	Restarted struct{ From, Gen phalanx.Generation }

	// RestartRefused answers Restart.
	RestartRefused struct {
		From phalanx.Generation
		Kind phalanx.Kind
		Text string
	}

	// Finalised answers Finalise: the target is final in Gen.
	Finalised struct{ Gen phalanx.Generation }

	// FinaliseRefused answers Finalise.
	FinaliseRefused struct {
		Gen  phalanx.Generation
		Kind phalanx.Kind
		Text string
	}

	// Aborted answers Abort, whether the binding was still there or not.
	Aborted struct{}

	// TargetGone says that the target was deleted (ErrDeleted) or released
	// (ErrAborted) by another node.
	TargetGone struct {
		Kind phalanx.Kind
		Text string
	}
)

// From places: the events of a Place's effect Report. From the host: the answers to
// CombineInline and Inspect.
type (
	// Acked says that a place runs by the command of that version, or a later one.
	Acked struct {
		Place            int
		Node             phalanx.NodeID // where it runs; the host fills it in
		Attempt, Version uint64
	}

	// Refused says that a place cannot run by that command. ErrRefused: a later
	// attempt of the coordinator is known there.
	Refused struct {
		Place            int
		Node             phalanx.NodeID // where it was to run; the host fills it in
		Attempt, Version uint64
		Kind             phalanx.Kind
		Text             string
	}

	// Stopped answers Stop.
	Stopped struct {
		Place int
		Node  phalanx.NodeID // where the Stop was sent to; the host fills it in
		Gen   PlaceGen
	}

	// Delivered says that a place has all bytes of its child's output. Kept: it
	// keeps them apart from its own result, so that clearing that does not lose
	// them.
	Delivered struct {
		Parent    int
		ParentGen PlaceGen
		Child     int
		ChildGen  PlaceGen
		Kept      bool
	}

	// NotDelivered says that a place does not have all bytes of its child's
	// output, or not any more.
	NotDelivered struct {
		Parent    int
		ParentGen PlaceGen
		Child     int
		ChildGen  PlaceGen
	}

	// Stalled says that a place's partial source has made no progress for a while.
	Stalled struct {
		Place int
		Gen   PlaceGen
	}

	// Moving takes Stalled back.
	Moving struct {
		Place int
		Gen   PlaceGen
	}

	// Waiting says that a place waits for memory for its output, how much is needed
	// and how much there is. Without a text it does not any more.
	Waiting struct {
		Place int
		Gen   PlaceGen
		Text  string
	}

	// Combining says that a place has called the op, which does not return; the text names
	// its input. Without a text it has returned.
	Combining struct {
		Place int
		Gen   PlaceGen
		Text  string
	}

	// CombineFailed says that the op has failed at a place, on bytes from Source.
	// The Reduce fails: the op would fail again wherever it is done.
	CombineFailed struct {
		Place  int
		Gen    PlaceGen
		Source phalanx.ObjectID
		Kind   phalanx.Kind
		Text   string
	}

	// RootDone says that the root has made every byte of the target.
	RootDone struct {
		Place     int
		Gen       PlaceGen
		TargetGen phalanx.Generation
		Size      int64
		Digest    phalanx.Digest
	}

	// InlineDone answers CombineInline: the host holds the result.
	InlineDone struct {
		Seq    uint64
		Size   int64
		Digest phalanx.Digest
	}

	// InlineFailed answers CombineInline: Source could not be read or, if Op is set,
	// the op has failed on it.
	InlineFailed struct {
		Seq    uint64
		Source phalanx.ObjectID
		Op     bool
		Kind   phalanx.Kind
		Text   string
	}

	// Inspected answers the Inspect of that attempt: the places of this Reduce that
	// Node runs, from the place From on, as Place.Held says; all of them, or with Next not 0
	// the places before Next, since one message has room for no more.
	Inspected struct {
		Node       phalanx.NodeID
		Attempt    uint64
		Places     []Held
		From, Next int
	}
)

// Held is the state of one place that a restarted coordinator finds.
type Held struct {
	State     State
	Delivered []Delivered // children that it has in full
}

// maxInspected bounds the weight of the places in one Inspected.
const maxInspected = 2 << 20

// Cut sorts the places of ev, and leaves places to a later answer for which one message
// has no room.
func (ev *Inspected) Cut() { ev.cut(maxInspected) }

func (ev *Inspected) cut(most int) {
	slices.SortFunc(ev.Places, func(a, b Held) int { return cmp.Compare(a.State.Place, b.State.Place) })
	sum := 0
	for i := range ev.Places {
		if sum += ev.Places[i].Weight(); sum > most && i > 0 {
			ev.Next, ev.Places = ev.Places[i].State.Place, ev.Places[:i]
			return
		}
	}
}

// Weight returns how long h is at most in a message, in bytes.
func (h *Held) Weight() int {
	const fixed, child = 512, 128 // but for ids and the shape
	s := &h.State
	n := fixed + len(s.Target) + len(s.Source) + len(s.Op) + len(s.Parent.Node) + 10*len(s.Meta.Shape) + child*len(h.Delivered)
	for _, c := range s.Children {
		n += child + len(c.Node) + len(c.Source)
	}
	return n
}

// CopyKind says why a source can be read at a node.
type CopyKind uint8

// The kinds of copies that can be read.
const (
	Complete CopyKind = iota + 1 // a complete copy is listed
	Inline                       // so is one with its owner
	Origin                       // its bytes are being made there
	Target                       // likewise, by another Reduce
)

// String returns the name of k.
func (k CopyKind) String() string {
	return name([]string{"-", "complete", "inline", "origin", "target"}, uint8(k))
}

// Reason says why a source lost its place.
type Reason uint8

// The reasons.
const (
	LostPanic     Reason = iota + 1 // the place's actor ended
	LostDown                        // its node left the view
	LostSuspected                   // its node is suspected
	LostEdge                        // its parent cannot read it
	LostSource                      // it cannot read its source
	LostRefused                     // it does not take the command
	LostStalled                     // its source made no progress, and another was ready
	LostReset                       // its source starts over
	LostAborted                     // its source was given up
	LostDeleted                     // its source was deleted
	LostUnheld                      // it is dead, and no place above holds its output
)

// String returns the name of r.
func (r Reason) String() string {
	return name([]string{"-", "panic", "node down", "node suspected", "broken edge", "source failed", "refused",
		"stalled", "source reset", "source aborted", "source deleted", "not held above"}, uint8(r))
}

func name(names []string, i uint8) string {
	if int(i) >= len(names) {
		return "?"
	}
	return names[i]
}

func (Start) event()           {}
func (Resume) event()          {}
func (Tick) event()            {}
func (Cancel) event()          {}
func (Joined) event()          {}
func (Made) event()            {}
func (NodeGone) event()        {}
func (Leaving) event()         {}
func (PlaceLost) event()       {}
func (Begun) event()           {}
func (Attached) event()        {}
func (Rejected) event()        {}
func (Ready) event()           {}
func (Surveyed) event()        {}
func (SourceFinal) event()     {}
func (SourceReset) event()     {}
func (SourceGone) event()      {}
func (SourceMissing) event()   {}
func (HolderGone) event()      {}
func (Restarted) event()       {}
func (RestartRefused) event()  {}
func (Finalised) event()       {}
func (FinaliseRefused) event() {}
func (Aborted) event()         {}
func (TargetGone) event()      {}
func (Acked) event()           {}
func (Refused) event()         {}
func (Stopped) event()         {}
func (Delivered) event()       {}
func (NotDelivered) event()    {}
func (Stalled) event()         {}
func (Moving) event()          {}
func (Waiting) event()         {}
func (Combining) event()       {}
func (CombineFailed) event()   {}
func (RootDone) event()        {}
func (InlineDone) event()      {}
func (InlineFailed) event()    {}
func (Inspected) event()       {}
