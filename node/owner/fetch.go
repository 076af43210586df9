package owner

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/transfer"
)

// OfFetch returns the message of a transfer.Receiver's effect to the owner; false: there is
// none. The host adds to a directory.Locate how fast it has received (specification 2.13).
func OfFetch(e transfer.Effect) (Message, bool) {
	switch e := e.(type) {
	case transfer.Locate:
		return Message{How: Await, Num: e.Num, Body: directory.Locate{Room: e.Room, Wait: e.Wait, Failed: e.Failed}}, true
	case transfer.Cancel:
		return cancel(e.Num), true
	case transfer.ReportDone:
		how := List
		if e.Complete {
			how = Tell
		}
		return Message{How: how, Gen: e.Gen, Body: directory.Done{Lease: e.Lease, Gen: e.Gen, Complete: e.Complete, Rate: e.Rate}}, true
	case transfer.ReportFailed:
		return Message{How: Tell, Body: directory.Failed{Lease: e.Lease, Reason: e.Reason}}, true
	case transfer.ReportCorrupt:
		return Message{How: Tell, Body: directory.Corrupt{Gen: e.Gen, Digest: e.Digest}}, true
	case transfer.ReportDrop:
		return Message{How: Unkeep, Gen: e.Gen, Body: directory.Drop{Gen: e.Gen}}, true
	case transfer.Announce:
		return announce(e), true
	}
	return Message{}, false
}

// Abandoned returns the messages to the owner of a fetch that its actor has ended before its time: the
// owner would keep a lease for it, and send other nodes to its part of gen, if it had one.
// With inline it had bytes of gen that waited for room. over says that its receiver had ended.
func Abandoned(over, inline bool, locate uint64, gen phalanx.Generation) (all []Message) {
	if !inline && over {
		return nil
	}
	if !inline {
		all = append(all, cancel(locate))
	}
	if !gen.IsZero() {
		all = append(all, Message{How: Unkeep, Gen: gen, Body: directory.Drop{Gen: gen}})
	}
	return all
}
