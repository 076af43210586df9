package directory

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// Event is everything that can happen to a Shard.
type Event interface{ event() }

type (
	// Configure tells the shard's entry in a new view.
	Configure struct {
		Epoch               uint64
		Owner, Backup, Next phalanx.NodeID
		Members             []phalanx.NodeID // every member of the view
		Leaving             []phalanx.NodeID // members that are about to leave
		Number              uint64           // of the view
		LostAt              uint64           // the last epoch that began since owner and backup were lost; 0: they never were
	}
	// Lease tells until when this node may answer and confirm: it has heard from
	// a majority of the voters.
	Lease struct{ Until time.Duration }
	// Replicate carries the owner's stream of changes to a backup, or to a node
	// that is to become one.
	Replicate struct {
		From    phalanx.NodeID
		Epoch   uint64
		Stream  uint64 // the epoch in which the owner began this stream
		First   uint64 // the sequence number of Changes[0], from 1
		Changes []Change
	}
	// Confirm tells the owner how much of its stream a replica has applied.
	Confirm struct {
		From   phalanx.NodeID
		Epoch  uint64
		Stream uint64
		Seq    uint64
	}
	// Holdings is a chunk of what node From has of this shard's objects. With End
	// it was the last one. Chunks can arrive in any order, or not at all, so they
	// are numbered within a Round; a greater Round is a new list. Round 0 stands
	// for chunks that arrive in order or not at all.
	Holdings struct {
		From     phalanx.NodeID
		Epoch    uint64
		Round    uint64
		Part     uint64 // from 0
		Before   uint64 // requests that From made before it looked have smaller numbers; 0: not told
		Holdings []Holding
		End      bool
	}
	// PushAcked tells that a node has carried out a Push.
	PushAcked struct {
		From   phalanx.NodeID
		Object phalanx.ObjectID
		Seq    uint64
	}
	// WatchAcked tells that a watcher has seen a version.
	WatchAcked struct {
		From    phalanx.NodeID
		Num     uint64
		Object  phalanx.ObjectID
		Version uint64
	}
	// LeaseKnown answers AskLease.
	LeaseKnown struct {
		From   phalanx.NodeID
		Object phalanx.ObjectID
		Lease  uint64
		Known  bool
	}
	// Tick lets time pass: repeats, tombstones, leases.
	Tick struct{}
)

// Change is one entry of the stream to a replica. Snapshot entries come first;
// End closes the snapshot; the replica then forgets its earlier state. While the owner
// rebuilds the shard, members may have copies of objects that are not among its records. Another
// End tells that it has finished.
type Change struct {
	Record     Record
	End        bool
	Rebuilding bool // with End
}

// Holding is one copy at a node, as it reports it to a new owner. If the shard was
// lost, the record is made of such.
type Holding struct {
	Object   phalanx.ObjectID
	Gen      phalanx.Generation
	Meta     phalanx.Meta
	Digest   phalanx.Digest // if complete
	Complete bool
	Pinned   bool
	Origin   bool
	Begun    bool
	Lease    uint64 // under which it is read
	Upstream phalanx.NodeID
	Copies   int    // complete pinned copies that are to be kept, as far as the holder knows; 0: it does not
	Tag      string // of the Reduce that has made it, if there was one and the holder knows
	Note     []byte // its answer, which only pinned copies have
}

func (Configure) event()  {}
func (Lease) event()      {}
func (Request) event()    {}
func (Replicate) event()  {}
func (Confirm) event()    {}
func (Holdings) event()   {}
func (PushAcked) event()  {}
func (WatchAcked) event() {}
func (LeaseKnown) event() {}
func (Tick) event()       {}

// Effect is everything a Shard asks its shell to do.
type Effect interface{ effect() }

// Order is the order of a Push to a holder.
type Order uint8

// The orders. The first four change the holder's copy.
const (
	PushFinal Order = iota // the generation is final: check the digest, be complete
	PushAbort              // the creator gave up: drop the copy of Gen and older
	PushReset              // Gen replaces the holder's copy
	PushDrop               // the object was deleted: drop every copy
	PushCopy               // fetch the object and pin it
	PushCheck              // look at every byte of your copy, and tell its digest by Checked
	PushSpare              // the copy that PushCopy has asked for is not needed any more
)

var orders = [...]string{"final", "abort", "reset", "drop", "copy", "check", "spare"}

// String returns a word for o.
func (o Order) String() string { return orders[o] }

type (
	// Push tells holder To about a change; it is repeated until PushAcked.
	Push struct {
		To     phalanx.NodeID
		Seq    uint64
		Object phalanx.ObjectID
		Order  Order
		Gen    phalanx.Generation
		Meta   phalanx.Meta
		Digest phalanx.Digest
		Copies int // PushCopy: how many are to be kept
	}
	// Readiness tells watcher To all that a coordinator wants to know of an
	// object; it is repeated until WatchAcked.
	Readiness struct {
		To      phalanx.NodeID
		Num     uint64 // of the Watch
		Version uint64
		Object  phalanx.ObjectID
		State   State
		Gen     phalanx.Generation
		Meta    phalanx.Meta
		Maker   Maker // of the bytes
		Digest  phalanx.Digest
		Inline  bool
		Bytes   []byte
		After   phalanx.Generation // was deleted, and all older ones with it
		Ready   []Location         // complete copies, and the origin once it has its first piece; at most MaxReady
	}
	// Location is one place where an object can be read.
	Location struct {
		Node     phalanx.NodeID
		Complete bool
	}
	// SendReplicate sends Replicate to To.
	SendReplicate struct {
		To phalanx.NodeID
		Replicate
	}
	// SendConfirm sends Confirm to To.
	SendConfirm struct {
		To phalanx.NodeID
		Confirm
	}
	// AckHoldings tells To that its holdings were taken.
	AckHoldings struct {
		To    phalanx.NodeID
		Epoch uint64
	}
	// AskLease asks To whether it still reads under a lease. With Move, its sender
	// gets the bytes slowly and there is a better one: To is to locate again.
	AskLease struct {
		To     phalanx.NodeID
		Object phalanx.ObjectID
		Lease  uint64
		Move   bool
	}
	// CaughtUp tells the view that Node has all that the owner has.
	CaughtUp struct {
		Epoch uint64
		Node  phalanx.NodeID
	}
	// LostState asks the view to drop this replica.
	LostState struct{ Epoch uint64 }
	// Warm tells that every member has reported its holdings.
	Warm struct{ Epoch uint64 }
	// ObjectReplaced tells that other bytes were put under the id of a lost object.
	ObjectReplaced struct {
		Object   phalanx.ObjectID
		Old, Gen phalanx.Generation
	}
	// ObjectLost tells that the last complete copy of a final object is gone.
	ObjectLost struct {
		Object phalanx.ObjectID
		Gen    phalanx.Generation
	}
)

func (Reply) effect()          {}
func (Push) effect()           {}
func (Readiness) effect()      {}
func (SendReplicate) effect()  {}
func (SendConfirm) effect()    {}
func (AckHoldings) effect()    {}
func (AskLease) effect()       {}
func (CaughtUp) effect()       {}
func (LostState) effect()      {}
func (Warm) effect()           {}
func (ObjectReplaced) effect() {}
func (ObjectLost) effect()     {}
