package messages

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/ledger"
	core "github.com/phalanx-go/phalanx/protocol/ledger"
)

// Limits of what replicas of the ledger send, in bytes.
const (
	MaxLedgerLetter = 4 << 20
	MaxLedgerRows   = 1 << 20 // of one part of a snapshot
	maxLedgerText   = ledger.MaxAddress
	maxLedgerNumber = 1 << 62 // of terms, views and boots
)

// LedgerHelloToProto returns h as it travels.
func LedgerHelloToProto(h ledger.Hello) *LedgerHello {
	m := &LedgerHello{Asks: h.Asks, Address: h.Address, Node: string(h.Node), Host: h.Host, View: h.View, Ledger: h.Ledger,
		Disk: h.Disk, Replica: h.Replica, Opened: h.Opened, Run: h.Run, Temporary: h.Temporary, Failed: h.Failed, Stale: h.Stale, InCluster: h.InCluster, Booting: h.Booting, Joining: h.Joining, Lost: h.Lost, Boot: h.Boot,
		LeadTerm: h.Lead.Term, LeadReplica: h.Lead.Replica, LeadAddress: h.Lead.Address, Voters: h.Voters, Wanted: h.Wanted}
	for _, p := range h.Replicas {
		m.Replicas = append(m.Replicas, &LedgerPlace{Replica: p.Replica, Address: p.Address})
	}
	return m
}

// LedgerHelloFromProto is the inverse of LedgerHelloToProto.
func LedgerHelloFromProto(m *LedgerHello) (ledger.Hello, error) {
	h := ledger.Hello{Asks: m.GetAsks(), Address: m.GetAddress(), Node: phalanx.NodeID(m.GetNode()), Host: m.GetHost(), View: m.GetView(),
		Ledger: m.GetLedger(), Disk: m.GetDisk(), Replica: m.GetReplica(), Opened: m.GetOpened(), Run: m.GetRun(),
		Temporary: m.GetTemporary(), Failed: m.GetFailed(), Stale: m.GetStale(), InCluster: m.GetInCluster(), Booting: m.GetBooting(), Joining: m.GetJoining(), Lost: m.GetLost(), Boot: m.GetBoot(),
		Lead: ledger.Lead{Term: m.GetLeadTerm(), Replica: m.GetLeadReplica(), Address: m.GetLeadAddress()}, Voters: m.GetVoters(), Wanted: m.GetWanted()}
	if h.Address == "" {
		return ledger.Hello{}, badLedger("a hello has no address")
	}
	for _, s := range []string{h.Address, string(h.Node), h.Host, h.Lead.Address} {
		if len(s) > maxLedgerText {
			return ledger.Hello{}, badLedger("a hello has a text of %d bytes; at most %d can be", len(s), maxLedgerText)
		}
	}
	if n := max(len(m.GetReplicas()), len(h.Voters), len(h.Wanted)); n > ledger.MaxPlaces {
		return ledger.Hello{}, badLedger("a hello names %d replicas; at most %d can be", n, ledger.MaxPlaces)
	}
	if max(h.Lead.Term, h.Boot, h.View) > maxLedgerNumber {
		return ledger.Hello{}, badLedger("a hello has a number that cannot be: nothing greater could follow it")
	}
	if h.Disk >= 1<<48 || h.Replica != 0 && h.Replica>>16 != h.Disk {
		return ledger.Hello{}, badLedger("a hello names a disk or a replica that cannot be")
	}
	for _, p := range m.GetReplicas() {
		if p.GetReplica() == 0 || p.GetAddress() == "" || len(p.GetAddress()) > maxLedgerText {
			return ledger.Hello{}, badLedger("a hello names the place of a replica that cannot be")
		}
		h.Replicas = append(h.Replicas, ledger.Place{Replica: p.GetReplica(), Address: p.GetAddress()})
	}
	return h, nil
}

// CheckLedgerLetter says why a letter cannot be.
func CheckLedgerLetter(m *LedgerLetter) error {
	switch {
	case m.GetAddress() == "" || len(m.GetAddress()) > maxLedgerText:
		return badLedger("a letter has an address of %d bytes", len(m.GetAddress()))
	case len(m.GetData()) > MaxLedgerLetter:
		return badLedger("a letter has %d bytes; at most %d can be", len(m.GetData()), MaxLedgerLetter)
	}
	return nil
}

// CheckLedgerRows says why a part of a snapshot cannot be.
func CheckLedgerRows(m *LedgerRows) error {
	switch {
	case m.GetStream() == 0:
		return badLedger("a part of a snapshot names no stream")
	case len(m.GetRows()) > MaxLedgerRows || len(m.GetData()) > MaxLedgerRows:
		return badLedger("a part of a snapshot has %d bytes; at most %d can be", max(len(m.GetRows()), len(m.GetData())), MaxLedgerRows)
	case m.GetLast() != (len(m.GetData()) > 0):
		return badLedger("the last part of a snapshot, and only that, has the message behind it")
	}
	return nil
}

// MarshalLedgerRecord returns r as the ledger has it.
func MarshalLedgerRecord(r core.Record) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(&LedgerRecord{Number: r.Number, Node: fromText(r.Node), Address: fromText(r.Address)})
	if err != nil {
		panic(err) // fromText leaves no string that cannot be encoded
	}
	return b
}

// UnmarshalLedgerRecord is the inverse of MarshalLedgerRecord.
func UnmarshalLedgerRecord(b []byte) (core.Record, error) {
	m := &LedgerRecord{}
	if err := proto.Unmarshal(b, m); err != nil {
		return core.Record{}, badLedger("a record: %w", err)
	}
	if m.GetNumber() == 0 || m.GetNumber() > maxLedgerNumber || len(m.GetNode()) > maxLedgerText || len(m.GetAddress()) > maxLedgerText {
		return core.Record{}, badLedger("a record cannot be")
	}
	return core.Record{Number: m.GetNumber(), Node: m.GetNode(), Address: m.GetAddress()}, nil
}

func badLedger(format string, args ...any) error {
	return &phalanx.Error{Op: "decode", Kind: phalanx.ErrInternal, Err: fmt.Errorf("ledger: "+format, args...)}
}
