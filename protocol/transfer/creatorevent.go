package transfer

import "github.com/phalanx-go/phalanx"

// CreatorEvent is everything that can happen to a Creator. Answered and Pushed
// are events too.
type CreatorEvent interface{ creatorEvent() }

type (
	// Start begins a Put whose room is reserved.
	Start struct{}
	// FirstPiece tells that the first piece is filled.
	FirstPiece struct{}
	// Filled tells that the source has ended.
	Filled struct {
		Size   int64
		Digest phalanx.Digest
	}
	// Stop ends the Put: the source failed, or the caller went away.
	Stop struct{ Err *phalanx.Error }
)

func (Start) creatorEvent()      {}
func (FirstPiece) creatorEvent() {}
func (Filled) creatorEvent()     {}
func (Stop) creatorEvent()       {}
func (Answered) creatorEvent()   {}
func (Pushed) creatorEvent()     {}

// CreatorEffect is everything a Creator asks its shell to do. Announce, Cancel
// and Discard are effects too.
type CreatorEffect interface{ creatorEffect() }

type (
	// Bind asks the owner to bind the id.
	Bind struct {
		Num     uint64
		Meta    phalanx.Meta
		Copies  int
		Replace phalanx.Generation
		After   phalanx.Generation // was deleted, as the owner has said
	}
	// BindInline asks the owner to bind and finish a small object with the filled
	// bytes.
	BindInline struct {
		Num    uint64
		Gen    phalanx.Generation
		After  phalanx.Generation // as in Bind
		Meta   phalanx.Meta
		Digest phalanx.Digest
		Copies int
	}
	// Finish asks the owner to record that Gen is final.
	Finish struct {
		Num    uint64
		Gen    phalanx.Generation
		Meta   phalanx.Meta
		Digest phalanx.Digest
	}
	// Withdraw asks the owner to release the binding of Gen.
	Withdraw struct {
		Num uint64
		Gen phalanx.Generation
	}
	// Fill starts to read the source into the buffer. No reader sees it before Show.
	Fill struct{}
	// Show makes the buffer readable as generation Gen.
	Show struct{ Gen phalanx.Generation }
	// AwaitCopies asks the owner to answer once Copies complete pinned copies of
	// Gen are listed.
	AwaitCopies struct {
		Num    uint64
		Gen    phalanx.Generation
		Copies int
	}
	// Created ends the Put: the own copy is complete and pinned. If Existed,
	// another creator had put the same bytes.
	Created struct {
		Gen     phalanx.Generation
		Meta    phalanx.Meta
		Digest  phalanx.Digest
		Existed bool
	}
	// NotCreated ends the Put with an error. The Creator itself may not be over:
	// if it was about to finish, it first has to know the outcome.
	NotCreated struct{ Err *phalanx.Error }
	// Kept tells that the object is final and the own copy complete and pinned,
	// although the Put is not done: it waits for further copies, or had to end
	// before that was known. Created or NotCreated follows, or came before.
	Kept struct {
		Gen    phalanx.Generation
		Meta   phalanx.Meta
		Digest phalanx.Digest
	}
)

func (Bind) creatorEffect()        {}
func (BindInline) creatorEffect()  {}
func (Finish) creatorEffect()      {}
func (Withdraw) creatorEffect()    {}
func (Announce) creatorEffect()    {}
func (Cancel) creatorEffect()      {}
func (Fill) creatorEffect()        {}
func (Show) creatorEffect()        {}
func (AwaitCopies) creatorEffect() {}
func (Created) creatorEffect()     {}
func (NotCreated) creatorEffect()  {}
func (Kept) creatorEffect()        {}
func (Discard) creatorEffect()     {}
