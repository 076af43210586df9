package actors

import (
	"fmt"
	"strings"

	"github.com/phalanx-go/phalanx"
)

// Events of the ledger of workflows. A replica is named by its disk and its number on that disk.
type (
	// ReplicaReplaced says that other disks than before hold the ledger, and that no other one is needed any more.
	ReplicaReplaced struct {
		Added   []string `json:"added"`
		Removed []string `json:"removed"`
		Now     []string `json:"now"` // all that hold it
	}

	// ReplicaHalted says that this node's replica does nothing any more. Another disk takes its part.
	ReplicaHalted struct {
		Replica string `json:"replica"`
		Cause   string `json:"cause"` // and what to do
	}

	// LedgerMet says that the node at a control address has a disk of another ledger. Neither answers the other
	// one: an operator has to end one of the two.
	LedgerMet struct {
		At   string         `json:"at"`
		Node phalanx.NodeID `json:"node"`
	}
)

// ReplicaName returns the name of a replica of the ledger for people.
func ReplicaName(replica uint64) string { return fmt.Sprintf("%012x.%d", replica>>16, replica&0xffff) }

// Kind returns the name of the type.
func (ReplicaReplaced) Kind() string { return "ReplicaReplaced" }
func (ReplicaHalted) Kind() string   { return "ReplicaHalted" }
func (LedgerMet) Kind() string       { return "LedgerMet" }

func (e ReplicaReplaced) String() string {
	text := "the ledger is on the disks " + strings.Join(e.Now, ", ")
	if len(e.Added) > 0 {
		text += "; new: " + strings.Join(e.Added, ", ")
	}
	if len(e.Removed) > 0 {
		text += "; not any more: " + strings.Join(e.Removed, ", ")
	}
	return text
}

func (e ReplicaHalted) String() string {
	return fmt.Sprintf("the ledger's replica %s of this node has ended: %s", e.Replica, e.Cause)
}

func (e LedgerMet) String() string {
	return fmt.Sprintf("the node %s at %s belongs to another ledger of workflows, and neither answers the other one: give one of the two nodes another folder", e.Node, e.At)
}
