package reduce

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// PlaceEvent is everything that can happen to a Place.
type PlaceEvent interface{ placeEvent() }

// From the coordinator. Inspect and AskDelivered stand for the effects of the
// same name, which a host hands on.
type (
	// Commanded is a Command. Unable is set by the host if it cannot be carried
	// out here: the op is not registered (ErrUnknownOp), the source is not on
	// this node (ErrNotFound), there is no room (ErrNoSpace) …; Text is the error for
	// people.
	Commanded struct {
		State  State
		Unable phalanx.Kind
		Text   string
	}

	// Stopping is a Stop.
	Stopping struct {
		Place     int // position
		Attempt   uint64
		Gen       PlaceGen
		Final     bool
		TargetGen phalanx.Generation // if Final
	}

	// Asked is an AskDelivered.
	Asked struct {
		ParentGen PlaceGen
		Child     int // position
		ChildGen  PlaceGen
	}

	// AskedRuns is an AskRuns.
	AskedRuns struct {
		Place int // position
		Gen   PlaceGen
	}

	// Inspecting is an Inspect; Place.Held has the answer to it.
	Inspecting struct{ Attempt uint64 }
)

// From the host of the place.
type (
	// PlaceTick tells the time.
	PlaceTick struct{ Now time.Duration }

	// SourceMoved says that more bytes of the source are there.
	SourceMoved struct{ Gen phalanx.Generation }

	// SourceComplete says that all bytes of the source are there.
	SourceComplete struct{ Gen phalanx.Generation }

	// SourceFailed says that the source cannot be read (any more) here: it was
	// aborted, deleted or reset, or its bytes are bad.
	SourceFailed struct {
		Gen  phalanx.Generation
		Text string
	}

	// EdgeEnded says that a child's stream ended. Complete: every byte was
	// received. Kept: they are kept apart from the output, as long as EdgeDropped
	// does not take that back. A child that answers that it has no bytes yet has
	// not ended; a node that does not run the child with that label may answer so
	// for a second, since a command can be late, and then ends the stream.
	EdgeEnded struct {
		Child    int // position
		Gen      PlaceGen
		Stream   uint64
		Complete bool
		Kept     bool
		Text     string
	}

	// EdgeDropped says that a child's stream, which was kept, is not any more,
	// because memory was needed.
	EdgeDropped struct {
		Child int // position
		Gen   PlaceGen
	}

	// OutputDone says that every byte of the output was made.
	OutputDone struct {
		Gen    PlaceGen
		Size   int64
		Digest phalanx.Digest
	}

	// OutputWaits says that the output waits for memory; without a text, that it has
	// it.
	OutputWaits struct {
		Gen  PlaceGen
		Text string
	}

	// OpFailed says that the op has failed on an input of the output Gen, which comes from
	// Source, or from the child that has it. No other place would do better.
	OpFailed struct {
		Gen    PlaceGen
		Source phalanx.ObjectID
		Kind   phalanx.Kind
		Text   string
	}

	// OpRuns says that the op was called for the output Gen and has not returned for
	// long; without a text, that it has.
	OpRuns struct {
		Gen  PlaceGen
		Text string
	}

	// OutputMissing says that the parent asks for bytes of the output that are
	// not kept: they are to be made again, under the same label.
	OutputMissing struct{ Gen PlaceGen }
)

// PlaceEffect is everything that a Place asks its host to do.
type PlaceEffect interface{ placeEffect() }

type (
	// OpenSource asks for the source to be pinned and read from this node.
	OpenSource struct {
		Source phalanx.ObjectID
		Gen    phalanx.Generation
		Meta   phalanx.Meta
	}

	// CloseSource ends OpenSource.
	CloseSource struct {
		Source phalanx.ObjectID
		Gen    phalanx.Generation
	}

	// OpenEdge asks for the output of a child to be pulled, by (reduce, place,
	// place generation), from the offset up to which the host has it apart,
	// which is 0 when it keeps nothing. Only the label Gen may be taken. Its bytes
	// go into the combination at Order.
	OpenEdge struct {
		Order  int
		Place  int // position
		Node   phalanx.NodeID
		Gen    PlaceGen
		Stream uint64 // tells this stream from an earlier one of the same label
	}

	// CloseEdge ends OpenEdge. Keep: bytes of the child that the host has apart stay of use,
	// since the child is opened again or is complete. Otherwise it drops them.
	CloseEdge struct {
		Place  int // position
		Gen    PlaceGen
		Stream uint64
		Keep   bool
	}

	// ResetOutput asks for all that was combined to be dropped, and for the
	// readers of other labels than Gen to be turned away. Children that are kept
	// apart stay.
	ResetOutput struct{ Gen PlaceGen }

	// Combine names the inputs of the output Gen, in this order. The host folds
	// the inputs that are known, as far as their bytes have come, up to the first
	// that is not known; the list grows by further Combines. If the source is
	// the only input, the output is the source itself.
	Combine struct {
		Gen    PlaceGen
		Op     phalanx.Op
		Meta   phalanx.Meta
		Inputs []CombineInput
		Ring   int // of how many places; the output is then made as there, out of shards
	}

	// Serve says who may read the output Gen: the parent, or, at the root, all
	// readers of TargetGen of the target; no reader while that is zero.
	Serve struct {
		Gen       PlaceGen
		Root      bool
		Parent    Peer // its Gen only names the expected parent
		Target    phalanx.ObjectID
		TargetGen phalanx.Generation
	}

	// Release asks for everything to be freed: the source's pin, the output and
	// the kept bytes of children. KeepTarget: the output is the final target,
	// which stays, pinned at the root; a place of a ring that does not have all of
	// it yet, or was not asked for all of it, goes on until then.
	Release struct{ KeepTarget bool }

	// Report asks for the event to be sent to the coordinator: Acked, Refused,
	// Stopped, Delivered, NotDelivered, Stalled, Moving, Waiting, Combining,
	// CombineFailed, RootDone or PlaceLost.
	// Reports may be lost: the place repeats important ones.
	Report struct{ Event Event }
)

// CombineInput is one input of a place.
type CombineInput struct {
	Order int
	Self  bool     // the place's own source
	Place int      // position of the child
	Gen   PlaceGen // label of the child's output; zero: not known yet
}

func (Commanded) placeEvent()      {}
func (Stopping) placeEvent()       {}
func (Asked) placeEvent()          {}
func (AskedRuns) placeEvent()      {}
func (Inspecting) placeEvent()     {}
func (PlaceTick) placeEvent()      {}
func (SourceMoved) placeEvent()    {}
func (SourceComplete) placeEvent() {}
func (SourceFailed) placeEvent()   {}
func (EdgeEnded) placeEvent()      {}
func (EdgeDropped) placeEvent()    {}
func (OutputDone) placeEvent()     {}
func (OutputWaits) placeEvent()    {}
func (OutputMissing) placeEvent()  {}
func (OpFailed) placeEvent()       {}
func (OpRuns) placeEvent()         {}

func (OpenSource) placeEffect()  {}
func (CloseSource) placeEffect() {}
func (OpenEdge) placeEffect()    {}
func (CloseEdge) placeEffect()   {}
func (ResetOutput) placeEffect() {}
func (Combine) placeEffect()     {}
func (Serve) placeEffect()       {}
func (Release) placeEffect()     {}
func (Report) placeEffect()      {}
