package reduce

import (
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

// watchEvery is how often a place asks whether its coordinator has ended: the one message that
// says so may get lost.
const watchEvery = 2 * time.Second

// PlaceConfig has the settings of a Place.
type PlaceConfig struct {
	Node  phalanx.NodeID
	Grain int64 // least size of a ring's shards; 0: core.RingGrain
	// Can reports whether the node has an op for arrays of a type.
	Can func(phalanx.Op, phalanx.DType) bool
}

// Place is one place of a Reduce on the node that has its source. It hosts the core, and ends
// with it, or with its coordinator. Its hosts, the place's actor in package store and package
// sim, have the bytes.
type Place struct {
	cfg         PlaceConfig
	core        *core.Place
	coordinator string // names the actor that has sent the last order; "": none has
	now, ticked time.Duration
	asked       time.Duration // when the place last asked whether its coordinator has ended
	output      output
	tight       bool // it was asked for the memory of its output
	ends, gone  bool
	out         []PlaceEffect
}

// PlaceEvent is an input of a Place.
type PlaceEvent interface{ placeEvent() }

// The events of a Place.
type (
	// Ordered is an order that Obey has for it, and the name of the coordinator's actor.
	Ordered struct {
		Coordinator string
		Event       core.PlaceEvent
	}
	// Happened brings the core an event about bytes.
	Happened struct{ Event core.PlaceEvent }
	// CoordinatorEnded says that an actor has ended, or that the connection to it broke.
	CoordinatorEnded struct{ Coordinator string }
	// GivenUp asks the place to end before its time, if another node can do its work.
	GivenUp struct{}
	// PlaceTick is due when Due says so.
	PlaceTick struct{}
)

func (Ordered) placeEvent()          {}
func (Happened) placeEvent()         {}
func (CoordinatorEnded) placeEvent() {}
func (GivenUp) placeEvent()          {}
func (PlaceTick) placeEvent()        {}

// PlaceEffect is an order to the host of a Place.
type PlaceEffect interface{ placeEffect() }

// The effects of a Place.
type (
	// Carry is an effect of the core about bytes.
	Carry struct{ Effect core.PlaceEffect }
	// Tell sends an event to the coordinator.
	Tell struct{ Event core.Event }
	// WatchCoordinator asks for CoordinatorEnded when the coordinator has ended, or if it has
	// already.
	WatchCoordinator struct{}
	// Gone says that the place has ended: for later orders it is a place that is not here. The
	// host frees the rest.
	Gone struct{}
)

func (Carry) placeEffect()            {}
func (Tell) placeEffect()             {}
func (WatchCoordinator) placeEffect() {}
func (Gone) placeEffect()             {}

// NewPlace returns a place that has no order yet.
func NewPlace(now time.Duration, cfg PlaceConfig) *Place {
	if cfg.Grain == 0 {
		cfg.Grain = core.RingGrain
	}
	p := &Place{cfg: cfg, core: core.NewPlace(core.PlaceConfig{}), now: now, ticked: now}
	p.core.Step(core.PlaceTick{Now: now}) // else the core would date orders before the next tick at 0
	return p
}

// Core returns the core, for observers.
func (p *Place) Core() *core.Place { return p.core }

// Due returns when the place wants a PlaceTick.
func (p *Place) Due() (at time.Duration, ok bool) { return p.ticked + tickEvery, !p.gone }

// Step takes an event and returns the effects.
func (p *Place) Step(now time.Duration, ev PlaceEvent) []PlaceEffect {
	p.now, p.out = now, nil
	switch ev := ev.(type) {
	case Ordered:
		p.ordered(ev)
	case Happened:
		if done, ok := ev.Event.(core.OutputDone); ok && p.output.is.Ring > 0 {
			p.pieceMade(done.Gen)
		}
		p.do(ev.Event)
	case Roomy:
		if ev.Gen == p.output.is.Gen {
			p.output.roomy = true
			p.show()
		}
	case Shown:
		p.shown(ev.Gen)
	case PieceMade:
		p.pieceMade(ev.Gen)
	case Shrink:
		p.shrink(ev)
	case CoordinatorEnded:
		if ev.Coordinator == p.coordinator { // its coordinator wants the result no more
			p.ends = true
		}
	case GivenUp:
		if p.core.Expendable() {
			p.ends = true // the coordinator watches it
		}
	case PlaceTick:
		p.ticked = now
		if p.coordinator != "" && now-p.asked >= watchEvery {
			p.watch()
		}
		p.do(core.PlaceTick{Now: now})
	}
	p.leave()
	return p.out
}

// leave emits Gone, once, if the place ends.
func (p *Place) leave() {
	if p.ends && !p.gone {
		p.gone = true
		p.emit(Gone{})
	}
}

func (p *Place) emit(e PlaceEffect) { p.out = append(p.out, e) }

// ordered takes an order. A new coordinator may have ended before.
func (p *Place) ordered(ev Ordered) {
	if ev.Coordinator != p.coordinator {
		p.coordinator = ev.Coordinator
		p.watch()
	}
	if cmd, ok := ev.Event.(core.Commanded); ok {
		ev.Event = p.able(cmd)
	}
	p.do(ev.Event)
	if _, stops := ev.Event.(core.Stopping); stops && !p.core.Runs() { // also if it has refused its command
		p.ends = true
	}
}

func (p *Place) watch() {
	p.asked = p.now
	p.emit(WatchCoordinator{})
}

// able notes in a command why this node cannot carry it out.
func (p *Place) able(cmd core.Commanded) core.Commanded {
	s := cmd.State
	switch {
	case s.Ring != 0 && (s.Ring < 2 || s.Place >= s.Ring || len(s.Children) != 1 || s.Meta.Size < int64(s.Ring)*p.cfg.Grain):
		cmd.Unable, cmd.Text = phalanx.ErrInvalid, fmt.Sprintf("place %d of a ring of %d, with %d before it, for %d bytes", s.Place, s.Ring, len(s.Children), s.Meta.Size)
	case !p.cfg.Can(s.Op, s.Meta.DType):
		cmd.Unable, cmd.Text = phalanx.ErrUnknownOp, "the op "+string(s.Op)+" for "+s.Meta.DType.String()+" is not known on node "+string(p.cfg.Node)
	}
	return cmd
}

func (p *Place) do(ev core.PlaceEvent) {
	for _, e := range p.core.Step(ev) {
		switch e := e.(type) {
		case core.Report:
			p.report(e.Event)
		case core.Serve:
			p.output.serving = e
			p.show()
		case core.Combine:
			p.combines(e)
			p.emit(Carry{e})
		case core.ResetOutput:
			p.startsOver()
			p.emit(Carry{e})
		case core.Release:
			p.emit(Carry{e})
			p.output, p.ends = output{}, true
			p.leave() // before the coordinator hears of it: that may order a new one
		default:
			p.emit(Carry{e})
		}
	}
}

// report tells the coordinator, and adds this node to reports that name one.
func (p *Place) report(ev core.Event) {
	switch e := ev.(type) {
	case core.Acked:
		e.Node = p.cfg.Node
		ev = e
	case core.Refused:
		e.Node = p.cfg.Node
		ev = e
	case core.Stopped:
		e.Node = p.cfg.Node
		ev = e
	}
	p.emit(Tell{ev})
}
