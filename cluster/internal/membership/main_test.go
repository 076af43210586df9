package membership

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster/internal/remoting"
	"github.com/phalanx-go/phalanx/internal/leaks"
	"github.com/phalanx-go/phalanx/protocol/view"
)

func TestMain(m *testing.M) { leaks.VerifyTestMain(m) }

// node is one of several in this process, whose shards have nothing to copy.
type node struct {
	*Membership
	t        testing.TB
	sys      *actor.ActorSystem
	log      *logtest.Hook
	lazy     bool // its shards never catch up
	fenced   chan bool
	leased   chan struct{}      // closed with the first lease
	majority chan view.Majority // what it sees of the voters; the first 16

	mu    sync.Mutex
	panic bool // with the next view
	views []view.View
	lease time.Duration
	clock actors.Clock
	lost  map[string]func(any)              // by the address to which it is sent: this is called instead
	vias  map[phalanx.NodeID]phalanx.NodeID // who brings what is for whom
	told  chan<- phalanx.NodeID             // who has brought something
	mute  map[phalanx.NodeID]bool           // leaders that have not replied
	down  map[phalanx.NodeID]bool           // whom it suspects
}

// common is what the nodes that are started next have in common.
var common view.Common

func start(t testing.TB, name string, seeds ...string) *node { return startOf(t, name, 1, seeds...) }

func startOf(t testing.TB, name string, incarnation uint64, seeds ...string) *node {
	t.Helper()
	log, hook := logtest.NewNullLogger()
	n := &node{t: t, log: hook, fenced: make(chan bool, 10), leased: make(chan struct{}), majority: make(chan view.Majority, 16), clock: actors.NewClock(), sys: actors.NewSystem(name, log),
		lost: map[string]func(any){}, vias: map[phalanx.NodeID]phalanx.NodeID{}, down: map[phalanx.NodeID]bool{}}
	n.sys.ProcessRegistry.RegisterAddressResolver(n.link) // before that of remoting
	r, err := remoting.Start(n.sys, remoting.Config{Log: log, OnBroken: func(address string, _ error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.Membership != nil {
			n.Broken(address)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	m, err := Start(Config{System: n.sys, Remote: r, Seeds: seeds, Shards: 8, Clock: n.clock, Log: log, Common: common,
		Self:   view.Member{ID: phalanx.MakeNodeID(name, incarnation), Control: r.Address(), Data: "127.0.0.1:1"},
		OnView: n.onView, OnLease: n.onLease, Via: n.via, Suspects: n.suspects, OnMajority: n.onMajority, OnBrought: n.onBrought, OnUnanswered: n.onUnanswered, OnFenced: func() { n.fenced <- true }})
	if err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	n.Membership = m
	n.mu.Unlock()
	t.Cleanup(m.Stop)
	return n
}

func (n *node) id() phalanx.NodeID { return n.cfg.Self.ID }
func (n *node) address() string    { return n.cfg.Self.Control }

// drop has f called with what n sends to a node from now on, which does not get it.
func (n *node) drop(to *node, f func(any)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lost[to.address()] = f
}

// goBy has n go to a node by way of another one.
func (n *node) goBy(to, by phalanx.NodeID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.vias[to] = by
}

func (n *node) via(to phalanx.NodeID) (phalanx.NodeID, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	by, ok := n.vias[to]
	return by, ok
}

// suspect has n suspect another one.
func (n *node) suspect(other phalanx.NodeID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down[other] = true
}

func (n *node) suspects(other phalanx.NodeID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.down[other]
}

func (n *node) onMajority(m view.Majority) {
	select {
	case n.majority <- m:
	default: // nobody looks
	}
}

// heard has the members told that bring something to n.
func (n *node) heard(told chan<- phalanx.NodeID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.told = told
}

// onUnanswered hears that a leader does not reply.
func (n *node) onUnanswered(leader phalanx.NodeID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mute == nil {
		n.mute = map[phalanx.NodeID]bool{}
	}
	n.mute[leader] = true
}

func (n *node) onBrought(_, by phalanx.NodeID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case n.told <- by:
	default:
	}
}

// link returns who takes what is sent to pid, unless remoting does.
func (n *node) link(pid *actor.PID) (actor.Process, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f, ok := n.lost[pid.GetAddress()]
	return pit{f}, ok
}

// pit is where messages end.
type pit struct{ f func(any) }

var _ actor.Process = pit{}

func (p pit) SendUserMessage(_ *actor.PID, message any) { p.f(actor.UnwrapEnvelopeMessage(message)) }
func (p pit) SendSystemMessage(*actor.PID, any)         {}
func (p pit) Stop(*actor.PID)                           {}

func (n *node) onView(v view.View) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.panic {
		n.panic = false
		panic("the node cannot take the view")
	}
	if len(n.views) > 0 && v.Number <= n.views[len(n.views)-1].Number {
		n.t.Errorf("%s got view %d after view %d", n.id(), v.Number, n.views[len(n.views)-1].Number)
	}
	n.views = append(n.views, v)
	for i, s := range v.Shards {
		if s.Owner == n.id() && s.Next != "" && !n.lazy {
			n.InSync(i, s.Epoch, s.Next)
		}
	}
}

func (n *node) onLease(until time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if until <= n.lease || until <= n.clock()-time.Minute {
		n.t.Errorf("%s got a lease until %v after one until %v", n.id(), until, n.lease)
	}
	if n.lease == 0 {
		close(n.leased)
	}
	n.lease = until
}

// saw returns how every view looked that n was told of.
func (n *node) saw() map[uint64]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := map[uint64]string{}
	for _, v := range n.views {
		all[v.Number] = v.String()
	}
	return all
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// join starts n nodes one after the other.
func joined(t testing.TB, n int) []*node {
	t.Helper()
	var all []*node
	for i := range n {
		var seeds []string
		if i > 0 {
			seeds = []string{all[0].address()}
		}
		next := start(t, fmt.Sprint("n", i), seeds...)
		if err := next.Join(within(t)); err != nil {
			t.Fatal(err)
		}
		all = append(all, next)
	}
	return all
}

// agree waits until all nodes have one view of them alone in which every shard
// has what it needs, checks that none saw another under the same number, and
// returns it.
func agree(t testing.TB, nodes ...*node) view.View {
	t.Helper()
	var last view.View
	for again := true; again; {
		again = false
		for _, n := range nodes {
			fenced, err := n.await(within(t), func(v view.View) bool { return v.Number >= last.Number && settled(v, nodes) })
			if err != nil || fenced {
				t.Fatalf("%s: no view of these nodes alone (fenced %v), the last is %v", n.id(), fenced, n.View())
			}
			if v := n.View(); v.Number != last.Number {
				last, again = v, true
			}
		}
	}
	seen := map[uint64]string{}
	for _, n := range nodes {
		for number, v := range n.saw() {
			if other, ok := seen[number]; ok && other != v {
				t.Errorf("%s was told of %s\nanother of %s", n.id(), v, other)
			}
			seen[number] = v
		}
	}
	return last
}

func settled(v view.View, nodes []*node) bool {
	if len(v.Members) != len(nodes) || len(v.Voters) != min(3, len(nodes)-1+len(nodes)%2) {
		return false
	}
	for _, n := range nodes {
		if m, ok := v.Member(n.id()); !ok || m.Leaving {
			return false
		}
	}
	for _, s := range v.Shards {
		if s.Owner == "" || s.Next != "" || (s.Backup == "") != (len(nodes) == 1) {
			return false
		}
	}
	return true
}
