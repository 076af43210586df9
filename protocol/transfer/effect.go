package transfer

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// Effect is everything a Receiver asks its shell to do.
type Effect interface{ effect() }

type (
	// Locate asks the directory for a sender. Failed is the lease that has just
	// failed, or 0: the break of a stream may have taken its report with it.
	Locate struct {
		Num    uint64
		Room   int64
		Wait   bool
		Failed uint64
	}
	// Cancel withdraws a request, and the lease that answered it.
	Cancel struct{ Num uint64 }
	// ReportDone tells the owner that a lease is over and all bytes came.
	ReportDone struct {
		Num      uint64
		Lease    uint64
		Gen      phalanx.Generation
		Complete bool
		Rate     int64 // bytes per second from the sender, if it was measured
	}
	// ReportFailed tells the owner that a lease failed.
	ReportFailed struct {
		Num    uint64
		Lease  uint64
		Reason string
	}
	// ReportCorrupt tells the owner that the bytes of Gen, each piece of which is as
	// its origin made it, do not have the digest that was recorded.
	ReportCorrupt struct {
		Num    uint64
		Gen    phalanx.Generation
		Digest phalanx.Digest // theirs
	}
	// ReportDrop tells the owner that the copy is gone.
	ReportDrop struct {
		Num uint64
		Gen phalanx.Generation
	}
	// Reserve asks for room for a buffer of Bytes in all; answered by Reserved or
	// NoRoom. For an object of unknown size it asks for the next step (Bytes -1).
	Reserve struct{ Bytes int64 }
	// Open reads generation Gen from Sender, from the watermark on, into the
	// buffer, which is made if there is none of Gen. Beside comes from the grant.
	// With Checked the first piece was bad: the receiver asks for it again, and the
	// sender is to send it only after its own check.
	Open struct {
		Stream  uint64
		Sender  phalanx.NodeID
		Lease   uint64
		Beside  bool
		Checked bool
		Gen     phalanx.Generation
		Meta    phalanx.Meta
	}
	// Supply takes the missing bytes of Gen from the Put that told Supplied, behind
	// the stream that was closed; Whole follows.
	Supply struct{ Gen phalanx.Generation }
	// Close ends a stream; it is not heard of again.
	Close struct{ Stream uint64 }
	// Clear forgets the bytes of generations before Before; streaming readers
	// of them fail with Kind.
	Clear struct {
		Before phalanx.Generation
		Kind   phalanx.Kind
	}
	// TakeInline takes the bytes that came with the answer. If the owner does not list
	// them as a copy, a Delete cannot reach them: they are for the callers that wait
	// now, unless the shell announces them.
	TakeInline struct {
		Gen    phalanx.Generation
		Meta   phalanx.Meta
		Digest phalanx.Digest
	}
	// Complete makes the copy complete and gives it to every caller.
	Complete struct {
		Gen    phalanx.Generation
		Meta   phalanx.Meta
		Digest phalanx.Digest
	}
	// Fail ends the fetch for every caller.
	Fail struct{ Err *phalanx.Error }
	// Refuse ends it for one caller, which would not wait as others do.
	Refuse struct {
		Caller uint64
		Err    *phalanx.Error
	}
	// SenderLost tells of a sender that did not finish.
	SenderLost struct {
		Sender phalanx.NodeID
		Why    Why
		Held   int64
	}
	// Resumed tells that the transfer goes on with another sender.
	Resumed struct {
		Sender phalanx.NodeID
		Gen    phalanx.Generation
		After  time.Duration // since the loss
	}
)

func (Locate) effect()        {}
func (Cancel) effect()        {}
func (ReportDone) effect()    {}
func (ReportFailed) effect()  {}
func (ReportCorrupt) effect() {}
func (ReportDrop) effect()    {}
func (Announce) effect()      {}
func (Reserve) effect()       {}
func (Open) effect()          {}
func (Supply) effect()        {}
func (Close) effect()         {}
func (Clear) effect()         {}
func (TakeInline) effect()    {}
func (Complete) effect()      {}
func (Discard) effect()       {}
func (Fail) effect()          {}
func (Refuse) effect()        {}
func (SenderLost) effect()    {}
func (Resumed) effect()       {}
