package reduce

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

// Events about the output of a place.
type (
	// Roomy says that the output Gen has its memory.
	Roomy struct{ Gen core.PlaceGen }
	// Shown says that a ShowTarget was carried out.
	Shown struct{ Gen phalanx.Generation }
	// PieceMade says that the host has made the first piece of the output Gen.
	PieceMade struct{ Gen core.PlaceGen }
)

func (Roomy) placeEvent()     {}
func (Shown) placeEvent()     {}
func (PieceMade) placeEvent() {}

// Effects about the output of a place.
type (
	// ShowOutput lets the parent read the output.
	ShowOutput struct{}
	// ShowTarget lets readers of the target read the output, as generation Gen of it. The
	// host answers Shown if the node has nothing newer. Root is false in a ring at places
	// other than the root: then only readers on this node read it.
	ShowTarget struct {
		Gen  phalanx.Generation
		Root bool
	}
	// HideTarget takes the target from its readers, since it starts over.
	HideTarget struct{}
	// Announce announces the output to the target's owner.
	Announce struct{ Announce directory.Announce }
)

func (ShowOutput) placeEffect() {}
func (ShowTarget) placeEffect() {}
func (HideTarget) placeEffect() {}
func (Announce) placeEffect()   {}

// output is the product of a place, and its readers.
type output struct {
	is      core.Combine
	roomy   bool
	given   bool               // its memory was given up since
	begun   bool               // its first piece is there; in a ring: all of it
	serving core.Serve         // its readers
	target  phalanx.Generation // as which it is shown; zero: it is not
	told    bool               // the owner knows that it has begun
}

// combines takes the inputs of an output.
func (p *Place) combines(e core.Combine) {
	if e.Gen != p.output.is.Gen {
		p.startsOver()
	}
	p.output.is = e
}

// startsOver drops the output.
func (p *Place) startsOver() {
	if !p.output.target.IsZero() {
		p.emit(HideTarget{})
	}
	p.output = output{serving: p.output.serving}
}

// show makes the output readable once it has its memory and its readers are known. The output
// of the root is the target, as soon as that has a generation.
func (p *Place) show() {
	o, s := &p.output, p.output.serving
	if !o.roomy || o.is.Gen != s.Gen {
		return
	}
	ring := o.is.Ring > 0
	if (ring || !s.Root) && !o.given {
		p.emit(ShowOutput{})
	}
	if !ring && !s.Root || s.TargetGen.IsZero() || s.TargetGen == o.target || ring && !o.target.IsZero() {
		return
	}
	p.emit(ShowTarget{s.TargetGen, s.Root})
}

// shown announces the target; in a ring only once it is whole, since no node could read it
// before.
func (p *Place) shown(gen phalanx.Generation) {
	p.output.target, p.output.told = gen, false
	if p.output.is.Ring == 0 {
		p.announce(false)
	}
	p.begins()
}

// pieceMade notes that readers can begin.
func (p *Place) pieceMade(gen core.PlaceGen) {
	if gen == p.output.is.Gen {
		p.output.begun = true
		p.begins()
	}
}

// begins tells the owner, once, that it can send receivers here.
func (p *Place) begins() {
	if o := &p.output; o.begun && !o.told && !o.target.IsZero() && o.serving.Root {
		o.told = true
		p.announce(true)
	}
}

func (p *Place) announce(begun bool) {
	p.emit(Announce{directory.Announce{Gen: p.output.target, Origin: true, Begun: begun, Meta: p.output.is.Meta}})
}
