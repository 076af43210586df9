package workflow

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/agenda"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// Caller has the calls of a node's clients reach the controller. While it does not know who leads it asks the members
// one after the other: each says which controller it knows. It repeats a call until it is answered.
type Caller struct {
	now      time.Duration
	out      []CallerEffect
	self     phalanx.NodeID
	members  []phalanx.NodeID // in order, this node first
	diskless map[phalanx.NodeID]bool
	disks    []phalanx.NodeID // had folders in the last view with one that is known; none: the cluster never had one
	leader   phalanx.NodeID   // "": none is known
	epoch    uint64           // of the last leader
	calls    map[uint64]*call
	due      agenda.Agenda[*call]
}

// call is a call that has not ended.
type call struct {
	Call
	to     phalanx.NodeID // has the request; "": it waits for the next one
	lost   time.Duration  // when the request counts as lost, or its answer
	pause  time.Duration  // before it is sent again
	slack  time.Duration  // that lost is later than the controller is to answer
	search int            // of members: the next one that is asked while none is known to lead
	doubts bool           // the leader has not answered: the others are asked
	heard  time.Duration  // when a controller has answered, or the call began
	why    string         // the last request had no answer
	repeat bool           // an earlier request may have taken effect
	open   bool           // a controller has said that the run has not ended
}

const (
	searchWait  = 500 * time.Millisecond // for the answer of a member that need not lead
	roundWait   = 10 * time.Second       // of a controller for what is asked of it
	answerWait  = 200 * time.Millisecond
	lateAnswer  = time.Second           // after which the answer to a round is lost
	sendAgain   = time.Second           // after which a request without an answer may be lost; twice as long each time
	searchPause = 50 * time.Millisecond // after all members were asked
	againPause  = 20 * time.Millisecond // when the next controller has to be asked
	silentMost  = time.Minute           // without a controller a call without a deadline ends
	maxCalls    = core.MaxCalls
)

// NewCaller returns the Caller of an incarnation of a node.
func NewCaller() *Caller {
	return &Caller{diskless: map[phalanx.NodeID]bool{}, calls: map[uint64]*call{}}
}

// Step takes an event and returns what the host must do, in that order.
func (c *Caller) Step(now time.Duration, ev CallerEvent) []CallerEffect {
	c.now = max(c.now, now)
	switch ev := ev.(type) {
	case Call:
		c.begin(ev)
	case Forsaken:
		if k := c.calls[ev.Number]; k != nil {
			c.leave(k)
			c.end(k)
		}
	case Replied:
		c.replied(ev)
	case Redirected:
		c.redirected(ev)
	case Leads:
		c.leads(ev.Node, ev.Epoch)
	case Around:
		c.around(ev)
	case CallerTick:
	}
	for {
		k, ok := c.due.Take(c.now)
		if !ok {
			break
		}
		c.next(k)
	}
	out := c.out
	c.out = nil
	return out
}

// Due returns when the Caller has to hear of the time; false: it need not.
func (c *Caller) Due() (at time.Duration, ok bool) { return c.due.Due() }

func (c *Caller) emit(e CallerEffect) { c.out = append(c.out, e) }

func (c *Caller) begin(ev Call) {
	_, awaits := ev.Call.(core.AwaitResult)
	if len(c.calls) >= maxCalls || awaits && len(c.calls) >= core.MaxAwaits {
		c.emit(Returned{Number: ev.Number, Answer: core.Answer{Err: failed(phalanx.ErrUnavailable, "", "%d calls of this node wait: %w", len(c.calls), core.ErrBusy)}})
		return
	}
	k := &call{Call: ev, heard: c.now}
	c.calls[ev.Number] = k
	c.next(k)
}

// sorted returns the calls in the order of their numbers.
func (c *Caller) sorted() []*call {
	var all []*call
	for _, n := range slices.Sorted(maps.Keys(c.calls)) {
		all = append(all, c.calls[n])
	}
	return all
}

// next asks for a call: the leader if one is known, else the next member. It is called when the last request has
// had no answer in time, or when there is none.
func (c *Caller) next(k *call) {
	if k.to != "" && c.now < k.lost && c.left(k) > 0 {
		k.repeat = true
		c.send(k)
		return
	}
	if k.to != "" {
		k.why = fmt.Sprintf("node %s has not answered", k.to)
		k.doubts = k.doubts || k.to == c.leader
		k.to, k.repeat = "", true
	}
	if c.expired(k) {
		return
	}
	patience := min(roundWait, c.left(k)-min(answerWait, c.left(k)/4)) // the answer is to come before the end
	if c.leader != "" && !k.doubts {
		c.deliver(k, c.leader, patience, patience+lateAnswer)
		return
	}
	if k.search < len(c.members) && c.members[k.search] == c.leader {
		k.search++
	}
	if k.search >= len(c.members) {
		if len(c.members) == 0 {
			k.why = "this node is not a member of the cluster"
		}
		k.search, k.doubts = 0, false
		c.wait(k, searchPause)
		return
	}
	k.search++
	c.deliver(k, c.members[k.search-1], patience, searchWait)
}

func (c *Caller) deliver(k *call, to phalanx.NodeID, patience, wait time.Duration) {
	k.to, k.lost, k.slack, k.pause = to, c.now+wait, wait-patience, sendAgain
	if _, awaits := k.Call.Call.(core.AwaitResult); awaits || k.large() { // many wait long, or it is under way for long
		k.pause = wait
	}
	c.send(k)
}

// send sends the request of a call, or repeats it: messages are lost as a connection breaks. A controller that has the request ignores repeats.
func (c *Caller) send(k *call) {
	left := k.lost - c.now
	r := Request{Number: k.Number, Patience: left - k.slack, Call: k.Call.Call, Graph: k.Graph}
	if k.large() && k.to != c.leader { // it may not lead: all members would get the workflow, again and again while none does
		r.Call, r.Graph = core.GetLedger{}, nil
	}
	c.emit(Deliver{To: k.to, Request: r})
	c.wait(k, min(k.pause, left))
	k.pause *= 2
}

// large reports whether the request takes more than one message.
func (k *call) large() bool { return len(k.Graph) >= MaxWhole }

// wait has next called after a pause, or at the end of the call.
func (c *Caller) wait(k *call, pause time.Duration) { c.due.Set(k, c.now+min(pause, c.left(k))) }

// left is how long a call goes on.
func (c *Caller) left(k *call) time.Duration {
	if k.Deadline > 0 {
		return max(0, k.Deadline-c.now)
	}
	return max(0, k.heard+silentMost-c.now)
}

// expired ends a call whose time is over.
func (c *Caller) expired(k *call) bool {
	if c.left(k) > 0 {
		return false
	}
	c.leave(k)
	c.end(k)
	kind, why := phalanx.ErrUnavailable, k.why
	if why == "" {
		kind, why = phalanx.ErrDeadline, "the time is over"
	}
	if k.open && c.now-k.heard < roundWait+lateAnswer {
		kind, why = phalanx.ErrDeadline, notEnded
	}
	c.emit(Returned{Number: k.Number, Answer: core.Answer{Err: failed(kind, "", "%s", why)}})
	return true
}

const notEnded = "the run has not ended"

// leave tells the node that was asked that nobody waits.
func (c *Caller) leave(k *call) {
	if k.to != "" { // the last node that was asked
		c.emit(Dismiss{To: k.to, Withdrawn: Withdrawn{Number: k.Number}})
	}
}

func (c *Caller) end(k *call) {
	delete(c.calls, k.Number)
	c.due.Cancel(k)
}

// replied takes the answer of a controller.
func (c *Caller) replied(ev Replied) {
	k := c.calls[ev.Reply.Number]
	if k == nil {
		return
	}
	err := ev.Reply.Answer.Err
	_, awaits := k.Call.Call.(core.AwaitResult)
	_, forgets := k.Call.Call.(core.ForgetRun)
	late := errors.Is(err, phalanx.ErrDeadline)
	switch {
	case ev.Reply.Again:
		if k.to != ev.From {
			return
		}
		k.to, k.why, k.repeat = "", fmt.Sprintf("node %s: %s", ev.From, reason(err)), true
		c.wait(k, againPause)
	case k.large() && ev.Reply.Answer.Ledger != nil: // it leads
		c.leads(ev.From, ev.Reply.Answer.Ledger.Epoch)
		if k.to == ev.From && c.leader == ev.From {
			k.to, k.doubts = "", false
			c.wait(k, 0)
		}
	case awaits && late:
		k.to, k.open, k.heard, k.doubts = "", true, c.now, false
		c.wait(k, 0)
	case late && k.to != ev.From && c.left(k) > 0: // another one is asked by now
	case late && c.left(k) > answerWait:
		k.to, k.why, k.repeat, k.doubts = "", fmt.Sprintf("node %s: %s", ev.From, reason(err)), true, false
		c.wait(k, 0)
	case forgets && k.repeat && errors.Is(err, phalanx.ErrDeleted): // by the request before
		c.end(k)
		c.emit(Returned{Number: k.Number, Answer: core.Answer{Run: ev.Reply.Answer.Run}})
	default:
		c.end(k)
		a := ev.Reply.Answer
		if late {
			a.Err = failed(phalanx.ErrDeadline, ev.From, "%s", reason(err))
		}
		if k.repeat && changes(k.Call.Call) && errors.Is(err, phalanx.ErrClosed) {
			a.Err = failed(phalanx.ErrClosed, "", "%s. This call was repeated, and its first request may have taken effect: look at the run's history", reason(err))
		}
		if ev.Reply.Busy {
			a.Err = failed(phalanx.ErrUnavailable, ev.From, "%s: %w", strings.TrimSuffix(reason(err), ": "+core.ErrBusy.Error()), core.ErrBusy)
		}
		c.emit(Returned{Number: k.Number, Answer: a})
	}
}

// changes reports whether a call may end a run, or have it end.
func changes(c core.Call) bool {
	switch c.(type) {
	case core.CancelRun, core.SignalRun:
		return true
	}
	return false
}

// reason returns what an error says beside its kind.
func reason(err error) string {
	var e *phalanx.Error
	if errors.As(err, &e) && e.Err != nil {
		return e.Err.Error()
	}
	return fmt.Sprint(err)
}

// redirected takes that a node does not lead.
func (c *Caller) redirected(ev Redirected) {
	from, e := ev.From, ev.Elsewhere
	if !slices.Contains(c.members, from) {
		return
	}
	if e.Disk {
		delete(c.diskless, from)
	} else {
		c.diskless[from] = true
	}
	if from == c.leader { // its tenure is over: only later ones count
		c.leader = ""
		c.epoch++
	}
	if e.Controller != from {
		c.leads(e.Controller, e.Epoch)
	}
	k := c.calls[e.Number]
	if k == nil || k.to != from {
		return
	}
	k.to = ""
	if k.why == "" {
		k.why = leaderless
	}
	if len(c.diskless) == len(c.members) && len(c.disks) > 0 {
		k.why = leaderless + "; " + c.away()
	}
	if len(c.diskless) == len(c.members) && len(c.disks) == 0 && c.epoch == 0 { // else a disk is away
		c.end(k)
		c.emit(Returned{Number: k.Number, Answer: core.Answer{Err: failed(phalanx.ErrInvalid, "", "no node of the cluster has a disk for workflows: start one with a folder (phalanx node --dir, or workflow.Settings.Dir)")}})
		return
	}
	c.wait(k, 0)
}

const leaderless = "no node leads the ledger of workflows: a majority of its disks has to be there (or, if it is lost for good, phalanx workflow ledger recover)"

// away names the nodes that had disks.
func (c *Caller) away() string {
	var names []string
	for _, n := range c.disks[:min(3, len(c.disks))] {
		names = append(names, n.Name())
	}
	text := strings.Join(names, ", ")
	if more := len(c.disks) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "no member has one now, and these nodes had: " + text
}

// leads takes that a node is the controller's, unless a later one is known.
func (c *Caller) leads(n phalanx.NodeID, epoch uint64) {
	if epoch < c.epoch || epoch == c.epoch && n == c.leader || !slices.Contains(c.members, n) {
		return
	}
	later := epoch > c.epoch
	c.leader, c.epoch = n, epoch
	for _, k := range c.sorted() {
		k.doubts, k.search = false, 0
		if k.to != n || later { // what it has asked of another controller is lost
			k.repeat = k.repeat || k.to != ""
			k.to = ""
			c.wait(k, 0)
		}
	}
}

// around takes a view. Nodes that have left answer nothing.
func (c *Caller) around(ev Around) {
	c.self = ev.Self
	c.members = nil
	if slices.Contains(ev.Nodes, ev.Self) {
		c.members = []phalanx.NodeID{ev.Self}
	}
	for _, n := range slices.Sorted(slices.Values(ev.Nodes)) {
		if n != ev.Self {
			c.members = append(c.members, n)
		}
	}
	if len(ev.Disks) > 0 {
		c.disks = slices.Sorted(slices.Values(ev.Disks))
	} else if len(c.disks) == 0 && ev.First != "" {
		c.disks = []phalanx.NodeID{ev.First}
	}
	maps.DeleteFunc(c.diskless, func(n phalanx.NodeID, _ bool) bool { return !slices.Contains(c.members, n) })
	if !slices.Contains(c.members, c.leader) {
		c.leader = ""
	}
	for _, k := range c.sorted() {
		k.search = 0
		if k.to != "" && !slices.Contains(c.members, k.to) {
			k.why, k.to, k.repeat = fmt.Sprintf("node %s has left", k.to), "", true
			c.wait(k, 0)
		}
	}
}

func failed(kind phalanx.Kind, node phalanx.NodeID, format string, args ...any) error {
	return &phalanx.Error{Op: "workflow", Node: node, Kind: kind, Err: fmt.Errorf(format, args...)}
}
