package keeper

import "github.com/phalanx-go/phalanx/node/ledger"

// Look asks the actor which disks it knows. To has room for the answer, which is empty if this node does not lead.
type Look struct{ To chan<- []ledger.Seen }

func (a *instance) seen() []ledger.Seen {
	if a.core == nil {
		return nil
	}
	return a.core.Disks(a.node.Now())
}
