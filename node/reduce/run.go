package reduce

import (
	"errors"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

const (
	// tickEvery is how often the core hears the time.
	tickEvery = 50 * time.Millisecond
	// releaseFor is how long a caller whose Reduce fails waits at most until its target is free
	// again, so that it can ask for another Reduce.
	releaseFor = time.Second
	// watchAfter is how long a Reduce runs before it watches its target: most have ended by
	// then.
	watchAfter = 500 * time.Millisecond
	// strangeFor is how long a node may be unknown: the view here may be older than the view
	// of the owner that named it.
	strangeFor = 500 * time.Millisecond
)

// Node has a Run's questions to its node.
type Node interface {
	Num() uint64  // a new request number
	Shards() int  // 0 before the first view
	View() uint64 // the number of the present one
	Member(phalanx.NodeID) bool
	// Whole returns the generation of the node's complete copy of an object.
	Whole(phalanx.ObjectID) (gen phalanx.Generation, meta phalanx.Meta, ok bool)
}

// Memory is the state of a Run that its next instance takes over. The zero value is the memory
// of a Run that has not begun.
type Memory struct {
	began    time.Duration // by the first attempt
	attempt  uint64
	number   uint64             // of the Run among this node's, the same for all attempts
	gen      phalanx.Generation // of the target, if it is bound to this Run
	meta     *phalanx.Meta      // of the target; nil: not known yet
	remember *core.Remember
	answered bool // the caller has its answer
	gaveUp   bool // the caller has heard that the Reduce failed
}

// Config is a request to reduce. New sets Attempt and Deadline of the core from the Memory.
type Config struct {
	core.Config
	Within time.Duration // how long its caller waits, restarts included; 0: for ever
}

// Run runs one attempt of one Reduce. It hosts the core.
type Run struct {
	cfg      Config
	mem      *Memory
	node     Node
	core     *core.Coordinator
	survey   *survey
	now      time.Duration
	ticked   time.Duration
	out      []Effect
	left     []Effect // that Carry has not carried out; nil between its steps, and not after a panic in one
	ended    bool     // the core has, or the host
	stepping bool     // in Step, or it has panicked there

	asked   map[topic]uint64 // the numbers of unanswered requests
	watchAt time.Duration    // when to watch the target, if begun
	begun   bool             // the target is begun, and not watched yet
	watch   uint64           // the number of the watch of the target; 0: there is none
	watched phalanx.Generation

	told    map[int]told                     // by position: the last command of the place
	places  map[string]core.PlaceLost        // by actor: the event of its end
	strange map[phalanx.NodeID]time.Duration // nodes that were to get orders and are no members, since when

	seq      uint64 // of the last CombineInline
	inline   []byte // its result
	failed   *phalanx.Error
	patience time.Duration // when the caller hears of the failure at the latest
}

// New returns the next attempt of a Run.
func New(now time.Duration, cfg Config, mem *Memory, node Node) *Run {
	mem.attempt++
	if mem.attempt == 1 {
		mem.began = now
	}
	cfg.Attempt, cfg.Deadline = mem.attempt, 0
	if cfg.Within > 0 {
		cfg.Deadline = mem.began + cfg.Within
	}
	return &Run{cfg: cfg, mem: mem, node: node, core: core.New(cfg.Config), survey: newSurvey(cfg.Sources), now: now, ticked: now,
		asked: map[topic]uint64{}, told: map[int]told{}, places: map[string]core.PlaceLost{}, strange: map[phalanx.NodeID]time.Duration{}}
}

// Core returns the core, for observers.
func (r *Run) Core() *core.Coordinator { return r.core }

// Began returns when the first attempt began.
func (m *Memory) Began() time.Duration { return m.began }

// Due returns when the Run wants a Tick.
func (r *Run) Due() (at time.Duration, ok bool) { return r.ticked + tickEvery, !r.ended }

// Ends reports whether ev is the last event of an attempt: Failed or Stopped. After a panic in a
// step, or of the host as it carried one out, the attempt takes no other event.
func Ends(ev Event) bool {
	switch ev.(type) {
	case Failed, Stopped:
		return true
	}
	return false
}

// Lasts reports whether the host still has to carry out e as the attempt ends, if e is of a step
// that a panic cut short. The Memory says that it was carried out.
func Lasts(e Effect) bool {
	switch e.(type) {
	case Does, Forget, Withdraw, Answer:
		return true
	}
	return false
}

// Carry takes an event, and has carryOut carry the effects out. After a panic of carryOut only the
// attempt's last event counts: with it Carry finishes the step that was cut short.
func (r *Run) Carry(now time.Duration, ev Event, carryOut func(Effect)) {
	if r.left != nil && !Ends(ev) {
		return // the host is still told of places that end
	}
	for _, e := range r.left {
		if Lasts(e) {
			carryOut(e)
		}
	}
	for r.left = r.Step(now, ev); len(r.left) > 0; {
		e := r.left[0]
		r.left = r.left[1:] // not nil
		carryOut(e)
	}
	r.left = nil
}

// Step takes an event and returns the effects.
func (r *Run) Step(now time.Duration, ev Event) []Effect {
	switch {
	case !r.stepping:
		r.out = nil
	case !Ends(ev): // it has panicked: only the next attempt takes other events
		return nil
	default:
		r.out = slices.DeleteFunc(r.out, func(e Effect) bool { return !Lasts(e) })
	}
	r.now, r.stepping = now, true
	if !r.ended {
		r.handle(ev)
	}
	r.stepping = false
	return r.out
}

func (r *Run) handle(ev Event) {
	switch ev := ev.(type) {
	case Start:
		r.start(ev)
	case Answered:
		r.answered(ev)
	case Told:
		r.hear(ev)
	case Silent:
		r.silent(ev)
	case Reported:
		r.reported(ev)
	case PlaceEnded:
		r.placeEnded(ev)
	case Combined:
		r.combined(ev)
	case NodeGone:
		r.do(core.NodeGone(ev))
	case Leaving:
		r.do(core.Leaving(ev))
	case Made:
		r.mem.meta = &ev.Meta
		r.do(core.Made{Now: r.now, Gen: ev.Gen, Size: ev.Meta.Size, Digest: ev.Digest})
	case Canceled:
		r.cancel(ev.Err)
	case Failed:
		r.release()
		if r.failed != nil { // the next attempt would not know why
			r.answer(Answer{Err: r.failed})
		}
	case Stopped:
		r.stopped(ev)
	case Tick:
		r.tick()
	}
}

func (r *Run) emit(e Effect) { r.out = append(r.out, e) }

// start begins the Reduce, or goes on where an earlier attempt has ended.
func (r *Run) start(ev Start) {
	r.do(core.Leaving{Nodes: ev.Leaving})
	was := r.mem.remember
	if was == nil {
		if r.cfg.Shared {
			r.do(r.joining())
		}
		r.do(core.Start{Now: r.now})
		return
	}
	r.do(core.Resume{Now: r.now, Reduce: was.Reduce, Degree: was.Degree, Meta: was.Meta, Nodes: was.Nodes})
	for _, n := range was.Nodes {
		if !r.node.Member(n) {
			r.do(core.NodeGone{Node: n, Down: true})
		}
	}
}

func (r *Run) tick() {
	r.ticked = r.now
	r.giveUpStrangers()
	r.do(core.Tick{Now: r.now})
	for _, ev := range r.survey.tick(r.now) {
		r.do(ev)
	}
	r.watchTarget()
}

// do has the core take an event, and ends the Run when the core ends.
func (r *Run) do(ev core.Event) {
	if r.ended {
		return
	}
	for _, e := range r.core.Step(ev) {
		r.emit(Does{e})
		r.carryOut(e)
	}
	if r.failed != nil && (len(r.asked) == 0 || r.now >= r.patience) {
		r.answer(Answer{Err: r.failed})
	}
	if r.core.Ended() {
		r.stopped(Stopped{})
		r.emit(End{})
	}
}

func (r *Run) carryOut(e core.Effect) {
	switch e := e.(type) {
	case core.Begin:
		r.begin(e)
	case core.Join:
		r.join(e)
	case core.Watch:
		r.survey.begin(r.now, r.node.Shards(), func(source int) uint64 { return r.open(r.cfg.Sources[source]) })
	case core.Unwatch:
		r.unwatch()
	case core.Remember:
		r.mem.remember = &e
	case core.Command:
		r.told[e.State.Place] = told{e.Node, e.State.Gen}
		r.order(e.Node, e)
	case core.Stop:
		r.order(e.Node, e)
	case core.AskDelivered:
		r.order(e.Node, e)
	case core.AskRuns:
		r.order(e.Node, e)
	case core.Inspect:
		r.order(e.Node, e)
	case core.CombineInline:
		r.combine(e)
	case core.Restart:
		r.ask(topic{restart, e.From}, directory.Restart{Gen: e.From, Run: r.mem.number})
	case core.Finalise:
		r.finalise(e)
	case core.Abort:
		r.ask(topic{abort, e.Gen}, directory.Abort{Gen: e.Gen, Run: r.mem.number})
	case core.Result:
		r.result(e)
	case core.Fail:
		r.fail(e.Err)
	}
}

// release ends this instance's requests and watches. A request that has had no effect by now
// must have none after the next instance has begun.
func (r *Run) release() {
	r.ended = true
	r.unwatch()
	r.forgetAll()
}

// stopped ends the Run. If it has failed too often, it answers its caller and gives the target
// back: no other node would.
func (r *Run) stopped(ev Stopped) {
	r.release()
	if !r.core.Ended() && !ev.Closing && !r.mem.gen.IsZero() {
		r.emit(Withdraw{r.node.Num(), directory.Abort{Gen: r.mem.gen, Run: r.mem.number}})
	}
	if r.failed == nil {
		r.failed = &phalanx.Error{Node: r.cfg.Node, Kind: phalanx.ErrInternal, Err: errors.New("the coordinator's actor failed")}
	}
	r.answer(Answer{Err: r.failed})
}
