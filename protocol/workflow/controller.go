package workflow

import (
	"errors"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/agenda"
)

// ErrBusy says that more is being written than the disks take: try again soon.
var ErrBusy = errors.New("the ledger is busy")

// ControllerConfig says for what a Controller decides.
type ControllerConfig struct {
	Ledger     uint64 // its identity: the first part of each UID
	Generation uint64 // of the ledger: the first part of each fence
	Epoch      uint64 // of the tenure: raft's term
	Retention  uint64 // minutes for which a run that has ended stays; 0: 7 days
	Run        RunConfig

	// Work puts a workflow together of its recorded form. Graphs that tasks have returned come as Parts; nil: they
	// are whole.
	Work func(parts [][]byte) (*Work, error)
}

// Controller decides for all runs during one tenure of the ledger (workflow specification 2, 3 and 4). It promises:
//
//  1. what it answers is durable, but for GetStatus and ListRuns;
//  2. one run has an id at a time, and one workflow;
//  3. an attempt with an effect goes to one node, after its record is durable; its outcome counts once;
//  4. a run goes on after a takeover once each recorded attempt with an effect, and each output that it needs, was
//     found, or every node that may have it has answered or has left the view.
//
// It ends with the tenure: as it is Refused it answers what it owes, and does nothing more.
type Controller struct {
	cfg ControllerConfig
	now time.Duration
	out []ControlEffect

	loading bool  // Scanned has not brought the last rows
	scan    []Row // until then
	over    bool  // the tenure has ended

	// runs
	index  uint64 // of the last run that was started
	loads  uint64 // of runs in this tenure
	runs   map[UID]*hosted
	ids    map[string]*hosted
	timers agenda.Agenda[*hosted]
	todo   []step              // events for runs, in order
	locked map[string][]func() // ids that a Write deletes or parks, or whose run is loaded: the lookups that wait

	// rows
	units   []unit        // of this step, and those that wait until there is room
	written []written     // not durable, in order
	number  uint64        // of the last Write
	bytes   int           // of units and Writes: of what is not durable
	onWay   int           // of Writes that are not durable
	minutes uint64        // of leaders' clocks
	ticks   time.Duration // when the next minute is over

	// what was asked of the host
	reads      map[uint64]func([]Row)
	looking    map[string][]func(*hosted, *Name)
	asked      uint64        // the last number of a Read or a Confirm
	confirming []func()      // wait for the Confirm that is asked
	mostInputs int           // MaxInputs; less in tests
	confirmAs  uint64        // its number
	confirmAt  time.Duration // when it was asked
	sure       time.Duration // no other controller had begun by then
	confirms   []func()      // wait for the next one

	// calls
	calls    map[Caller]*call
	patience agenda.Agenda[*call]
	watchers map[UID]map[*call]struct{} // by run

	// members
	view     ViewNumber
	members  map[phalanx.NodeID]*member
	recorded map[phalanx.NodeID]Known // that may have attempts: of the scan, and not heard; or that have left, and this is not durable
	nobody   bool                     // no view was heard
	grace    time.Duration            // then the controller looks which runs can go on
	heldRuns []*hosted                // in order; some go on by now
	wentOn   int                      // of them
	repeats  agenda.Agenda[*sending]
	acking   []*member // that have acks
	place    placer
	limits   limits
	strays   map[UID][]*member // of which members have something, and that are looked up
	sweeper  sweeper

	withDisks []*member      // in order; nil: it has changed
	saves     map[Blob]*save // being written
	saveQueue []*save        // in order
	saveEnds  agenda.Agenda[*save]
	unacked   map[AttemptID]bool // reports whose records are not durable
	progress  int                // bytes, of all runs
}

// step is an event for a run.
type step struct {
	run   *hosted
	event RunEvent
	then  func(wrote bool) // after the step, before its rows are written: whether it has any
}

// NewController returns the Controller of a tenure that has begun at now.
func NewController(cfg ControllerConfig, now time.Duration) *Controller {
	if cfg.Retention == 0 {
		cfg.Retention = retention
	}
	cfg.Run.Epoch = cfg.Epoch
	return &Controller{cfg: cfg, now: now, loading: true, nobody: true, ticks: now + minute,
		runs: map[UID]*hosted{}, ids: map[string]*hosted{}, locked: map[string][]func(){}, reads: map[uint64]func([]Row){},
		looking: map[string][]func(*hosted, *Name){}, calls: map[Caller]*call{}, watchers: map[UID]map[*call]struct{}{},
		members: map[phalanx.NodeID]*member{}, recorded: map[phalanx.NodeID]Known{}, strays: map[UID][]*member{},
		saves: map[Blob]*save{}, unacked: map[AttemptID]bool{}, mostInputs: MaxInputs}
}

// Step takes an event and returns what the host must do, in that order.
func (c *Controller) Step(now time.Duration, ev ControlEvent) []ControlEffect {
	c.now = max(c.now, now)
	if c.over {
		if ev, ok := ev.(Called); ok {
			return []ControlEffect{Answer{Caller: ev.Caller, Err: failure(phalanx.ErrUnavailable, "the controller's tenure has ended: ask the next one")}}
		}
		return nil
	}
	switch ev := ev.(type) {
	case Scanned:
		c.scanned(ev)
	case Found:
		if then := c.reads[ev.Number]; then != nil {
			delete(c.reads, ev.Number)
			then(ev.Rows)
		}
	case Confirmed:
		c.confirmed(ev.Number)
	case Durable:
		c.durable(ev.Number)
	case Refused:
		c.end()
	case Called:
		c.called(ev)
	case Withdrawn:
		if call := c.calls[ev.Caller]; call != nil {
			c.dropCall(call)
		}
	case Members:
		c.viewed(ev)
	case Heard:
		c.heard(ev.From, ev.Message)
	case OutputGone:
		c.gone(ev.Blob)
	case CheckpointGone:
		c.unsaved(ev.Blob)
	case Swept:
		c.swept(ev)
	}
	if !c.over {
		c.tick()
		c.work()
		c.dispatch()
		c.work() // of what could not be dispatched
		c.sendAcks()
		c.flush()
		c.confirm()
	}
	out := c.out
	c.out = nil
	return out
}

// Due returns when the Controller has to hear of the time; false: it need not.
func (c *Controller) Due() (at time.Duration, ok bool) {
	if c.over || c.loading {
		return 0, false
	}
	at = c.ticks
	for _, due := range []func() (time.Duration, bool){c.timers.Due, c.patience.Due, c.repeats.Due, c.saveEnds.Due, c.place.waiting.Due, c.graceDue, c.sweepDue} {
		if d, some := due(); some {
			at = min(at, d)
		}
	}
	return at, true
}

func (c *Controller) graceDue() (time.Duration, bool) { return c.grace, c.grace > 0 }

// tick does what is due.
func (c *Controller) tick() {
	if c.loading {
		return
	}
	if c.now >= c.ticks {
		c.pass()
	}
	if c.grace > 0 && c.now >= c.grace {
		c.grace = 0
		c.release()
	}
	c.sweep()
	for {
		call, ok := c.patience.Take(c.now)
		if !ok {
			break
		}
		c.fail(call, failure(phalanx.ErrDeadline, "%s: ask again", call.waits()))
	}
	for {
		s, ok := c.saveEnds.Take(c.now)
		if !ok {
			break
		}
		c.saveLate(s)
	}
	for {
		s, ok := c.repeats.Take(c.now)
		if !ok {
			break
		}
		c.sendAgain(s)
	}
	for {
		h, ok := c.timers.Take(c.now)
		if !ok {
			break
		}
		c.step(h, Tick{}, nil)
	}
}

// end takes the end of the tenure: nobody knows what is under way, but the next controller.
func (c *Controller) end() {
	for _, call := range c.sortedCalls() {
		c.fail(call, failure(phalanx.ErrUnavailable, "the controller's tenure has ended: ask the next one"))
	}
	c.over = true
	*c = Controller{cfg: c.cfg, now: c.now, out: c.out, over: true}
}

func (c *Controller) emit(e ControlEffect) { c.out = append(c.out, e) }

func (c *Controller) publish(n News) { c.emit(Publish{News: n}) }

// step has a run take an event, after those that it has yet to take.
func (c *Controller) step(h *hosted, ev RunEvent, then func(wrote bool)) {
	h.queued++
	c.todo = append(c.todo, step{h, ev, then})
}

// work has runs take their events.
func (c *Controller) work() {
	for i := 0; i < len(c.todo); i++ {
		s := c.todo[i]
		c.todo[i] = step{}
		c.stepRun(s)
	}
	c.todo = c.todo[:0]
}
