package workflow

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// Ledger says where the ledger is.
type Ledger struct {
	Epoch  uint64         // of the controller
	Leader phalanx.NodeID // where the controller is
	Disks  []LedgerDisk
}

// LedgerDisk is a disk that holds the ledger, or that could.
type LedgerDisk struct {
	Disk      string
	Node      phalanx.NodeID // "": it has not said so since the leader leads
	Address   string         // of the node
	Host      string
	Holds     bool
	Leads     bool
	Temporary bool
	Failed    bool
	Silent    time.Duration // since the leader has heard of it
}
