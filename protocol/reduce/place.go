package reduce

import (
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
)

// PlaceConfig configures a Place. Durations that are zero take the default in
// brackets.
type PlaceConfig struct {
	StallAfter  time.Duration // a partial source without progress is reported [2 s]
	RepeatEvery time.Duration // of reports that matter [200 ms]
	LifeEvery   time.Duration // it says that it runs, so that one that nobody wants is stopped [2 s]
	EdgeRetries int           // of a broken edge before it is reported [1]; negative: none
}

func (c PlaceConfig) withDefaults() PlaceConfig {
	if c.StallAfter == 0 {
		c.StallAfter = 2 * time.Second
	}
	if c.RepeatEvery == 0 {
		c.RepeatEvery = 200 * time.Millisecond
	}
	if c.LifeEvery == 0 {
		c.LifeEvery = 2 * time.Second
	}
	if c.EdgeRetries == 0 {
		c.EdgeRetries = 1
	}
	return c
}

// A Place runs one position of one Reduce on one node: it obeys the last
// command, also for another source than before.
//
// Invariant: only the label of a child that the last command names is open or
// counts as delivered.
type Place struct {
	cfg   PlaceConfig
	now   time.Duration
	out   []PlaceEffect
	floor uint64        // commands of lesser attempts are refused
	state State         // the last command
	runs  bool          // a command was accepted, and no Stop since
	ended PlaceGen      // of the greatest Stop
	said  time.Duration // when it last said that it runs

	source  sourceState
	edges   []edgeState // parallel to state.Children
	streams uint64
	made    *OutputDone
	waits   string // the condition for which the output waits

	opFailure *CombineFailed // under the present label
	opText    string         // of an op that does not return

	repeated time.Duration
}

type sourceState struct {
	complete bool
	moved    time.Duration // when it last went on
	stalled  bool
	failed   string
}

type edgeState struct {
	open     bool
	stream   uint64 // of the last OpenEdge
	complete bool
	kept     bool
	broken   string // why; reported until the child is replaced
	retries  int
}

// NewPlace returns a place that has not been told anything.
func NewPlace(cfg PlaceConfig) *Place { return &Place{cfg: cfg.withDefaults()} }

// Step applies ev and returns what the host must do, in that order. The caller
// owns the slice, not the data of its effects.
func (p *Place) Step(ev PlaceEvent) []PlaceEffect {
	p.out = nil
	switch ev := ev.(type) {
	case Commanded:
		p.commanded(ev)
	case Stopping:
		p.stopping(ev)
	case Asked:
		p.asked(ev)
	case AskedRuns:
		p.askedRuns(ev)
	case Inspecting:
		p.floor = max(p.floor, ev.Attempt)
	case PlaceTick:
		p.tick(ev)
	case SourceMoved:
		p.sourceMoved(ev.Gen, false)
	case SourceComplete:
		p.sourceMoved(ev.Gen, true)
	case SourceFailed:
		p.sourceFailed(ev)
	case EdgeEnded:
		p.edgeEnded(ev)
	case EdgeDropped:
		p.edgeDropped(ev)
	case OutputDone:
		p.outputDone(ev)
	case OutputMissing:
		p.outputMissing(ev)
	case OutputWaits:
		p.outputWaits(ev)
	case OpFailed:
		p.opFailed(ev)
	case OpRuns:
		p.opRuns(ev)
	}
	return p.out
}

// Runs reports whether the place has something to do.
func (p *Place) Runs() bool { return p.runs }

// Expendable reports whether the place can be ended before its time: its coordinator
// replaces it. A root's output may be final by now, and be nowhere else.
func (p *Place) Expendable() bool {
	return !p.runs || p.made == nil || !p.state.Root && p.state.Ring == 0
}

// State returns the last command that was accepted.
func (p *Place) State() State { return p.state }

// Held returns this place's report to a restarted coordinator; it means something
// only while the place Runs.
func (p *Place) Held() Held {
	h := Held{State: p.state}
	for i, e := range p.edges {
		if e.complete {
			h.Delivered = append(h.Delivered, p.delivery(i))
		}
	}
	return h
}

func (p *Place) emit(e PlaceEffect) { p.out = append(p.out, e) }

func (p *Place) report(e Event) { p.emit(Report{Event: e}) }

func (p *Place) refuse(s State, k phalanx.Kind, format string, args ...any) {
	p.report(Refused{Place: s.Place, Attempt: s.Attempt, Version: s.Version, Kind: k, Text: fmt.Sprintf(format, args...)})
}

func (p *Place) commanded(ev Commanded) {
	s, old := ev.State, p.state
	switch {
	case s.Attempt < p.floor:
		p.refuse(s, phalanx.ErrRefused, "attempt %d of the coordinator is known here", p.floor)
	case old.Version > 0 && (old.Place != s.Place || old.Reduce != s.Reduce || old.Target != s.Target):
		p.refuse(s, phalanx.ErrInternal, "this is place %d of %q in %v", old.Place, string(old.Target), old.Reduce)
	case old.Version > 0 && !old.older(s.Attempt, s.Version):
		if p.runs { // a repeat; a stopped place is not started by an old command
			p.ack()
		}
	case s.Gen.Compare(p.ended) <= 0:
		p.refuse(s, phalanx.ErrClosed, "the place was stopped")
	case ev.Unable != 0:
		p.floor = s.Attempt
		p.refuse(s, ev.Unable, "%s", ev.Text)
	case p.relabels(s):
		p.refuse(s, phalanx.ErrInternal, "the output %v would have other inputs", s.Gen)
	default:
		p.floor = s.Attempt
		p.apply(s)
		p.ack()
	}
}

func (p *Place) ack() {
	p.said = p.now
	p.report(Acked{Place: p.state.Place, Attempt: p.state.Attempt, Version: p.state.Version})
}

// relabels reports whether s has other inputs under the present label than the
// last command, which no coordinator asks for.
func (p *Place) relabels(s State) bool {
	if !p.runs || s.Gen != p.state.Gen {
		return false
	}
	if s.Ring != p.state.Ring || s.Source != p.state.Source || s.SourceGen != p.state.SourceGen || len(s.Children) != len(p.state.Children) {
		return true
	}
	for i, c := range s.Children {
		if was := p.state.Children[i]; !was.Gen.IsZero() && was.Gen != c.Gen {
			return true
		}
	}
	return false
}

// apply goes from the last command to s.
func (p *Place) apply(s State) {
	old, ran := p.state, p.runs
	fresh := !ran || s.Gen != old.Gen
	newSource := !ran || s.Source != old.Source || s.SourceGen != old.SourceGen
	if ran && newSource {
		p.emit(CloseSource{Source: old.Source, Gen: old.SourceGen})
	}
	p.state, p.runs = s, true
	changed := p.match(old, ran, fresh)
	if fresh {
		p.made, p.waits = nil, ""
		p.opFailure, p.opText = nil, ""
		if ran {
			p.emit(ResetOutput{Gen: s.Gen})
		}
	}
	if newSource {
		p.source = sourceState{moved: p.now}
		p.emit(OpenSource{Source: s.Source, Gen: s.SourceGen, Meta: s.Meta})
	}
	if regenerated := !fresh && s.Root && !old.TargetGen.IsZero() && s.TargetGen != old.TargetGen; regenerated {
		p.outputMissing(OutputMissing{Gen: s.Gen}) // its readers were told that the bytes are gone: it cannot be shown again
	} else {
		p.openEdges()
		if fresh || changed {
			p.emit(p.combine())
		}
	}
	if fresh || s.Parent != old.Parent || s.TargetGen != old.TargetGen {
		p.emit(Serve{Gen: s.Gen, Root: s.Root, Parent: s.Parent, Target: s.Target, TargetGen: s.TargetGen})
	}
	if fresh {
		p.reportKept()
	}
	if s.TargetGen != old.TargetGen {
		p.reportDone()
	}
}

func (p *Place) combine() Combine {
	s := p.state
	c := Combine{Gen: s.Gen, Op: s.Op, Meta: s.Meta, Ring: s.Ring, Inputs: []CombineInput{{Order: 1, Self: true}}}
	if len(s.Children) == 0 {
		c.Inputs[0].Order = 0
	}
	for _, k := range s.Children {
		in := CombineInput{Order: k.Order, Place: k.Place, Gen: k.Gen}
		if k.Order == 0 {
			c.Inputs = append([]CombineInput{in}, c.Inputs...)
		} else {
			c.Inputs = append(c.Inputs, in)
		}
	}
	return c
}

func (p *Place) stopping(ev Stopping) {
	s := p.state
	if ev.Attempt < p.floor {
		return // an earlier coordinator has no say
	}
	p.floor = ev.Attempt
	if p.ended.Compare(ev.Gen) < 0 {
		p.ended = ev.Gen
	}
	if p.runs && s.Gen.Compare(ev.Gen) <= 0 {
		keeps := ev.Final && s.TargetGen == ev.TargetGen
		goesOn := keeps && s.Ring > 0 // Release says so: it has not got everything yet
		for i, c := range s.Children {
			if p.edges[i].open && !goesOn {
				p.emit(CloseEdge{Place: c.Place, Gen: c.Gen, Stream: p.edges[i].stream})
			}
		}
		p.emit(CloseSource{Source: s.Source, Gen: s.SourceGen})
		p.emit(Release{KeepTarget: keeps && (s.Root || s.Ring > 0)})
		p.runs, p.edges, p.made, p.waits, p.source = false, nil, nil, "", sourceState{}
		p.opFailure, p.opText = nil, ""
	}
	p.report(Stopped{Place: ev.Place, Gen: ev.Gen})
}

func (p *Place) outputDone(ev OutputDone) {
	if p.runs && ev.Gen == p.state.Gen {
		p.made = &ev
		p.reportDone()
	}
}

func (p *Place) outputWaits(ev OutputWaits) {
	if p.runs && ev.Gen == p.state.Gen && ev.Text != p.waits {
		p.waits = ev.Text
		p.report(Waiting{Place: p.state.Place, Gen: ev.Gen, Text: ev.Text})
	}
}

// reportDone tells that the root has made the target, once that has a generation.
func (p *Place) reportDone() {
	if s := p.state; p.made != nil && s.Root && !s.TargetGen.IsZero() {
		p.report(RootDone{Place: s.Place, Gen: s.Gen, TargetGen: s.TargetGen, Size: p.made.Size, Digest: p.made.Digest})
	}
}

func (p *Place) tick(ev PlaceTick) {
	p.now = max(p.now, ev.Now)
	if !p.runs {
		return
	}
	if !p.source.complete && !p.source.stalled && p.now-p.source.moved >= p.cfg.StallAfter {
		p.source.stalled = true
		p.repeated = p.now - p.cfg.RepeatEvery
	}
	if p.now-p.said >= p.cfg.LifeEvery {
		p.ack()
	}
	if p.now-p.repeated < p.cfg.RepeatEvery {
		return
	}
	p.repeated = p.now
	p.reportDone()
	p.reportFailures()
}
