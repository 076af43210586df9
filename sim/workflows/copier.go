package workflows

import (
	"errors"
	"io"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/durable"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// disksOf returns what a Copier is told of a view.
func disksOf(self phalanx.NodeID, v view.View) flow.Disks {
	d := flow.Disks{View: v.Number, Self: self}
	for _, m := range v.Members {
		switch {
		case m.ID == self:
			d.Leaving = m.Leaving
		case !m.Leaving && m.Has(folder):
			d.Others = append(d.Others, m.ID)
		}
	}
	return d
}

// which answers which checkpoints the disk has.
func (h *host) which(from phalanx.NodeID, m flow.Which) {
	t := flow.These{Number: m.Number}
	if h.copier != nil {
		t.Disk, t.Places = clusterOf(h.keeper.disk.Identity().Disk), h.has.Has(m.Places)
	}
	h.send(from, t)
}

// copy gives the Copier an event, and carries out its effects.
func (h *host) copy(ev flow.CopierEvent) {
	if h.copier == nil {
		return
	}
	for _, e := range h.copier.Step(h.p.Now(), ev) {
		switch e := e.(type) {
		case flow.AskWhich:
			h.send(e.To, e.Which)
		case flow.CopyTo:
			h.lay(e)
		case flow.DropCopy:
			h.unlay(e.Number)
		case flow.Remains:
			h.remains = e
		case flow.StaysBehind:
			h.Met("workflow: checkpoints stay behind on the disk of a node that leaves")
			h.Owes(h.p)
		}
	}
}

// laidAs is the object of a checkpoint that another node copies.
func (h *host) laidAs(number uint64) phalanx.ObjectID {
	return flow.CopyID(h.self, number)
}

// unlay deletes it. An incarnation before may have made it.
func (h *host) unlay(number uint64) {
	h.store.delete(h.laid[number])
	delete(h.laid, number)
}

// lay makes an object of a checkpoint, and has another node copy it.
func (h *host) lay(e flow.CopyTo) {
	life := h.life
	h.laid[e.Number] = h.laidAs(e.Number)
	h.later(h.Upto(30*ms), func() {
		if _, wanted := h.laid[e.Number]; life != h.life || !wanted {
			h.copy(flow.NotLaid{Number: e.Number})
			return
		}
		data, digest, err := h.read(e.Place)
		if err == nil {
			err = h.store.put(h, h.laid[e.Number], data)
		}
		if err != nil {
			gone := errors.Is(err, durable.ErrCorrupt) || errors.Is(err, durable.ErrNotFound)
			if gone {
				h.rotten(e.Place)
			}
			h.copy(flow.NotLaid{Number: e.Number, Gone: gone})
			return
		}
		h.Met("workflow: checkpoint copied to another disk")
		h.send(e.To, flow.Copy{Number: e.Number, Place: e.Place, Object: h.laidAs(e.Number), Size: int64(len(data)), Digest: digest})
		h.copy(flow.Laid{Number: e.Number, Size: int64(len(data))})
	})
}

// read returns a checkpoint of the disk.
func (h *host) read(place string) ([]byte, phalanx.Digest, error) {
	b, err := h.keeper.disk.Open(place)
	if err != nil {
		return nil, phalanx.Digest{}, err
	}
	data, err := io.ReadAll(b)
	_ = b.Close() // it is in memory
	return data, b.Digest, err
}

// rotten takes that a checkpoint is not on the disk any more, or not its bytes.
func (h *host) rotten(place string) {
	h.good(h.keeper.disk.Delete(place))
	h.safe(place, false)
	h.has.NoBlob(place)
	h.copy(flow.NotHeld{Places: []string{place}})
}
