package workflow

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	keepers "github.com/phalanx-go/phalanx/node/ledger"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
	"github.com/phalanx-go/phalanx/workflow/internal/keeper"
)

// LedgerInfo says where the ledger is: which node leads, and the disks.
type LedgerInfo = core.Ledger

// LedgerDisk is a disk that holds the ledger, or that could take the place of one.
type LedgerDisk = core.LedgerDisk

// Ledger says where the ledger of workflows is, as the node that leads knows it.
func Ledger(ctx context.Context, n *cluster.Node) (LedgerInfo, error) {
	a, err := call(ctx, n, "ledger", "", &asked{call: core.GetLedger{}})
	if err != nil {
		return LedgerInfo{}, err
	}
	if a.Ledger == nil {
		return LedgerInfo{}, failure("ledger", "", phalanx.ErrInternal, errors.New("the controller has answered without the ledger"))
	}
	return *a.Ledger, nil
}

// askDisks returns a function that has the keeper tell which disks it knows.
func (o *open) askDisks(root *actor.RootContext) func(to chan<- []keepers.Seen) {
	return func(to chan<- []keepers.Seen) {
		if pid, ok := o.node.Service(keeper.Name); ok {
			root.Send(pid, keeper.Look{To: to})
		}
	}
}

// ledgerWithin bounds how long a controller waits for its node's keeper.
const ledgerWithin = 5 * time.Second

// ledger answers a GetLedger.
func (k *controller) ledger(m flow.Asked) {
	epoch := k.tenure.Epoch()
	go func() {
		to := make(chan []keepers.Seen, 1)
		k.disks(to)
		answer := core.Answer{}
		select {
		case all := <-to:
			l := &core.Ledger{Epoch: epoch, Leader: k.self()}
			for _, d := range all {
				l.Disks = append(l.Disks, core.LedgerDisk{Disk: strconv.FormatUint(d.Disk, 16), Node: d.Node, Address: d.Address, Host: d.Host, Holds: d.Votes, Leads: d.Leads,
					Temporary: d.Temporary, Failed: d.Failed, Silent: d.Silent})
			}
			answer.Ledger = l
		case <-k.tenure.Done():
			answer.Err = failure("ledger", "", phalanx.ErrUnavailable, errors.New("the node does not lead any more: ask again"))
		case <-time.After(ledgerWithin):
			answer.Err = failure("ledger", "", phalanx.ErrUnavailable, errors.New("the node's keeper of the ledger does not answer: ask again"))
		}
		k.post(m.From, flow.Reply{Number: m.Request.Number, Again: answer.Err != nil, Answer: answer})
	}()
}
