package barrier

import (
	"cmp"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	repl "github.com/phalanx-go/phalanx/protocol/replica"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// CoreConfig has the settings of a node's part in all barriers.
type CoreConfig struct {
	Managers int           // of a barrier; 0: 3
	Resend   time.Duration // after which an unanswered message is repeated; 0: 50 ms
	Poll     time.Duration // after which a waiting participant asks again; 0: 1 s
	Keep     time.Duration // how long managers remember the entries of a barrier that is over; 0: 10 s
	Linger   time.Duration // how long it is known that a barrier has fired, at least; 0: 10 min
	Remember int           // of how many barriers that is known; 0: 200,000
	// Window is of how many barriers of one primary the questions of a node are on their way at
	// a time; 0: 256. The others wait for their turn here, and not in the primary's mailbox,
	// where they would be asked again before they were read.
	Window   int
	Part     int    // bytes of a message that can be long, about; 0: 256 KiB
	Past     *Past  // of the node: barriers that are over, which a Core made anew takes over; nil: none
	Attempts uint64 // attempts of this node's participants are greater; attempts of an earlier process are not
}

func (c CoreConfig) withDefaults() CoreConfig {
	c.Managers = cmp.Or(c.Managers, 3)
	c.Resend = cmp.Or(c.Resend, 50*time.Millisecond)
	c.Poll = cmp.Or(c.Poll, time.Second)
	c.Keep = cmp.Or(c.Keep, 10*time.Second)
	c.Linger = cmp.Or(c.Linger, 10*time.Minute)
	c.Remember = cmp.Or(c.Remember, 200_000)
	if c.Past == nil {
		c.Past = new(Past)
	}
	if c.Past.most == 0 {
		*c.Past = newPast(c.Remember)
	}
	c.Part = cmp.Or(c.Part, defaultPart)
	c.Window = cmp.Or(c.Window, 256)
	return c
}

// Event is an input of a Core.
type Event interface{ event() }

type (
	// Viewed is a new view: the members that manage barriers.
	Viewed struct {
		Self    phalanx.NodeID // this node's present incarnation
		Number  uint64
		Members []phalanx.NodeID
		Leaving []phalanx.NodeID // members that are about to leave
	}

	// Leased says until when this node is surely a member.
	Leased struct{ Until time.Duration }

	// Heard is a message of another node.
	Heard struct {
		From    phalanx.NodeID
		Message Message
	}

	// Tick says that time has passed.
	Tick struct{}

	// Batch is several events that came together. The Core takes all before it decides:
	// entries of one barrier from several nodes go to its backups together.
	Batch []Event
)

func (Viewed) event() {}
func (Leased) event() {}
func (Heard) event()  {}
func (Tick) event()   {}
func (Batch) event()  {}

// Output is an effect of a Core.
type Output interface{ output() }

type (
	// Send sends a message to another node.
	Send struct {
		To      phalanx.NodeID
		Message Message
	}

	// Publish tells the application on the primary an event.
	Publish struct {
		Key      Key
		Happened Happened
	}

	// TookOver says that this node is a barrier's primary now, after another one,
	// which may not have published its last changes.
	TookOver struct {
		Key      Key
		From     phalanx.NodeID // empty: not known here
		Term     uint64
		Took     time.Duration // since it learned that it is
		Standing Standing
	}
)

func (Send) output()     {}
func (Publish) output()  {}
func (TookOver) output() {}

// Core is a node's part in all barriers.
type Core struct {
	cfg    CoreConfig
	now    time.Duration
	view   Viewed
	list   []phalanx.NodeID            // members that can manage
	ring   ring                        // of them
	manage map[string][]phalanx.NodeID // and which of them manage the barriers of a name, primary first
	terms  repl.Terms
	out    []Output
	own    []Message // to this node, not handled yet

	managing // the barriers that it manages
	entering // participants here
	past     *Past
	spreading
	joining // participants here that wait for a Config
	awaited // nodes that wait for the Config of a barrier that it manages
}

// NewCore returns a node's part before it is in a view.
func NewCore(cfg CoreConfig) *Core {
	cfg = cfg.withDefaults()
	return &Core{cfg: cfg, joining: newJoining(), awaited: newAwaited(), managing: managing{shelf: newShelf()}, past: cfg.Past,
		entering: entering{groups: map[Key]*group{}, attempt: cfg.Attempts, waiters: map[uint64]waiter{}, queries: map[uint64]*query{},
			onWay: map[phalanx.NodeID]int{}, queued: map[phalanx.NodeID][]*group{}}}
}

// Step takes an event at now and returns the effects, in the order of execution.
func (c *Core) Step(now time.Duration, e Event) []Output {
	c.out, c.now = nil, max(c.now, now)
	c.handle(e)
	for more := true; more; { // serve the requests of participants here with the rest
		c.flush()
		c.tellOver()
		if len(c.own) == 0 {
			c.serve()
			more = len(c.own) > 0
		}
		own := c.own
		c.own = nil
		for _, m := range own {
			c.heard(c.view.Self, m)
		}
	}
	return c.out
}

func (c *Core) handle(e Event) {
	switch e := e.(type) {
	case Batch:
		for _, one := range e {
			c.handle(one)
		}
	case Viewed:
		c.viewed(e)
	case Leased:
		c.leased = max(c.leased, e.Until)
		if c.gathering.Done() && c.now < c.leased {
			c.hearEarly()
		}
		if c.now < c.leased {
			c.askUnleased()
		}
	case Heard:
		c.heard(e.From, e.Message)
	case Call:
		c.call(e)
	case GiveUp:
		c.giveUp(e.ID)
	case Replied:
		c.replied(e)
	}
}

// Due returns when a Tick is wanted.
func (c *Core) Due() (at time.Duration, ok bool) {
	for _, f := range []func() (time.Duration, bool){c.managingDue, c.enteringDue, c.spreadingDue} {
		if d, some := f(); some && (!ok || d < at) {
			at, ok = d, true
		}
	}
	return at, ok
}

// Idle reports whether no caller waits here, and this node decides about no barrier: it needs
// no lease before the next event.
func (c *Core) Idle() bool {
	return c.gathering.Waits() == 0 && len(c.active) == 0 && len(c.groups) == 0 && len(c.joins) == 0
}

func (c *Core) emit(o Output) { c.out = append(c.out, o) }

// pauses are the pauses after which unanswered messages are repeated.
func (c *Core) pauses(t retry.Trip) retry.Pauses { return t.Pauses(c.cfg.Resend, c.cfg.Poll) }

// send sends m; to this node itself by way of own, and to a node that is no member not at
// all.
func (c *Core) send(to phalanx.NodeID, m Message) {
	switch {
	case to == c.view.Self:
		c.own = append(c.own, m)
	case slices.Contains(c.view.Members, to):
		c.emit(Send{To: to, Message: m})
	}
}

// viewed takes a view. Earlier findings came from the members of an earlier view.
func (c *Core) viewed(v Viewed) {
	if v.Number <= c.view.Number && v.Self == c.view.Self {
		return
	}
	c.orphan(v)
	old, managed := c.view, c.list
	c.view = v
	c.list, c.manage = v.eligible(), map[string][]phalanx.NodeID{}
	c.ring = newRing(c.list)
	c.handing = c.newHanding()
	if old.Self != v.Self { // the incarnation before was removed, and its knowledge is old
		c.shelf, c.spreading, c.ignorant = newShelf(), spreading{}, true
		if old.Self != "" {
			*c.past = newPast(c.cfg.Remember)
		}
	} else if slices.Contains(old.Leaving, v.Self) && !slices.Contains(v.Leaving, v.Self) { // it has handed over, and stays
		c.ignorant = true
	} else if slices.Equal(old.Members, v.Members) && slices.Equal(old.Leaving, v.Leaving) {
		return
	}
	c.past.learn(v.Members)
	c.spread(managed)
	c.newTerm(v.Number)
	c.newPrimaries()
}

// eligible are the members that can manage, which are not about to leave.
func (v Viewed) eligible() []phalanx.NodeID {
	list := slices.DeleteFunc(slices.Clone(v.Members), func(id phalanx.NodeID) bool { return slices.Contains(v.Leaving, id) })
	if len(list) == 0 {
		return v.Members // all leave: some have to manage
	}
	return list
}

// ManagersOf returns the members that manage the barriers called name, the primary
// first, with the default number of managers.
func ManagersOf(v Viewed, name string) []phalanx.NodeID {
	return newRing(v.eligible()).managers(place(name), CoreConfig{}.withDefaults().Managers)
}

// managersKept bounds how many names have remembered managers, besides the names of open
// barriers.
const managersKept = 512

// managers returns the members that manage a barrier, the primary first.
func (c *Core) managers(k Key) []phalanx.NodeID {
	list, ok := c.manage[k.Name]
	if !ok {
		if len(c.manage) > managersKept+2*(len(c.replicas)+len(c.groups)) {
			clear(c.manage)
		}
		list = c.ring.managers(place(k.Name), c.cfg.Managers)
		c.manage[k.Name] = list
	}
	return list
}

// primary returns the first of a barrier's managers, or "" before there is a view.
func (c *Core) primary(k Key) phalanx.NodeID {
	if len(c.list) == 0 {
		return ""
	}
	return c.managers(k)[0]
}

// refuses tells a primary of an earlier term that there is a later one, in which it may be the
// primary still, and reports whether it has.
func (c *Core) refuses(from phalanx.NodeID, term uint64) bool {
	if !c.terms.Outdated(term) {
		return false
	}
	c.send(from, Refused{Term: c.terms.Fence})
	return true
}

func (c *Core) heard(from phalanx.NodeID, m Message) {
	if !slices.Contains(c.view.Members, from) {
		return // not yet or not any more
	}
	switch m := m.(type) {
	case Reached:
		c.reached(from, m)
	case Reply:
		c.reply(m)
	case WhoPassed:
		c.whoPassed(from, m)
	case Replicate:
		c.replicate(from, m)
	case Confirm:
		c.confirm(from, m)
	case Gather:
		c.gather(from, m)
	case Gathered:
		c.gathered(from, m)
	case Refused:
		c.refused(m)
	case Forget:
		c.forget(from, m)
	case Remove:
		c.removeAsked(from, m)
	case Removed:
		c.removed(m)
	case Over:
		c.over(from, m)
	case OverKnown:
		c.overKnown(from, m)
	case Answers:
		if !c.refuses(from, m.Term) {
			c.answered(from, m)
		}
	case Question:
		c.questioned(m)
	case Notify:
		c.told(m)
	case Passed:
		if !c.refuses(from, m.Term) {
			c.passed(m)
		}
	case WhoOpened:
		c.whoOpened(from, m)
	case Opened:
		if !c.refuses(from, m.Term) {
			c.opened(m)
		}
	}
}
