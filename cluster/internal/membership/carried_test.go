package membership

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/messages"
)

// outsider returns the leader of four nodes, the one of them that is no voter, and
// the others: only the leader gives that one a lease.
func outsider(t testing.TB) (leader, apart *node, others []*node) {
	t.Helper()
	nodes := join(t, 4)
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
	ctx := within(t)
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	until := n.clock() + while
	for n.until() < until {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("the last lease ends %v too early", until-n.until())
		}
	}
}

func (n *node) until() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lease
}

// Nothing gets from a node to the leader, or back. Heartbeats and leases do, by way
// of another member, and stop when that does not bring them any more.
func TestLeasesAreCarriedWhereALinkFails(t *testing.T) {
	leader, apart, others := outsider(t)
	by := others[0]
	nothing := func(m any) {
		switch m.(type) {
		case *messages.Beat, *messages.BeatReply, *messages.Carried:
			t.Errorf("a %T is sent over the link that fails", m)
		}
	}
	for _, n := range []*node{leader, apart} {
		n.goBy(leader.id(), by.id())
		n.goBy(apart.id(), by.id())
	}
	apart.leasedFor(t, 0) // what was on its way before is through
	apart.leasedFor(t, 200*time.Millisecond)
	leader.drop(apart, nothing)
	apart.drop(leader, nothing)
	apart.leasedFor(t, 2*time.Second)
	by.drop(apart, func(any) {})
	last := max(apart.until(), apart.clock())
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for apart.clock() < last+time.Second {
		<-again.C
	}
	if until := apart.until(); until > last+500*time.Millisecond {
		t.Errorf("a lease until %v after %v, although nobody brings any", until, last)
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
	beat := func(from string) *messages.Beat { return &messages.Beat{From: from, View: 1} }
	for _, c := range []*messages.Carried{
		{To: string(by.id()), Beat: beat("ghost#1")},
		{To: "unknown#1", Beat: beat("ghost#2")},
		{To: string(leader.id())},
		{To: string(leader.id()), Reply: &messages.BeatReply{}},
		{Beat: beat("ghost#3")},
		{To: string(leader.id()), Beat: beat("ghost#4")},
	} {
		by.sys.Root.Send(by.pid, c)
	}
	select {
	case m := <-sent:
		if b, ok := m.(*messages.Beat); !ok || b.GetFrom() != "ghost#4" {
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
	if refused != 3 {
		t.Errorf("it has refused %d messages, want 3", refused)
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
