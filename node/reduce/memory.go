package reduce

import core "github.com/phalanx-go/phalanx/protocol/reduce"

// Memory that an output needs.
const (
	AnyRoom   Room = iota // for the whole output, or for a window that moves along it
	WholeRoom             // for all of it, since others than the parent read it
	SmallRoom             // for a window
	NoRoom                // the output of a leaf is its source
)

// Room says how much memory an output needs.
type Room uint8

// Shrink asks for the memory of the output, since another place of the node has to wait for
// memory. Delivered says that a parent has been sent everything, Large that the output is kept and a
// window would take less.
type Shrink struct{ Delivered, Large bool }

func (Shrink) placeEvent() {}

// GiveOutput gives up the memory of the output. The host makes it again if the parent asks for it
// (core.OutputMissing).
type GiveOutput struct{}

func (GiveOutput) placeEffect() {}

// Room returns the memory that the output needs.
func (p *Place) Room() Room {
	o := p.output.is
	switch {
	case p.core.State().Root || o.Ring > 0:
		return WholeRoom
	case len(o.Inputs) == 1:
		return NoRoom
	case p.tight:
		return SmallRoom
	}
	return AnyRoom
}

// shrink gives the output up, unless it is the target or takes no memory. An output that the parent
// has is made again only if the parent asks for it.
func (p *Place) shrink(ev Shrink) {
	o, room := &p.output, p.Room()
	switch {
	case !o.roomy || o.given || room == WholeRoom || room == NoRoom:
	case ev.Delivered && len(p.core.Held().Delivered) == len(p.core.State().Children):
		o.given = true
		p.emit(GiveOutput{})
	case ev.Large:
		p.tight = true
		p.do(core.OutputMissing{Gen: o.is.Gen})
	}
}
