package reduce

import "github.com/phalanx-go/phalanx"

// Effect is everything a Coordinator asks its host to do.
type Effect interface{ effect() }

type (
	// Begin asks the directory to bind the target to this Reduce. It is
	// repeated until it is answered by Begun, Attached or Rejected.
	Begin struct {
		Target  phalanx.ObjectID
		Request phalanx.Digest
		Node    phalanx.NodeID // the coordinator's
		Attempt uint64
		After   phalanx.Generation // was deleted, as the answer to the last Begin said
	}

	// Join tells the coordinator at Node, which runs the same Reduce, that this node
	// wants the target, and the sources that it has, as Joined. It may get lost.
	Join struct {
		Node   phalanx.NodeID
		Target phalanx.ObjectID
		Reduce phalanx.Generation
	}

	// Watch asks the directory to push Ready, SourceFinal, SourceReset,
	// SourceGone and HolderGone for the sources, in the order in which they
	// happened for each; SourceFinal also of a source that was final before and has no
	// copy now. Sources that are ready already are best handed over together, as Surveyed.
	Watch struct{ Sources []phalanx.ObjectID }

	// Unwatch ends Watch.
	Unwatch struct{}

	// Remember asks the host to keep this where a restart of the coordinator
	// finds it, with the request and the attempt, before it carries out later
	// effects. It replaces the Remember before it.
	Remember struct {
		Reduce phalanx.Generation
		Degree int
		Meta   phalanx.Meta
		Nodes  []phalanx.NodeID // sorted; every node that was ever told something
	}

	// Command gives Node the wanted state of the place, to be answered by Acked
	// or Refused at once; it starts the place if there is none. It is repeated
	// until then. The host should let the coordinator know by PlaceLost when
	// the place ends.
	Command struct {
		Node  phalanx.NodeID
		State State
	}

	// Stop tells Node that the place is not wanted any more, unless it has been
	// told a greater Gen since. It is repeated until Stopped. Final: the target
	// is final in TargetGen, and its maker keeps its copy.
	Stop struct {
		Node      phalanx.NodeID
		Target    phalanx.ObjectID
		Reduce    phalanx.Generation
		TargetGen phalanx.Generation
		Attempt   uint64
		Place     int
		Gen       PlaceGen
		Final     bool
	}

	// AskDelivered asks the place Parent at Node whether it has all bytes of its
	// child, to be answered by Delivered or NotDelivered. It is repeated for a
	// while.
	AskDelivered struct {
		Node      phalanx.NodeID
		Target    phalanx.ObjectID
		Reduce    phalanx.Generation
		Parent    int
		ParentGen PlaceGen
		Child     int
		ChildGen  PlaceGen
	}

	// AskRuns asks Node whether it runs the place, which has not been heard of for long,
	// to be answered by Acked or PlaceLost. The end of a place is told once, and that
	// may get lost. It is repeated until then.
	AskRuns struct {
		Node   phalanx.NodeID
		Target phalanx.ObjectID
		Reduce phalanx.Generation
		Place  int
		Gen    PlaceGen
	}

	// Inspect asks Node which places of this Reduce it runs, from one on, to be
	// answered by Inspected, and to refuse commands of lesser attempts from now on.
	Inspect struct {
		Node    phalanx.NodeID
		Target  phalanx.ObjectID
		Reduce  phalanx.Generation
		Attempt uint64
		From    int
	}

	// CombineInline asks the host to read the inputs, which are small and
	// final, to combine them in this order, and to hold the result for
	// Finalise. InlineDone or InlineFailed with the same Seq answers it; only the
	// last Seq counts.
	CombineInline struct {
		Seq       uint64
		Target    phalanx.ObjectID
		TargetGen phalanx.Generation
		Op        phalanx.Op
		Meta      phalanx.Meta
		Inputs    []Input // in the order of arrival
	}

	// Restart asks the directory for a new generation of the target in place of
	// From. It is repeated until Restarted or RestartRefused. The directory
	// answers no Restart, Finalise or Abort of a lesser attempt than the last
	// Begin's.
	Restart struct {
		Target  phalanx.ObjectID
		Attempt uint64
		From    phalanx.Generation
	}

	// Finalise asks the directory to make the target final in Gen, and to record
	// In and Out as the answer to equal requests. Inline: with the bytes that
	// the host holds. It is repeated until Finalised or FinaliseRefused.
	Finalise struct {
		Target  phalanx.ObjectID
		Attempt uint64
		Gen     phalanx.Generation
		Meta    phalanx.Meta
		Digest  phalanx.Digest
		In, Out []phalanx.ObjectID
		Inline  bool
		At      phalanx.NodeID // of the root, which has every byte; not if Inline
	}

	// Abort asks the directory to release the target, which will not become
	// final. It is repeated until Aborted.
	Abort struct {
		Target  phalanx.ObjectID
		Attempt uint64
		Gen     phalanx.Generation
	}

	// Result is the answer to the caller: the sources that are in the target and
	// the others, both in the order of the request.
	Result struct {
		In, Out []phalanx.ObjectID
		Gen     phalanx.Generation
		Size    int64
		Digest  phalanx.Digest
	}

	// Fail is the other answer.
	Fail struct{ Err *phalanx.Error }

	// Notify tells an observer a step of recovery. Fields that do not apply are
	// zero.
	Notify struct {
		What   Notice
		Place  int
		Source phalanx.ObjectID
		Node   phalanx.NodeID
		Gen    PlaceGen
		Reason Reason
		Text   string
		Places []int // AncestorsCleared: the positions, from the root down
	}
)

// Input is one source of a CombineInline. Node has it; if it is empty only the
// directory does.
type Input struct {
	Source phalanx.ObjectID
	Gen    phalanx.Generation
	Node   phalanx.NodeID
}

// Notice is the kind of a Notify.
type Notice uint8

// The notices.
const (
	NotePlaced    Notice = iota + 1 // a source took a place that was never taken
	NoteLost                        // a place runs no more; why is in Reason
	NoteHeld                        // a dead place is not replaced: its parent has all of it
	NoteEmptied                     // a source lost its place
	NoteReplaced                    // a source took a place that another had
	NoteCleared                     // ancestors cleared their results
	NoteRestarted                   // the target has a new generation
	NoteCompleted                   // the target is final
	NoteMoved                       // a source took a place whose source took another one
)

// String returns the name of n.
func (n Notice) String() string {
	return name([]string{"-", "placed", "lost", "held", "emptied", "replaced", "ancestors cleared", "restarted", "completed", "moved"}, uint8(n))
}

func (Begin) effect()         {}
func (Join) effect()          {}
func (Watch) effect()         {}
func (Unwatch) effect()       {}
func (Remember) effect()      {}
func (Command) effect()       {}
func (Stop) effect()          {}
func (AskDelivered) effect()  {}
func (AskRuns) effect()       {}
func (Inspect) effect()       {}
func (CombineInline) effect() {}
func (Restart) effect()       {}
func (Finalise) effect()      {}
func (Abort) effect()         {}
func (Result) effect()        {}
func (Fail) effect()          {}
func (Notify) effect()        {}
