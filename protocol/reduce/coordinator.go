package reduce

import (
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
)

// phase is where a Reduce is.
//
//	idle ──Start──▶ beginning ──Begun──▶ running ──▶ finalising ──▶ ended
//	                    │  ▲               ▲
//	                Attached │Begun        │ every node has answered
//	                    ▼  │               │
//	                 following   Resume ▶ inspecting
//
// Every phase goes to ended on a failure.
type phase uint8

const (
	idle phase = iota
	beginning
	following  // a coordinator elsewhere runs it
	inspecting // after a restart: which places are there?
	running
	finalising // Finalise is on its way: losses are noted
	ended
)

// A Coordinator runs one Reduce.
//
// Invariant: a source has at most one place, and each place at most one source.
// Invariant: a place that is delivered holds, in the stream that its parent has,
// the present source of every place below it.
type Coordinator struct {
	cfg   Config
	phase phase
	now   time.Duration
	out   []Effect

	reduce phalanx.Generation // names this Reduce; zero until begun
	gen    phalanx.Generation // of the target, the last granted
	after  phalanx.Generation // of the target, the last that was deleted before this began
	shown  bool               // a root was told gen, or may have been
	ask    retry              // of Begin
	watch  bool

	sources  []*source // in the order of the request
	byID     map[phalanx.ObjectID]*source
	gone     map[phalanx.NodeID]bool // have left the view; an id never comes back
	leaving  []phalanx.NodeID        // are about to
	arrivals uint64
	queue    queue         // of sources that are ready and have no place
	aside    []*source     // ready and without a place, but no holder takes one; some may be in the queue again
	asideAt  time.Duration // when they were put back into the queue last
	whole    int           // how many sources are ready and final
	deleted  int           // how many sources are deleted
	some     *source       // the source that was ready or had a place at the last search; nil: there was none

	candidates []phalanx.NodeID // have sources, as far as that was known when the degree was chosen

	fixed  bool // meta, and inline or tree, are fixed
	meta   phalanx.Meta
	first  phalanx.ObjectID // where meta comes from
	inline bool
	tree   Tree
	places []*place               // by position
	turns  turns                  // of the places that are empty
	loads  map[phalanx.NodeID]int // how many places run at each node
	dead   []*place               // among the places; some may not be any more
	stuck  []*place               // likewise: places of sources that do not go on
	dirty  []*place               // places whose commands may have changed
	unsure int                    // the position at which the search for a place without a final source begins

	ring      ringPhase
	ringUntil time.Duration
	broken    bool                    // the ring was, in this step
	wanting   map[phalanx.NodeID]bool // nodes that want the target
	early     []Ready                 // their sources, reported before it has begun
	unsaid    *phalanx.Error          // with which it fails if it has to make the target; nil: nothing is wrong with the sources
	following phalanx.Generation      // of the target, by another coordinator
	leader    phalanx.NodeID          // where that runs
	seq       uint64                  // of the last PlaceGen

	nodes   []phalanx.NodeID // that were told something; sorted
	stops   stops
	cleared []int // positions, since the last commands
	again   []vacated
	stale   bool // the root has cleared the output that was shown under gen
	restart retry
	resumed resumption

	combine            combine
	included, leftOver []phalanx.ObjectID // the answer, once the Reduce is finalising
	done               *RootDone
	finalise           retry
	losses             map[int]loss // by position, while it is finalising
	unmatched          []Ready      // likewise: do not match
	answer             Effect       // Result or Fail
	final              bool         // it has ended with a final target, whatever the caller was told
	abort              retry
}

// retry is a request to be repeated until it is answered.
type retry struct {
	pending bool
	sent    time.Duration
}

// due reports whether it is to be sent again, and takes note that it is.
func (r *retry) due(now, every time.Duration) bool {
	if !r.pending || now-r.sent < every {
		return false
	}
	r.sent = now
	return true
}

// New returns a coordinator that has not begun. A bad request is answered by
// Start.
func New(cfg Config) *Coordinator {
	c := &Coordinator{cfg: cfg.withDefaults(), byID: make(map[phalanx.ObjectID]*source, len(cfg.Sources)), gone: map[phalanx.NodeID]bool{},
		wanting: map[phalanx.NodeID]bool{cfg.Node: true}}
	for _, id := range cfg.Sources {
		s := &source{id: id, position: -1}
		c.sources = append(c.sources, s)
		c.byID[id] = s
	}
	return c
}

// Reduce returns the generation that names this Reduce, or zero before it has
// begun.
func (c *Coordinator) Reduce() phalanx.Generation { return c.reduce }

// Finalising reports whether the result is about to be recorded. A loss matters then only
// if the record is refused.
func (c *Coordinator) Finalising() bool { return c.phase == finalising }

// Ended reports whether the caller has its answer and nothing is left to be
// repeated.
func (c *Coordinator) Ended() bool {
	return c.phase == ended && len(c.stops.of) == 0 && len(c.resumed.waiting) == 0 && !c.abort.pending && !c.ask.pending && !c.restart.pending
}

// Step applies ev and returns what the host must do, in that order. The caller
// owns the slice, not the data of its effects.
func (c *Coordinator) Step(ev Event) []Effect {
	c.out, c.broken = nil, false
	c.handle(ev)
	c.settle()
	return c.out
}

func (c *Coordinator) emit(e Effect) { c.out = append(c.out, e) }

func (c *Coordinator) handle(ev Event) {
	switch ev := ev.(type) {
	case Start:
		c.start(ev)
	case Resume:
		c.resume(ev)
	case Tick:
		c.tick(ev)
	case Cancel:
		c.fail(&phalanx.Error{Kind: phalanx.ErrCanceled, Object: c.cfg.Target, Err: fmt.Errorf("the caller went away")}, true)
	case Begun:
		c.begun(ev)
	case Attached:
		c.attached(ev)
	case Rejected:
		c.rejected(ev)
	case TargetGone:
		c.targetGone(ev)
	case Finalised:
		c.finalised(ev)
	case FinaliseRefused:
		c.finaliseRefused(ev)
	case Restarted:
		c.restarted(ev)
	case RestartRefused:
		c.restartRefused(ev)
	case Aborted:
		c.abort.pending = false
	case Stopped:
		c.stopped(ev)
	case Acked:
		c.acked(ev)
	case NodeGone:
		c.nodeGone(ev)
	case Leaving:
		c.leaving = ev.Nodes
		c.noneAside()
	case Inspected:
		c.inspected(ev)
	case Joined:
		c.joined(ev)
	case Made:
		c.made(ev)
	default:
		if c.phase != ended {
			c.handleRunning(ev)
		}
	}
}

// handleRunning applies events that mean nothing after the end.
func (c *Coordinator) handleRunning(ev Event) {
	switch ev := ev.(type) {
	case Ready:
		c.ready(ev)
	case Surveyed:
		c.surveyed(ev)
	case SourceFinal:
		c.sourceFinal(ev)
	case SourceReset:
		c.sourceReset(ev.Source, ev.Gen)
	case SourceGone:
		c.sourceGone(ev)
	case SourceMissing:
		c.sourceMissing(ev)
	case HolderGone:
		c.holderGone(ev)
	case PlaceLost:
		c.placeLost(ev)
	case Refused:
		c.refused(ev)
	case Delivered:
		c.delivered(ev)
	case NotDelivered:
		c.notDelivered(ev)
	case Stalled:
		c.stalled(ev.Place, ev.Gen, true)
	case Waiting:
		c.waits(ev)
	case Moving:
		c.stalled(ev.Place, ev.Gen, false)
	case Combining:
		c.combines(ev)
	case CombineFailed:
		c.combineFailed(ev)
	case RootDone:
		c.rootDone(ev)
	case InlineDone:
		c.inlineDone(ev)
	case InlineFailed:
		c.inlineFailed(ev)
	}
}

// settle draws the conclusions from the changes of handle.
func (c *Coordinator) settle() {
	if c.phase != running || !c.fixed {
		return
	}
	if c.inline {
		c.settleInline()
		return
	}
	if c.gather() {
		return
	}
	c.repair()
	c.fill()
	if c.replaceStalled() {
		c.repair()
		c.fill()
	}
	c.restartTarget()
	c.command()
	c.tryFinalise()
}

func (c *Coordinator) tick(ev Tick) {
	c.now = max(c.now, ev.Now)
	if d := c.cfg.Deadline; d > 0 && c.now >= d && c.phase != ended && c.phase != idle {
		c.expired()
	}
	c.repeat()
}

// repeat sends unacknowledged messages again.
func (c *Coordinator) repeat() {
	every := c.cfg.RepeatEvery
	if c.ask.due(c.now, every) {
		c.emit(c.beginEffect())
	}
	if c.restart.due(c.now, every) {
		c.emit(Restart{Target: c.cfg.Target, Attempt: c.cfg.Attempt, From: c.gen})
	}
	if c.finalise.due(c.now, every) {
		c.emit(c.finaliseEffect())
	}
	if c.abort.due(c.now, every) {
		c.emit(Abort{Target: c.cfg.Target, Attempt: c.cfg.Attempt, Gen: c.gen})
	}
	c.repeatInspect()
	c.repeatStops()
	c.repeatCommands()
}
