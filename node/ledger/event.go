package ledger

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// Event is everything that can happen to a Core.
type Event interface{ event() }

type (
	// Tick says that the time of Due has come.
	Tick struct{}

	// Viewed brings a view that has the own node.
	Viewed struct {
		Self     phalanx.NodeID
		Number   uint64
		Restarts uint64   // of the view
		First    bool     // the node was the first member with a folder, with this one if it was another incarnation
		Members  []Member // all, in joining order
	}

	// Heard brings what another node said of itself.
	Heard struct{ Hello Hello }

	// Letter brings a message of another node's replica.
	Letter struct {
		Address  string // of that node
		From, To uint64
		Data     []byte // the core's to keep
	}

	// Opened answers Create and Adopt, or comes first of all if the folder has a replica of its ledger: it
	// is what the disk holds.
	Opened struct {
		Ledger uint64
		State  ledger.State
	}

	// Failed says that the folder cannot be used, and why: its replica ends, or never begins.
	Failed struct{ Err error }

	// ForReplica is an event for the protocol's core.
	ForReplica struct{ Event ledger.Event }

	// Leased says until when the node is surely a member of its view.
	Leased struct{ Until time.Duration }

	// NoLease says that the node hears of no majority of the voters, and gets no lease. The next Leased ends that.
	NoLease struct{}

	// Recorded answers ReadRecord with what the ledger has, and Record when it is durable. Failed: it is not known
	// whether it is.
	Recorded struct {
		Epoch  uint64
		Record ledger.Record
		Failed bool
	}

	// NotListening says that the host of an address has refused a connection: no process listens there.
	NotListening struct{ Address string }

	// Leave says that the node is about to leave: its replica hands over.
	Leave struct{}
)

// Member is a member of a view.
type Member struct {
	Node    phalanx.NodeID
	Address string
	Keeps   bool // it has a Core of this package
	Folder  bool // and a folder
	Votes   bool // about the view
	Leaving bool
}

func (Tick) event()         {}
func (Viewed) event()       {}
func (Heard) event()        {}
func (Letter) event()       {}
func (Opened) event()       {}
func (Failed) event()       {}
func (ForReplica) event()   {}
func (Leased) event()       {}
func (NoLease) event()      {}
func (Recorded) event()     {}
func (NotListening) event() {}
func (Leave) event()        {}

// Hello is what a node says of itself, and of what it knows.
type Hello struct {
	Asks    bool   // for the other one's Hello
	Address string // that it can be dialled at
	Node    phalanx.NodeID
	Host    string
	View    uint64 // the number of its view; 0: none

	Ledger    uint64 // 0: none yet
	Disk      uint64 // 0: the node has no folder
	Replica   uint64 // 0: none yet
	Opened    uint64
	Run       uint64
	Temporary bool
	Failed    bool   // its replica has ended
	InCluster bool   // it holds a lease of its view
	Booting   bool   // it begins a cluster anew
	Joining   bool   // it has heard of a cluster lately, and holds no lease yet
	Lost      bool   // its view never has a lease again: the processes of most of its voters have ended
	Boot      uint64 // the number of that, or of its view: Restarts and 1
	Stale     uint64 // an answer to the opening of that Run: the disk was opened elsewhere since; 0: it was not

	Lead     Lead
	Replicas []Place  // replicas of the ledger, as far as known
	Voters   []uint64 // said by the leader
	Wanted   []uint64 // said by the leader
}

// Lead says which replica leads, and where.
type Lead struct {
	Term    uint64
	Replica uint64 // 0: none is known
	Address string // of its node; "": not known
}

// Place is where a replica is.
type Place struct {
	Replica uint64
	Address string
}

// Limits of a Hello. What others say beyond them is refused where it is decoded.
const (
	MaxPlaces  = 64
	MaxAddress = 1024 // bytes
)
