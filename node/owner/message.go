package owner

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/transfer"
)

// Message is a request or a report for the owner of an object.
type Message struct {
	How  How
	Num  uint64 // of the awaited or withdrawn request; else the host takes the next number as it sends
	Body directory.Body
	Gen  phalanx.Generation // of the copy, in a report
}

// How is the way in which a host sends a Message.
type How uint8

// The ways.
const (
	Await    How = iota // send it; the core hears each answer, and the waiting caller hears of silence
	Withdraw            // end the awaited request Num, then send Body, its Cancel
	Tell                // send it; the core does not ask for the answer
	List                // send the report; the core hears the answer as transfer.Listed
	Unkeep              // report that a part is gone, unless this node has all of the generation from elsewhere
)

// Answered returns an owner's answer to request num as an event of a transfer's core.
func Answered(num uint64, owner phalanx.NodeID, r directory.Result) transfer.Answered {
	return transfer.Answered{Num: num, Kind: r.Kind, Text: r.Text, Node: owner, Waiting: r.Waiting, State: transfer.State(r.State),
		Gen: r.Gen, Meta: r.Meta, Digest: r.Digest, Inline: r.Inline != nil || r.IsInline && r.Meta.Size == 0, Origin: r.Origin,
		Lease: r.Lease, Sender: r.Sender, Beside: r.Beside}
}

// Order returns an order as an event of a transfer's core; false: the order does not concern
// it.
func Order(p directory.Push) (transfer.Pushed, bool) {
	return transfer.Pushed{Order: transfer.Order(p.Order), Gen: p.Gen, Meta: p.Meta, Digest: p.Digest}, p.Order <= directory.PushDrop
}

// Unlisted reports whether this node has to announce a copy whose bytes came with the owner's
// answer: the owner has not listed it, or has in another epoch than the present one, and this
// node may have listed its holdings for that without the copy. A Delete reaches only listed
// copies.
func Unlisted(listed, epoch uint64) bool { return listed == 0 || listed != epoch }

func cancel(num uint64) Message {
	return Message{How: Withdraw, Num: num, Body: directory.Cancel{Num: num}}
}

func announce(e transfer.Announce) Message {
	how := List
	if e.Complete {
		how = Tell
	}
	return Message{How: how, Gen: e.Gen, Body: directory.Announce{Gen: e.Gen, Complete: e.Complete, Pinned: e.Pinned, Origin: e.Origin, Begun: e.Begun, Retiring: e.Retiring}}
}
