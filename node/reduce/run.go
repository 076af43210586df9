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
	// tickEvery is how often the core hears of the time.
	tickEvery = 50 * time.Millisecond
	// releaseFor is how long a caller whose Reduce cannot be done waits until its target is
	// free again, so that it can ask for another one.
	releaseFor = time.Second
	// watchAfter is how long a Reduce runs before its target is watched: most have ended
	// by then.
	watchAfter = 500 * time.Millisecond
	// strangeFor is how long a node may be unknown: the view here may be older than that of
	// the owner who named it.
	strangeFor = 500 * time.Millisecond
)

// Node is what a Run asks its node.
type Node interface {
	Num() uint64  // the next request number that is nobody else's
	Shards() int  // 0 before the first view
	View() uint64 // the number of the present one
	Member(phalanx.NodeID) bool
	// Whole says of which generation the node's complete copy of an object is.
	Whole(phalanx.ObjectID) (gen phalanx.Generation, meta phalanx.Meta, ok bool)
}

// Memory is what outlives the instances of a Run: what a restart has to know. The zero value
// is that of a Run that has not begun.
type Memory struct {
	began    time.Duration // by the first attempt
	attempt  uint64
	number   uint64             // of the Run among this node's, the same for all attempts
	gen      phalanx.Generation // of the target, if it is bound to this Run
	meta     *phalanx.Meta      // of the target; nil: not known yet
	remember *core.Remember
	answered bool // the caller has its answer
	gaveUp   bool // it was told that the Reduce failed
}

// Config is a request to reduce. Attempt and Deadline of its core are those of the Memory.
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
	ended    bool // the core has, or the host
	stepping bool // in Step, or it has panicked there

	asked   map[topic]uint64 // the numbers of requests that are not answered
	watchAt time.Duration    // when the target is to be watched, if begun
	begun   bool             // the target is, and it is not watched yet
	watch   uint64           // the number of the watch of the target; 0: there is none
	watched phalanx.Generation

	told    map[int]told                     // by position: what the places were told last
	places  map[string]core.PlaceLost        // what is lost when an actor ends
	strange map[phalanx.NodeID]time.Duration // nodes that were to get orders and are no members, since when

	seq      uint64 // of the last CombineInline
	inline   []byte // its result
	failed   *phalanx.Error
	patience time.Duration // when the caller is told so at the latest
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

// Core returns the core, to be looked at.
func (r *Run) Core() *core.Coordinator { return r.core }

// Began returns when the first attempt began.
func (m *Memory) Began() time.Duration { return m.began }

// Due returns when it wants a Tick.
func (r *Run) Due() (at time.Duration, ok bool) { return r.ticked + tickEvery, !r.ended }

// Ends reports whether ev is the last one of an attempt: Failed or Stopped. Of an attempt that has
// panicked in a step, or whose host has as it carried one out, it is the only one that counts.
func Ends(ev Event) bool {
	switch ev.(type) {
	case Failed, Stopped:
		return true
	}
	return false
}

// Lasts reports whether e, an effect of a step that was not carried out to its end, is to be
// carried out as the attempt ends. The Memory says that it was.
func Lasts(e Effect) bool {
	switch e.(type) {
	case Does, Forget, Withdraw, Answer:
		return true
	}
	return false
}

// Step takes an event and returns what is to be done.
func (r *Run) Step(now time.Duration, ev Event) []Effect {
	switch {
	case !r.stepping:
		r.out = nil
	case !Ends(ev): // it has panicked: what others still tell it is for the next attempt
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

// start begins, or goes on with what an earlier attempt has begun.
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

// do has the core take an event, and ends with it.
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

// release ends what this instance has asked of the owners. What has not taken effect by now
// must not do so after the next instance has begun.
func (r *Run) release() {
	r.ended = true
	r.unwatch()
	r.forgetAll()
}

// stopped ends the Run. If it has failed too often, its caller hears of it, and the target
// is given back: nobody else would.
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
