package leave

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

const (
	proposeAgain = 2 * time.Second       // less than the view's patience with a command
	lookAgain    = 50 * time.Millisecond // while something runs
	lookForGone  = 5 * time.Second       // while owners are asked
	aloneFor     = 2 * time.Second       // a majority that hangs, or a firewall that refuses connections, may last shorter
	strayFor     = 5 * time.Second       // a member that was removed since it hung joins again meanwhile
	mostClosing  = 10                    // closing looks: by then they find only copies that Gets leave again and again
)

// AwaitFor is how long a node that has begun its cluster anew, in place of one with other members, awaits these.
const AwaitFor = 5 * time.Second

// Core is how one node leaves, once.
//
// Invariant: Remove comes only after a look at everything that found nothing that runs
// and no copy that is not in kept, unless Gets have left copies before each of mostClosing
// looks. As long as a member stays, the node goes only by a Remove whose View is not older than
// the Left of the view: else a member that keeps a copy may be gone.
type Core struct {
	cfg      Config
	now      time.Duration
	started  bool
	over     bool
	removing bool
	known    bool // view is set
	view     Viewed
	marked   uint64        // the first view in which the node is marked; 0: none was seen
	propose  time.Duration // when Mark or Remove is repeated
	giveUp   time.Duration // when the running work is given up
	gaveUp   bool
	lost     Lost
	alone    bool          // see deserted
	aloneAt  time.Duration // since when
	strayed  time.Duration // see strays

	looking bool // a Look was not answered yet
	here    Here
	all     []Copy        // complete copies, as they were seen last
	allAt   time.Duration // when
	fresh   bool          // the last look was at everything, and neither view.Left nor the mark has changed since
	closing bool          // that look, or the unanswered one, began when no other work was left
	closed  int           // how many such looks there were
	look    time.Duration // when it looks again while something runs

	asks asking
	kept map[phalanx.ObjectID]Copy // by others, as of asOf
	why  *Answered                 // the last answer by which others do not keep a copy; nil: there was none
	out  []Effect
}

// New returns a core that has not begun.
func New(cfg Config) *Core {
	return &Core{cfg: cfg, strayed: cfg.Awaits, asks: newAsking(cfg.AtOnce), kept: map[phalanx.ObjectID]Copy{}}
}

// Over reports whether Left or Failed was emitted.
func (c *Core) Over() bool { return c.over }

// Step applies ev at now, and returns what the host must do, in that order.
func (c *Core) Step(now time.Duration, ev Event) []Effect {
	c.now = max(c.now, now)
	if c.over {
		return nil
	}
	switch ev := ev.(type) {
	case Start:
		c.started = true
		c.giveUp = c.now + (c.cfg.Deadline-c.now)/2
		c.emit(Refuse{})
		c.search(true)
	case Viewed:
		c.viewed(ev)
	case Saw:
		c.saw(ev.Here)
	case Waits:
		c.asks.waits(ev.Copy, ev.Node)
	case Answered:
		c.answered(ev)
	case Lost:
		c.lost = ev
	case Cancel:
		if c.removing { // the others may remove it at any time
			c.end(Left{Unseen: true})
		} else {
			c.fail(true)
		}
	}
	if was := c.alone; c.started && !c.over {
		if c.alone = c.deserted(); c.alone && !was {
			c.aloneAt = c.now
		}
		c.advance()
	}
	out := c.out
	c.out = nil
	return out
}

func (c *Core) emit(e Effect) { c.out = append(c.out, e) }

// viewed takes a view. When a member is gone that had not handed over, or a leaving member
// stays, the node asks about all copies again, and a Remove that is on its way is void.
func (c *Core) viewed(v Viewed) {
	if c.known && v.Number < c.view.Number {
		return
	}
	if c.known && v.Left != c.view.Left {
		c.forget()
		clear(c.kept)
		c.fresh, c.closing, c.closed, c.removing = false, false, 0, false
		if c.marked != 0 { // perhaps anew, after the mark of an attempt before was taken back
			c.marked = v.Number
		}
	}
	if c.known && c.view.Stay > 0 && v.Stay == 0 && v.Others < c.view.Others && c.lost.Gone < c.view.Stay {
		c.strayed = c.now + strayFor
	}
	c.asks.moved(c.view.Owners, v.Owners)
	c.known, c.view = true, v
	switch {
	case !v.Marked && c.marked != 0: // an earlier attempt had set the mark, and has taken it back
		c.marked, c.propose = 0, 0
	case v.Marked && c.marked == 0:
		c.marked, c.propose = v.Number, 0
		c.fresh = false // before that, others may have relied on this node
	}
}

// forget takes back all that is asked.
func (c *Core) forget() {
	for _, k := range c.asks.open() {
		if !k.later {
			c.emit(Forget{k.Copy})
		}
	}
	c.asks.clear()
}

// search asks for the copies that are here.
func (c *Core) search(all bool) {
	c.looking = true
	c.emit(Look{All: all})
}

func (c *Core) saw(h Here) {
	if c.gaveUp {
		h.Services, h.Durable = nil, false
	}
	c.looking, c.here, c.look = false, h, c.now+lookAgain
	if c.fresh = h.All; !h.All {
		return
	}
	c.all, c.allAt = h.Copies, c.now
	if c.asks.any() {
		c.forgetGone()
	}
	unkept := c.unkept()
	c.asks.queue(unkept)
	if len(unkept) > 0 && c.closed < mostClosing {
		c.closing = false
	}
}

// forgetGone takes back requests about copies that are not here any more.
func (c *Core) forgetGone() {
	here := make(map[Copy]bool, len(c.all))
	for _, cp := range c.all {
		here[cp] = true
	}
	for _, k := range c.asks.open() {
		if here[k.Copy] {
			continue
		}
		if !k.later {
			c.emit(Forget{k.Copy})
		}
		c.asks.gone(k)
	}
}

// unkept returns the copies that were seen and that others do not keep. If no member
// stays, none can.
func (c *Core) unkept() []Copy {
	if c.known && c.view.Stay == 0 {
		return nil
	}
	var out []Copy
	for _, cp := range c.all {
		if c.kept[cp.Object] != cp {
			out = append(out, cp)
		}
	}
	return out
}

func (c *Core) answered(a Answered) {
	again := true
	switch a.Kind {
	case 0, phalanx.ErrDeleted, phalanx.ErrLost, phalanx.ErrExists, phalanx.ErrNotFound: // after the last, no node wants this generation
		again = false
	}
	switch {
	case !c.asks.answered(a.Copy, c.now, again):
	case again:
		c.why = &a
	default:
		c.kept[a.Object] = a.Copy
	}
}

// advance does all work that is possible now.
func (c *Core) advance() {
	if c.awaited() {
		c.giveUpLate()
		c.lookAgain()
	}
	switch {
	case c.known && !c.view.Member: // the view may not say by which request: its removal may have lost shards
		c.end(Left{Fenced: !c.removing && c.view.Stay > 0, Alone: c.view.Stay == 0})
	case c.known && c.view.Others == 0 && !c.strays(), c.alone && !c.awaited() && c.now >= c.aloneUntil():
		c.end(Left{Alone: true})
	case c.now >= c.cfg.Deadline && c.removing:
		c.end(Left{Unseen: true})
	case c.now >= c.cfg.Deadline:
		c.fail(false)
	case !c.known:
	case c.marked == 0:
		c.repeat(Mark{})
	case c.strays(): // there is nobody to hand over to yet
	case c.removing:
		c.repeat(Remove{c.asOf()})
	default:
		c.handOver()
	}
}

// deserted reports whether the node can neither hand over nor be removed: the majority of the
// voters is lost, and every other member leaves as well or is known to be gone.
func (c *Core) deserted() bool { return c.known && c.lost.Majority && c.lost.Gone >= c.view.Stay }

// awaited reports whether a node that is deserted waits for members that are gone: it has something on its disk to hand over, and
// services with disks begin the cluster anew once processes have started again over them. Half of its time is enough. Where all
// leave nobody comes for it.
func (c *Core) awaited() bool { return c.alone && c.view.Stay > 0 && c.here.Durable }

// aloneUntil returns when a node that is alone goes.
func (c *Core) aloneUntil() time.Duration { return min(c.aloneAt+aloneFor, c.cfg.Deadline) }

// strays reports whether the last member that stayed was removed a moment ago, and its process is not
// known to be gone: if it hung, it joins again, and this node can hand over to it. So it can to those that it awaits.
func (c *Core) strays() bool { return c.view.Stay == 0 && c.now < c.strayedUntil() }

// strayedUntil returns when the node stops waiting for that member.
func (c *Core) strayedUntil() time.Duration { return min(c.strayed, c.cfg.Deadline) }

// asOf returns the number of the view since which others keep the copies in kept.
func (c *Core) asOf() uint64 { return max(c.marked, c.view.Left) }

// repeat proposes e again after a while, as long as no view shows it.
func (c *Core) repeat(e Effect) {
	if c.now >= c.propose {
		c.propose = c.now + proposeAgain
		c.emit(e)
	}
}

// giveUpLate gives up what runs after half of the time.
func (c *Core) giveUpLate() {
	if c.here.runs() && c.now >= c.giveUp && !c.gaveUp {
		c.gaveUp = true
		c.emit(GiveUp{Services: c.here.Services})
		c.here.Services, c.here.Durable = nil, false
	}
}

// lookAgain looks whether what runs has ended, from time to time.
func (c *Core) lookAgain() {
	if !c.looking && c.here.runs() && c.now >= c.look {
		c.search(false)
	}
}

func (c *Core) handOver() {
	c.giveUpLate()
	c.ask()
	c.lookAgain()
	switch {
	case c.looking:
	case c.asks.any():
		if c.now >= c.allAt+lookForGone {
			c.search(true)
		}
	case c.fresh && !c.here.runs() && len(c.unkept()) == 0:
		switch {
		case c.view.Shards > 0:
		case !c.closing: // Gets that came meanwhile have left copies
			c.closing = true
			c.closed++
			c.search(true)
		default:
			c.removing, c.propose = true, 0
			c.repeat(Remove{c.asOf()})
		}
	case !c.here.runs(): // also by a look that has left the copies out
		c.search(true)
	}
}

// ask asks about the next copies.
func (c *Core) ask() {
	if c.view.Stay == 0 {
		c.forget()
		return
	}
	c.asks.pass(c.now)
	for {
		cp, ok := c.asks.next(c.now)
		if !ok {
			return
		}
		c.emit(Ask{Copy: cp, View: c.asOf()})
	}
}

// fail ends it, and says what remains.
func (c *Core) fail(canceled bool) {
	r := Remains{Unmarked: c.marked == 0, Puts: c.here.Puts, Places: c.here.Places, Reduces: c.here.Reduces, Making: c.here.Making, Services: c.here.Services,
		Shards: c.view.Shards, Why: c.why}
	for _, cp := range c.unkept() {
		r.Objects = append(r.Objects, cp.Object)
	}
	if len(r.Objects) == 0 {
		r.Why = nil
	}
	r.Silent, r.Waiting = c.owners()
	c.forget()
	c.emit(Stay{})
	c.end(Failed{Remains: r, Canceled: canceled})
}

// owners returns the owners that have not answered, and the owners that wait until others
// keep a copy.
func (c *Core) owners() (silent, waiting []phalanx.NodeID) {
	for _, k := range c.asks.open() {
		switch {
		case k.later:
		case k.waits != "":
			waiting = append(waiting, k.waits)
		case k.Shard < len(c.view.Owners):
			silent = append(silent, c.view.Owners[k.Shard])
		}
	}
	slices.Sort(silent)
	slices.Sort(waiting)
	return slices.Compact(silent), slices.Compact(waiting)
}

func (c *Core) end(e Effect) {
	c.over = true
	c.emit(e)
}

// Due returns when a Tick has something to do; false if nothing waits for time to
// pass.
func (c *Core) Due() (time.Duration, bool) {
	if !c.started || c.over {
		return 0, false
	}
	at := c.cfg.Deadline
	if c.alone && !c.awaited() {
		at = c.aloneUntil()
	}
	if c.strays() {
		at = min(at, c.strayedUntil())
	}
	proposes := c.marked == 0 || c.removing
	if c.known && proposes {
		at = min(at, c.propose)
	}
	if c.known && c.here.runs() && (!proposes || c.awaited()) {
		if !c.gaveUp {
			at = min(at, c.giveUp)
		}
		if !c.looking {
			at = min(at, c.look)
		}
	}
	if c.known && !proposes {
		if next, ok := c.asks.due(c.now); ok {
			at = min(at, next)
		}
		if c.asks.any() && !c.looking {
			at = min(at, c.allAt+lookForGone)
		}
	}
	return at, true
}
