package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// The JSON of the ledger.
type (
	// Ledger says where the ledger of workflows is.
	Ledger struct {
		Leader     string       `json:"leader"` // the node that leads it
		Epoch      uint64       `json:"epoch"`
		Generation uint64       `json:"generation,omitempty"` // absent: the ledger was never recovered
		Disks      []LedgerDisk `json:"disks"`
	}

	// LedgerDisk is a disk that holds the ledger, or that could take the place of one.
	LedgerDisk struct {
		Disk      string        `json:"disk"`           // the identity of the folder
		Node      string        `json:"node,omitempty"` // absent: it is not heard since the leader leads
		Address   string        `json:"address,omitempty"`
		Host      string        `json:"host,omitempty"`
		Holds     bool          `json:"holds"`
		Leads     bool          `json:"leads,omitempty"`
		Temporary bool          `json:"temporary,omitempty"`
		Failed    bool          `json:"failed,omitempty"`
		Silent    time.Duration `json:"silent_ns"` // since the leader has heard of it
	}
)

func (s *Server) workflowLedger(w http.ResponseWriter, r *http.Request) error {
	const op = "ledger"
	_, _, ctx, cancel, err := s.asked(r, op)
	if err != nil {
		return err
	}
	defer cancel()
	l, err := s.node.WorkflowLedger(ctx)
	if err != nil {
		return err
	}
	out := Ledger{Leader: string(l.Leader), Epoch: l.Epoch, Generation: ledger.GenerationOf(l.Epoch), Disks: []LedgerDisk{}}
	for _, d := range l.Disks {
		out.Disks = append(out.Disks, LedgerDisk{Disk: d.Disk, Node: string(d.Node), Address: d.Address, Host: d.Host, Holds: d.Holds, Leads: d.Leads,
			Temporary: d.Temporary, Failed: d.Failed, Silent: d.Silent})
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// WorkflowLedger says where the ledger of workflows is.
func (c *Client) WorkflowLedger(ctx context.Context, timeout time.Duration) (l Ledger, err error) {
	err = c.get(ctx, request{op: "ledger", path: "/v1/ledger"}, timeout, &l)
	return l, err
}
