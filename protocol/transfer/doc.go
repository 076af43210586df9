// Package transfer decides how a node gets an object and how it makes one.
//
// A Receiver fetches one object for all callers on its node: it locates a
// sender, reserves room, reads from its watermark, goes on with another sender
// when one fails, starts over when the generation is replaced, and is done when
// every byte is there, the digest matches and the owner has recorded Final.
//
// A Creator makes one object: it binds the id, is readable while it is filled,
// and finishes; if the id is bound already it compares.
//
// Neither moves a byte: their effects open streams, reserve memory and report.
// Neither is safe for concurrent use; one actor owns each.
//
// Hosts: storenode/store, sim.
package transfer

import "github.com/phalanx-go/phalanx"

// State is the state of an id in the directory.
type State uint8

// The states, in the directory's order.
const (
	Unbound State = iota
	Begun
	Finished
	Lost
	Deleted
)

// Answered is the directory's answer to the request Num.
type Answered struct {
	Num     uint64
	Kind    phalanx.Kind // 0: it is done
	Text    string
	Node    phalanx.NodeID // of the owner that answered
	Waiting bool           // the request is queued at the owner
	State   State
	Gen     phalanx.Generation
	Meta    phalanx.Meta
	Digest  phalanx.Digest
	Inline  bool           // the answer carries the bytes of an inline object
	Origin  phalanx.NodeID // the node that makes the bytes, or made them
	Lease   uint64
	Sender  phalanx.NodeID
	Beside  bool // the sender serves a slow receiver besides, which does not count
}

// Order is an order of an object's owner to its holders.
type Order uint8

// The orders, in the directory's order.
const (
	OrderFinal Order = iota
	OrderAbort
	OrderReset
	OrderDrop
)

// Pushed is an order of the owner about generation Gen. Repeats do nothing.
type Pushed struct {
	Order  Order
	Gen    phalanx.Generation
	Meta   phalanx.Meta
	Digest phalanx.Digest
}

// Effects that Receiver and Creator share.
type (
	// Announce tells the owner of the own copy.
	Announce struct {
		Num      uint64
		Gen      phalanx.Generation
		Complete bool
		Pinned   bool
		Origin   bool
		Begun    bool
		Retiring bool // only its present readers go on: no other receiver is to be sent to it
	}
	// Discard drops the copy and its reservation.
	Discard struct{}
)
