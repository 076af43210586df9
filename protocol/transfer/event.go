package transfer

import "github.com/phalanx-go/phalanx"

// Event is everything that can happen to a Receiver.
type Event interface{ event() }

type (
	// Want tells of a local caller. Unless Wait, the call ends with ErrNotFound for an
	// unbound id.
	Want struct {
		Caller uint64
		Wait   bool
	}
	// Leave tells that a caller has gone away.
	Leave struct{ Caller uint64 }
	// Downstream tells how many receivers are reading from this copy.
	Downstream struct{ Streams int }
	// Reserved answers Reserve.
	Reserved struct{ Bytes int64 }
	// NoRoom answers Reserve with an error.
	NoRoom struct{ Err *phalanx.Error }
	// Ended tells that a stream is over.
	Ended struct {
		Stream uint64
		Why    Why
		Gen    phalanx.Generation // Superseded: the sender's
		Held   int64              // the watermark: bytes that are there and checked
		Text   string
	}
	// Move tells that the owner has a better sender than the present one of a lease.
	Move struct {
		Lease uint64
		Held  int64 // bytes, checked
	}
	// Corrupted tells that bytes of Gen which had passed their check do not any more.
	Corrupted struct{ Gen phalanx.Generation }
	// Listed is the owner's answer to ReportDone or Announce of generation Of. It is as
	// good as an order, and may be all that comes: orders go to nodes that the owner
	// lists, and this copy may be new to an owner that has just taken over.
	Listed struct {
		Of phalanx.Generation
		Answered
	}
	// Supplied tells that a Put of this node has the same bytes, and that the
	// owner lists the copy here as complete: the rest is taken from there.
	Supplied struct {
		Gen    phalanx.Generation
		Meta   phalanx.Meta
		Digest phalanx.Digest
	}
	// Whole tells that every byte of Gen is there and checked, and their digest.
	Whole struct {
		Gen    phalanx.Generation
		Size   int64
		Digest phalanx.Digest
		Rate   int64 // bytes per second from the last sender; 0 if it was not measured
	}
)

// Why says how a stream ended.
type Why uint8

// The ends of a stream.
const (
	AllSent    Why = iota // the sender has sent every byte
	Superseded            // RESET: the sender has a greater generation
	Busy                  // the sender serves another receiver
	Gone                  // the sender has no such copy
	Stalled               // silence
	Broken                // the connection failed
	BadPiece              // bytes that do not match their check
	Cycle                 // the path of WAIT contains this node
	Full                  // no room for the next step of an object of unknown size
	Slow                  // not an end: the owner knows a better sender
)

var whys = [...]string{"all sent", "superseded", "busy", "gone", "stalled", "broken", "bad piece", "cycle", "full", "slow"}

// String returns a word for w.
func (w Why) String() string { return whys[w] }

func (Want) event()       {}
func (Leave) event()      {}
func (Downstream) event() {}
func (Answered) event()   {}
func (Reserved) event()   {}
func (NoRoom) event()     {}
func (Ended) event()      {}
func (Move) event()       {}
func (Corrupted) event()  {}
func (Supplied) event()   {}
func (Whole) event()      {}
func (Pushed) event()     {}
