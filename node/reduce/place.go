package reduce

import (
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

// watchEvery is how often a place asks whether its coordinator has ended: that it has is told
// once, and may get lost.
const watchEvery = 2 * time.Second

// PlaceConfig is what a Place needs.
type PlaceConfig struct {
	Node  phalanx.NodeID
	Grain int64 // least size of a ring's shards; 0: core.RingGrain
	// Can reports whether the node has an op for arrays of a type.
	Can func(phalanx.Op, phalanx.DType) bool
}

// Place is one place of a Reduce on the node that has its source. It hosts the core, and ends
// with it, or with its coordinator. The place's actor in package storenode hosts it, and package
// sim: they have the bytes.
type Place struct {
	cfg         PlaceConfig
	core        *core.Place
	coordinator string // names the actor that has sent the last order; "": none has
	now, ticked time.Duration
	asked       time.Duration // when it was asked last whether its coordinator has ended
	output      output
	ends, gone  bool
	out         []PlaceEffect
}

// PlaceEvent is what happens to a Place.
type PlaceEvent interface{ placeEvent() }

// The events of a Place.
type (
	// Ordered is an order that Obey has for it, and the name of the coordinator's actor.
	Ordered struct {
		Coordinator string
		Event       core.PlaceEvent
	}
	// Happened tells the core what has become of the bytes.
	Happened struct{ Event core.PlaceEvent }
	// CoordinatorEnded says that an actor has ended, or that the connection to it broke.
	CoordinatorEnded struct{ Coordinator string }
	// GivenUp asks it to end before its time, if another node can do its work.
	GivenUp struct{}
	// PlaceTick is due when Due says so.
	PlaceTick struct{}
)

func (Ordered) placeEvent()          {}
func (Happened) placeEvent()         {}
func (CoordinatorEnded) placeEvent() {}
func (GivenUp) placeEvent()          {}
func (PlaceTick) placeEvent()        {}

// PlaceEffect is what the host of a Place has to do.
type PlaceEffect interface{ placeEffect() }

// The effects of a Place.
type (
	// Carry is an effect of the core about bytes.
	Carry struct{ Effect core.PlaceEffect }
	// Tell sends an event to the coordinator.
	Tell struct{ Event core.Event }
	// WatchCoordinator has CoordinatorEnded told when the coordinator has ended, or if it has
	// already.
	WatchCoordinator struct{}
	// Gone says that the place has ended: from now on orders for it are those for a place
	// that is not here. The host frees what is left.
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
	p.core.Step(core.PlaceTick{Now: now}) // else what it is told before the next tick is taken for old
	return p
}

// Core returns the core, to be looked at.
func (p *Place) Core() *core.Place { return p.core }

// Due returns when it wants a PlaceTick.
func (p *Place) Due() (at time.Duration, ok bool) { return p.ticked + tickEvery, !p.gone }

// Step takes an event and returns what is to be done.
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
	case CoordinatorEnded:
		if ev.Coordinator == p.coordinator { // nobody wants the result any more
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

// leave has the place go, once, if it ends.
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

// able says what keeps this node from carrying out a command.
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
			p.leave() // before the coordinator hears of it, which may order a new one
		default:
			p.emit(Carry{e})
		}
	}
}

// report tells the coordinator, which has to know from where.
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
