package workflow

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/agenda"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// ActorCaller has the calls of this node's attempts reach the nodes on which actors live. A call is repeated until its node
// answers, and ends once: also if that node leaves, or is silent for actorSilentMost.
type ActorCaller struct {
	now   time.Duration
	out   []ActorCallerEffect
	calls map[uint64]*actorCall // by the numbers of the host
	peers map[phalanx.NodeID]*actorPeer
	due   agenda.Agenda[*actorCall]
	idle  agenda.Agenda[phalanx.NodeID]
	known map[phalanx.NodeID]bool // false: it has left
	next  uint64                  // above all numbers of calls to nodes that are not among peers
	turn  uint64                  // of the last letter to those nodes, at least
}

// actorCall is a call that goes on.
type actorCall struct {
	number uint64 // that the host has given it
	to     phalanx.NodeID
	call   ActorCall // with its number among the calls to that node
	sent   retry.Backoff
	ended  bool          // its answer is an object, which the attempt reads: the node keeps that until the call is over
	heard  time.Duration // when the node has last said that it works, or else when the call began
}

const (
	// actorSilentMost is how long a member may leave a call unanswered.
	actorSilentMost = 10 * time.Second
	// unknownMost is how long a node that no view has named yet may not be there: the output that names it may come before the view.
	unknownMost = 2 * time.Second
	// idleAfter is when a node that is called no more is told which calls are over: it keeps answers until then.
	idleAfter = time.Second
)

// callActorAgain are the pauses after which a call is repeated.
var callActorAgain = retry.Pauses{First: 500 * time.Millisecond, Most: 2 * time.Second}

// ActorCallerEvent is what an ActorCaller hears.
type ActorCallerEvent interface{ actorCallerEvent() }

type (
	// ActorAsk makes a call to a node. It ends with ActorEnded, or with ActorUnasked. The host gives each another number, with which these
	// name it; letters number the calls to each node on their own.
	ActorAsk struct {
		To   phalanx.NodeID
		Call ActorCall
	}
	// ActorUnasked says that nobody waits for a call any more, nor reads the object that it was answered with. A host says so of each call
	// of a method that ends with a large answer.
	ActorUnasked struct{ Number uint64 }
	// ActorAnswered brings an answer.
	ActorAnswered struct {
		From   phalanx.NodeID
		Answer ActorAnswer
	}
)

func (ActorAsk) actorCallerEvent()      {}
func (ActorUnasked) actorCallerEvent()  {}
func (ActorAnswered) actorCallerEvent() {}
func (Around) actorCallerEvent()        {}
func (Tick) actorCallerEvent()          {}

// ActorCallerEffect is what the host of an ActorCaller must do.
type ActorCallerEffect interface{ actorCallerEffect() }

type (
	// ActorSend sends an ActorCall or an ActorOver.
	ActorSend struct {
		To     phalanx.NodeID
		Letter Letter
	}
	// ActorEnded ends a call.
	ActorEnded struct{ Answer ActorAnswer }
)

func (ActorSend) actorCallerEffect()  {}
func (ActorEnded) actorCallerEffect() {}

// NewActorCaller returns that of an incarnation of a node.
func NewActorCaller() *ActorCaller {
	return &ActorCaller{calls: map[uint64]*actorCall{}, peers: map[phalanx.NodeID]*actorPeer{}, known: map[phalanx.NodeID]bool{}}
}

// Due returns when it has to hear of the time; false: it need not.
func (c *ActorCaller) Due() (at time.Duration, ok bool) {
	at, ok = c.due.Due()
	if i, is := c.idle.Due(); is && (!ok || i < at) {
		return i, true
	}
	return at, ok
}

// Busy reports whether calls go on, or large answers are read.
func (c *ActorCaller) Busy() bool { return len(c.calls) > 0 }

// Step takes an event and returns what the host must do, in that order.
func (c *ActorCaller) Step(now time.Duration, ev ActorCallerEvent) []ActorCallerEffect {
	c.now = max(c.now, now)
	switch ev := ev.(type) {
	case ActorAsk:
		c.ask(ev)
	case ActorUnasked:
		if a := c.calls[ev.Number]; a != nil {
			c.close(a)
			c.out = append(c.out, ActorSend{To: a.to, Letter: ActorOver{Number: a.call.Number, OpenCalls: c.peers[a.to].list()}})
		}
	case ActorAnswered:
		if p := c.peers[ev.From]; p != nil {
			if a := p.calls[ev.Answer.Number]; a != nil && !a.ended {
				c.answered(a, ev.Answer)
			}
		}
	case Around:
		c.around(ev.Nodes)
	}
	for a, ok := c.due.Take(c.now); ok; a, ok = c.due.Take(c.now) {
		c.again(a)
	}
	for n, ok := c.idle.Take(c.now); ok; n, ok = c.idle.Take(c.now) {
		c.out = append(c.out, ActorSend{To: n, Letter: ActorOver{OpenCalls: c.peers[n].list()}})
		c.forget(n)
	}
	out := c.out
	c.out = nil
	return out
}

func (c *ActorCaller) ask(ev ActorAsk) {
	a := &actorCall{number: ev.Call.Number, to: ev.To, call: ev.Call, heard: c.now}
	if c.left(ev.To) {
		c.end(a.number, ActorGone, fmt.Sprintf("node %s has left", ev.To))
		return
	}
	c.idle.Cancel(ev.To)
	c.peer(ev.To).add(a)
	c.calls[a.number] = a
	c.send(a)
}

func (c *ActorCaller) send(a *actorCall) {
	a.call.OpenCalls = c.peers[a.to].list()
	c.out = append(c.out, ActorSend{To: a.to, Letter: a.call})
	a.sent.Sent(c.now)
	c.due.Set(a, min(a.sent.At(callActorAgain), c.ends(a)))
}

// ends returns when a call is given up if its node says nothing.
func (c *ActorCaller) ends(a *actorCall) time.Duration {
	if _, known := c.known[a.to]; !known {
		return a.heard + unknownMost
	}
	return a.heard + actorSilentMost
}

// again repeats a call, or gives it up.
func (c *ActorCaller) again(a *actorCall) {
	_, known := c.known[a.to]
	switch {
	case c.now < c.ends(a):
		c.send(a)
	case !known:
		c.close(a)
		c.end(a.number, ActorGone, fmt.Sprintf("node %s is no member", a.to))
	default:
		c.close(a)
		c.end(a.number, ActorSilent, fmt.Sprintf("node %s has not answered for %v", a.to, actorSilentMost))
	}
}

func (c *ActorCaller) answered(a *actorCall, m ActorAnswer) {
	a.heard = c.now
	if m.End == ActorWorks {
		return
	}
	if a.call.Deed == ActorDo && m.Large.Object != "" {
		a.ended = true
		c.due.Cancel(a)
	} else {
		c.close(a)
	}
	m.Number = a.number
	c.out = append(c.out, ActorEnded{m})
}

// around takes a view: a node that has left has no actors any more.
func (c *ActorCaller) around(members []phalanx.NodeID) {
	for n := range c.known {
		c.known[n] = false
	}
	for _, n := range members {
		c.known[n] = true
	}
	for _, n := range slices.Sorted(maps.Keys(c.peers)) {
		if !c.left(n) {
			continue
		}
		for _, a := range c.peers[n].sorted() {
			c.close(a)
			if !a.ended {
				c.end(a.number, ActorGone, fmt.Sprintf("node %s has left", n))
			}
		}
		c.forget(n)
	}
	if len(c.known) > 2*len(members)+mostLeft {
		maps.DeleteFunc(c.known, func(_ phalanx.NodeID, is bool) bool { return !is })
	}
}

// left reports whether a node is no member any more. A node that has begun anew does not come again as what it was, also if no view
// here has named that: it may be that all nodes have begun anew.
func (c *ActorCaller) left(n phalanx.NodeID) bool {
	if is, known := c.known[n]; known {
		return !is
	}
	for m, is := range c.known {
		if is && m.Name() == n.Name() && (len(m) > len(n) || len(m) == len(n) && m > n) { // incarnations are hexadecimal numbers
			return true
		}
	}
	return false
}

// mostLeft is how many nodes that have left are remembered, beside one for each member.
const mostLeft = 1000

func (c *ActorCaller) end(number uint64, end ActorEnd, why string) {
	c.out = append(c.out, ActorEnded{ActorAnswer{Number: number, End: end, Why: why}})
}

// close forgets a call.
func (c *ActorCaller) close(a *actorCall) {
	delete(c.calls, a.number)
	c.due.Cancel(a)
	p := c.peers[a.to]
	if p.remove(a.call.Number); len(p.calls) == 0 {
		c.idle.Set(a.to, c.now+idleAfter)
	}
}
