package workflows

import (
	"bytes"
	"time"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/messages"
	lnode "github.com/phalanx-go/phalanx/node/ledger"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// snapshotTakes is how long a snapshot that is not taken counts as under way.
const snapshotTakes = 5 * time.Second

// snapshot sends the rows of this moment to another replica, in one message.
func (h *host) snapshot(e lnode.SendSnapshot) {
	fails := func() { h.tell(lnode.ForReplica{Event: ledger.SnapshotFailed{To: e.To}}) }
	h.keeper.disk.Snapshot(func(s durable.Snapshot, err error) {
		var rows bytes.Buffer
		if err == nil {
			_, err = s.WriteTo(&rows)
			_ = s.Close()
		}
		if err != nil || e.Address == "" {
			fails()
			return
		}
		h.stream++
		stream := h.stream
		h.keeper.sent[stream] = e.To
		h.Met("snapshot of the ledger sent")
		h.Post(h.p, e.Address, &messages.LedgerRows{From: e.From, To: e.To, Stream: stream, Rows: rows.Bytes(), Last: true, Data: e.Data})
		h.later(snapshotTakes, func() {
			if _, waits := h.keeper.sent[stream]; waits {
				delete(h.keeper.sent, stream)
				fails()
			}
		})
	})
}

// take takes a snapshot.
func (h *host) take(from string, m *messages.LedgerRows) {
	k := &h.keeper
	if k.disk == nil || k.core == nil || k.halted {
		h.Post(h.p, from, &messages.LedgerRowsTaken{Stream: m.GetStream(), Refused: "the node takes none"})
		return
	}
	h.stream++
	id, life := h.stream, k.life
	h.soon(func() {
		err := k.disk.Receive(id, bytes.NewReader(m.GetRows()))
		if err == nil && life != k.life {
			_ = k.disk.Abandon(id) // a poisoned disk fails
		}
		if err != nil || life != k.life {
			h.Post(h.p, from, &messages.LedgerRowsTaken{Stream: m.GetStream(), Refused: "the node has not taken it"})
			return
		}
		h.Post(h.p, from, &messages.LedgerRowsTaken{Stream: m.GetStream()})
		h.ledger(lnode.ForReplica{Event: ledger.SnapshotArrived{From: m.GetFrom(), Data: m.GetData(), Stream: id}})
	})
}

// taken takes the answer to a snapshot.
func (h *host) taken(m *messages.LedgerRowsTaken) {
	to, waits := h.keeper.sent[m.GetStream()]
	if !waits {
		return
	}
	delete(h.keeper.sent, m.GetStream())
	if m.GetRefused() != "" {
		h.tell(lnode.ForReplica{Event: ledger.SnapshotFailed{To: to}})
	} else {
		h.tell(lnode.ForReplica{Event: ledger.SnapshotSent{To: to}})
	}
}
