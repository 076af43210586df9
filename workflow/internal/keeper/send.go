package keeper

import (
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/node/ledger"
	core "github.com/phalanx-go/phalanx/protocol/ledger"
)

const (
	partBytes = 256 << 10        // of a snapshot's part
	partTakes = 30 * time.Second // a part that is not answered by then has not arrived, and none that does not come
)

// sendSnapshot streams the rows of this moment to another replica.
func (a *instance) sendSnapshot(e ledger.SendSnapshot) {
	end := func(err error) {
		if err != nil {
			a.node.Log().WithError(err).Info("a snapshot of the ledger did not arrive")
			a.tell(ledger.ForReplica{Event: core.SnapshotFailed{To: e.To}})
		} else {
			a.tell(ledger.ForReplica{Event: core.SnapshotSent{To: e.To}})
		}
	}
	a.k.settings.Store.Snapshot(func(s durable.Snapshot, err error) { // in the disk's turn: it must not wait
		if err != nil {
			end(err)
			return
		}
		a.k.beside("send a snapshot", func() { // else the store closes it
			end(errors.Join(a.k.deliver(a, e, s), s.Close()))
		})
	})
}

// deliver streams the rows of s.
func (k *Keeper) deliver(a *instance, e ledger.SendSnapshot, s durable.Snapshot) error {
	if e.Address == "" {
		return errors.New("the address of the replica is not known")
	}
	out := &outgoing{a: a, to: actor.NewPID(e.Address, Name), stream: random(), e: e, answers: make(chan string, 1)}
	k.mu.Lock()
	k.parts[out.stream] = out.answers
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		delete(k.parts, out.stream)
		k.mu.Unlock()
	}()
	if _, err := s.WriteTo(out); err != nil {
		return err
	}
	return out.part(nil, e.Data)
}

// taken gives an answer to the snapshot that waits for it.
func (k *Keeper) taken(m *messages.LedgerRowsTaken) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c := k.parts[m.GetStream()]; c != nil {
		select {
		case c <- m.GetRefused():
		default: // a second answer to one part
		}
	}
}

// outgoing writes the rows of a snapshot to another node, part by part.
type outgoing struct {
	a       *instance
	to      *actor.PID
	stream  uint64
	next    uint64
	e       ledger.SendSnapshot
	answers chan string
}

// Write sends p. It returns when the other node has taken it.
func (o *outgoing) Write(p []byte) (int, error) {
	for n := 0; n < len(p); {
		part := p[n:min(len(p), n+partBytes)]
		if err := o.part(part, nil); err != nil {
			return n, err
		}
		n += len(part)
	}
	return len(p), nil
}

func (o *outgoing) part(rows, last []byte) error {
	m := &messages.LedgerRows{From: o.e.From, To: o.e.To, Stream: o.stream, Part: o.next, Rows: rows, Last: last != nil, Data: last}
	o.next++
	o.a.node.System().Root.RequestWithCustomSender(o.to, m, o.a.self)
	timer := time.NewTimer(partTakes)
	defer timer.Stop()
	select {
	case refused := <-o.answers:
		if refused != "" {
			return fmt.Errorf("the node at %s refused it: %s", o.to.GetAddress(), refused)
		}
		return nil
	case <-timer.C:
		return fmt.Errorf("the node at %s has not taken a part within %v", o.to.GetAddress(), partTakes)
	case <-o.a.k.ctx.Done():
		return durable.ErrClosed
	}
}
