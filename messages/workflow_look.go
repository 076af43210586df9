package messages

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/workflow"
)

// maxPage bounds the rows of a page.
const maxPage = 1 << 10

func fromAtWork(all []workflow.AtWork) (to []*WorkflowAtWork) {
	for _, w := range all {
		to = append(to, &WorkflowAtWork{Task: uint32(w.Task), Kind: uint32(w.Kind), Node: string(w.Node), Ready: w.Ready, Failed: uint32(w.Failed), Why: fromText(w.Why), Stuck: w.Stuck})
	}
	return to
}

func (f *fields) atWork(all []*WorkflowAtWork) (to []workflow.AtWork) {
	if len(all) > maxListed {
		f.bad("status.work", "there are %d tasks, at most %d are allowed", len(all), maxListed)
		return nil
	}
	for _, w := range all {
		to = append(to, workflow.AtWork{Task: f.task(w.GetTask()), Kind: f.attemptKind(w.GetKind()), Node: f.maybeNode("work.node", w.GetNode()), Ready: w.GetReady(),
			Failed: f.index("work.failed", w.GetFailed()), Why: f.text("work.why", w.GetWhy(), phalanx.MaxIDBytes), Stuck: w.GetStuck()})
	}
	return to
}

func fromPage(p *workflow.Page) *WorkflowPage {
	if p == nil {
		return nil
	}
	m := &WorkflowPage{Next: p.Next}
	for _, r := range p.Rows {
		m.Rows = append(m.Rows, &WorkflowRecorded{Number: r.Number, Bytes: r.Bytes})
	}
	return m
}

func (f *fields) page(m *WorkflowPage) *workflow.Page {
	if m == nil {
		return nil
	}
	if len(m.GetRows()) > maxPage {
		f.bad("page.rows", "there are %d, at most %d are allowed", len(m.GetRows()), maxPage)
		return nil
	}
	p := &workflow.Page{Next: m.GetNext()}
	for _, r := range m.GetRows() {
		p.Rows = append(p.Rows, workflow.Recorded{Number: r.GetNumber(), Bytes: r.GetBytes()})
	}
	return p
}

func fromLedger(l *workflow.Ledger) *WorkflowLedger {
	if l == nil {
		return nil
	}
	m := &WorkflowLedger{Epoch: l.Epoch, Leader: string(l.Leader)}
	for _, d := range l.Disks[:min(len(l.Disks), maxListed)] {
		m.Disks = append(m.Disks, &WorkflowLedgerDisk{Disk: d.Disk, Node: string(d.Node), Address: d.Address, Host: d.Host, Holds: d.Holds, Leads: d.Leads,
			Temporary: d.Temporary, Failed: d.Failed, Silent: int64(d.Silent)})
	}
	return m
}

func (f *fields) ledger(m *WorkflowLedger) *workflow.Ledger {
	if m == nil {
		return nil
	}
	if len(m.GetDisks()) > maxListed {
		f.bad("ledger.disks", "there are %d, at most %d are allowed", len(m.GetDisks()), maxListed)
		return nil
	}
	l := &workflow.Ledger{Epoch: m.GetEpoch(), Leader: f.maybeNode("ledger.leader", m.GetLeader())}
	for _, d := range m.GetDisks() {
		l.Disks = append(l.Disks, workflow.LedgerDisk{Disk: f.text("ledger.disk", d.GetDisk(), phalanx.MaxIDBytes), Node: f.maybeNode("ledger.node", d.GetNode()),
			Address: d.GetAddress(), Host: d.GetHost(), Holds: d.GetHolds(), Leads: d.GetLeads(), Temporary: d.GetTemporary(), Failed: d.GetFailed(), Silent: time.Duration(d.GetSilent())})
	}
	return l
}
