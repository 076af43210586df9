package ledger

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// Effect is everything a Core asks its host to do. Nothing that is sent needs to arrive.
type Effect interface{ effect() }

type (
	// Say asks to bring a Hello to the node at an address, as Heard. NotListening answers it if its host refuses the
	// connection.
	Say struct {
		To    string
		Hello Hello
	}

	// Post asks to bring Data to a replica at an address, as Letter.
	Post struct {
		Address  string
		From, To uint64
		Data     []byte // the host's to keep
	}

	// SendSnapshot is that of the protocol's core, with the address.
	SendSnapshot struct {
		Address string
		From    uint64
		ledger.SendSnapshot
	}

	// FromReplica is an effect of the protocol's core other than Send, SendSnapshot, Lead, Group and Halted.
	FromReplica struct{ Effect ledger.Effect }

	// Create asks to begin a replica in the folder, to make ledger.Create of it durable, and then to bind the
	// folder to the new ledger. Opened answers it.
	Create struct{ Ledger uint64 }

	// Adopt asks to bind the folder to a ledger and to begin a replica in it. Opened answers it.
	Adopt struct{ Ledger uint64 }

	// Remember asks to have the folder remember the addresses of nodes that have disks, or members.
	Remember struct{ Addresses []string }

	// Leads says which replica leads, when that is news: the controller is with it.
	Leads struct{ Lead Lead }

	// Serves says that the controller of the tenure of Epoch may begin.
	Serves struct{ Epoch uint64 }

	// Remains says how much the node has to hand over before it may leave, as of a view.
	Remains struct {
		View uint64
		Left int
	}

	// Keeps is news: the node may leave although its disk still has a replica, since no other disk is there that
	// takes it. Others are the disks that have one besides.
	Keeps struct{ Others int }

	// Replaced is news of the leader: the group's disks have changed, and no other one is needed.
	Replaced struct{ Added, Removed, Voters []uint64 }

	// Met is news: the node at an address belongs to another ledger. This node refuses it.
	Met struct {
		Address string
		Node    phalanx.NodeID
		Ledger  uint64
	}

	// ReadRecord asks, as a tenure begins, for the ledger's record of who begins the cluster anew. Recorded
	// answers it.
	ReadRecord struct{ Epoch uint64 }

	// Record asks to append the record to the ledger, in that tenure. Recorded answers it.
	Record struct {
		Epoch  uint64
		Record ledger.Record
	}

	// Begin asks to begin a cluster anew, whose views have Restarts.
	Begin struct{ Restarts uint64 }

	// Enter asks to enter the cluster of the node at an address. An incarnation that is in another one ends.
	Enter struct{ Address string }

	// WantLease asks to have the node keep a lease for a while.
	WantLease struct{}

	// Outdated asks to have the folder remember a generation of the ledger, which goes on without the replica that is on the disk.
	Outdated struct{ Generation uint64 }

	// Halted says that the own replica does nothing from now on, and why.
	Halted struct{ Err error }
)

func (Say) effect()          {}
func (Post) effect()         {}
func (SendSnapshot) effect() {}
func (FromReplica) effect()  {}
func (Create) effect()       {}
func (Adopt) effect()        {}
func (Remember) effect()     {}
func (Leads) effect()        {}
func (Remains) effect()      {}
func (Serves) effect()       {}
func (Keeps) effect()        {}
func (Replaced) effect()     {}
func (Met) effect()          {}
func (ReadRecord) effect()   {}
func (Record) effect()       {}
func (Begin) effect()        {}
func (Enter) effect()        {}
func (WantLease) effect()    {}
func (Outdated) effect()     {}
func (Halted) effect()       {}
