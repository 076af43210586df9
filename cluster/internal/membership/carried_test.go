package membership

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/poll"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// outsider returns the leader of four nodes, the one of them that is no voter, and
// the others: only the leader gives that one a lease.
func outsider(t testing.TB) (leader, apart *node, others []*node) {
	t.Helper()
	nodes := joined(t, 4)
	v := agree(t, nodes...)
	for _, n := range nodes {
		switch {
		case n.id() == n.Leader():
			leader = n
		case !slices.Contains(v.Voters, n.id()):
			apart = n
		default:
			others = append(others, n)
		}
	}
	if leader == nil || apart == nil {
		t.Fatalf("%s leads %v", nodes[0].Leader(), v)
	}
	return leader, apart, others
}

// leasedFor waits until n has a lease that ends later than in a while from now.
func (n *node) leasedFor(t testing.TB, while time.Duration) {
	t.Helper()
	until := n.clock() + while
	poll.Until(t, fmt.Sprintf("%s has a lease until %v", n.id(), until), func() bool { return n.until() >= until })
}

func (n *node) until() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lease
}

// cutFrom cuts the link between n and another node, in both directions, and has both go
// by way of by. It returns once nothing is on the link any more.
func (n *node) cutFrom(t testing.TB, other, by *node) {
	t.Helper()
	sent := func(m any) {
		switch m.(type) {
		case *messages.Beat, *messages.BeatReply, *messages.Raft, *messages.PushView, *messages.Forward, *messages.Carried:
			t.Errorf("a %T is sent over the link that fails", m)
		}
	}
	n.goBy(other.id(), by.id())
	other.goBy(n.id(), by.id())
	n.leasedFor(t, 0) // what was on its way before is through
	n.leasedFor(t, 200*time.Millisecond)
	other.drop(n, sent)
	n.drop(other, sent)
}

// Nothing gets from a node to the leader, or back. Heartbeats and leases do, by way
// of another member, and stop when that does not bring them any more.
func TestLeasesAreCarriedWhereALinkFails(t *testing.T) {
	leader, apart, others := outsider(t)
	by := others[0]
	apart.cutFrom(t, leader, by)
	apart.leasedFor(t, 2*time.Second)
	by.drop(apart, func(any) {})
	last := max(apart.until(), apart.clock())
	poll.Until(t, "the last lease has ended a second ago", func() bool { return apart.clock() >= last+time.Second })
	if until := apart.until(); until > last+500*time.Millisecond {
		t.Errorf("a lease until %v after %v, although nobody brings any", until, last)
	}
}

// Nothing gets from a node to the leader, and no detector has found that. The node has
// leases by way of another member, and has its detector look.
func TestTheNodeItselfFindsThatTheLeaderDoesNotHearIt(t *testing.T) {
	leader, apart, _ := outsider(t)
	apart.leasedFor(t, 0)
	apart.drop(leader, func(any) {})
	apart.leasedFor(t, 2*time.Second)
	apart.mu.Lock()
	defer apart.mu.Unlock()
	if !apart.mute[leader.id()] {
		t.Error("the detector is not told to look")
	}
}

// A member whose link to the leader fails learns of another member, and what it proposes
// is decided: that its shards are in sync, and that it leaves.
func TestViewsAreCarriedWhereALinkFails(t *testing.T) {
	leader, apart, others := outsider(t)
	by := others[0]
	apart.cutFrom(t, leader, by)
	fifth := start(t, "n9", by.address())
	if err := fifth.Join(within(t)); err != nil {
		t.Fatal(err)
	}
	agree(t, append([]*node{leader, apart, fifth}, others...)...)
	apart.leasedFor(t, 2*time.Second)
	apart.Propose(view.Leaving{Node: apart.id()})
	if fenced, err := leader.await(within(t), func(v view.View) bool { m, ok := v.Member(apart.id()); return ok && m.Leaving }); err != nil || fenced {
		t.Errorf("the leader has not heard that %s leaves: %v", apart.id(), err)
	}
}

// No voter reaches the leader but by way of a member that is none: what raft says is
// carried as well, so that they still decide.
func TestVotersAreReachedWhereLinksFail(t *testing.T) {
	leader, by, others := outsider(t)
	for _, voter := range others {
		voter.cutFrom(t, leader, by)
	}
	fifth := start(t, "n9", by.address())
	if err := fifth.Join(within(t)); err != nil {
		t.Fatal(err)
	}
	agree(t, append([]*node{leader, by, fifth}, others...)...)
}

// Only the way from the leader to a node fails, and only the leader knows it: the node
// answers by the member that has brought something.
func TestAnswersGoBackTheWayThatMessagesCame(t *testing.T) {
	leader, apart, others := outsider(t)
	by := others[0]
	leader.goBy(apart.id(), by.id())
	apart.leasedFor(t, 200*time.Millisecond)
	heard := make(chan phalanx.NodeID, 1000)
	apart.heard(heard)
	select {
	case got := <-heard:
		if got != by.id() {
			t.Errorf("%s has brought it, not %s", got, by.id())
		}
	case <-within(t).Done():
		t.Fatal("nothing was brought")
	}
}

// Who is to bring it is no member: it is sent as if there were nobody.
func TestWhoIsToCarryIsUnknown(t *testing.T) {
	leader, apart, _ := outsider(t)
	for _, n := range []*node{leader, apart} {
		n.goBy(leader.id(), "nobody#1")
		n.goBy(apart.id(), "nobody#1")
	}
	apart.leasedFor(t, 2*time.Second)
}

// A member that brings something sends it itself, also where its own link fails. What
// it cannot read, and what is for itself or for nobody that it knows, goes nowhere.
func TestWhatIsBroughtGoesNoFurther(t *testing.T) {
	leader, apart, others := outsider(t)
	by := others[0]
	sent := make(chan any, 100)
	for _, to := range []*node{leader, apart, others[1]} {
		by.goBy(to.id(), apart.id())
		by.drop(to, func(m any) {
			if strings.Contains(describe(m), "ghost") {
				sent <- m
			}
		})
	}
	beat := func(from string) *messages.Carried_Beat {
		return &messages.Carried_Beat{Beat: &messages.Beat{From: from, View: 1}}
	}
	for _, c := range []*messages.Carried{
		{To: string(by.id()), Message: beat("ghost#1")},
		{To: "unknown#1", Message: beat("ghost#2")},
		{To: string(leader.id())},
		{To: string(leader.id()), Message: &messages.Carried_Reply{Reply: &messages.BeatReply{}}},
		{Message: beat("ghost#3")},
		{To: string(leader.id()), By: string(apart.id()), Message: beat("ghost#5")},
		{To: string(leader.id()), Message: beat("ghost#4")},
	} {
		by.sys.Root.Send(by.pid, c)
	}
	select {
	case m := <-sent:
		if c, ok := m.(*messages.Carried); !ok || c.GetBeat().GetFrom() != "ghost#4" || c.GetBy() != string(by.id()) {
			t.Errorf("it has sent a %T: %v", m, m)
		}
	case <-within(t).Done():
		t.Fatal("it has brought nothing")
	}
	if len(sent) > 0 {
		t.Errorf("it has also sent %v", <-sent)
	}
	refused := 0
	for _, e := range by.log.AllEntries() {
		if e.Message == "refused a message about the view" {
			refused++
		}
	}
	if refused != 4 {
		t.Errorf("it has refused %d messages, want 4", refused)
	}
}

// describe names who a message is of.
func describe(m any) string {
	switch m := m.(type) {
	case *messages.Carried:
		return m.GetBeat().GetFrom() + m.GetReply().GetFrom()
	case interface{ GetFrom() string }:
		return m.GetFrom()
	}
	return ""
}
