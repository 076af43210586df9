package group_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/group"
	"github.com/phalanx-go/phalanx/messages"
	core "github.com/phalanx-go/phalanx/protocol/group"
)

// Every node, also one without members, sees who has left or failed, and what is
// revoked.
func TestList(t *testing.T) {
	nodes := start(t, 3)
	ctx := within(t)
	if all, err := group.List(ctx, nodes[0]); err != nil || len(all) > 0 {
		t.Errorf("there are no groups: %+v, %v", all, err)
	}
	leaver, err := cluster.Join(ctx, config("leaver", nodes[0].ControlAddr()))
	if err != nil {
		t.Fatal(err)
	}
	failed := form(t, "failed", append(slices.Clone(nodes[:2]), leaver))
	closed, revoked := form(t, "closed", nodes[1:]), form(t, "revoked", nodes)
	began := time.Now()
	if err := closed[1].Close(); err != nil {
		t.Fatal(err)
	}
	if err := revoked[1].Revoke(ctx, "plan B"); err != nil {
		t.Fatal(err)
	}
	if err := leaver.Leave(ctx); err != nil {
		t.Fatal(err)
	}
	for _, g := range revoked {
		eventually(t, "it is revoked", g.IsRevoked)
	}
	eventually(t, "it is told who has failed", func() bool { return slices.Equal(failed[1].Failed(), []int{2}) })
	member := func(n *cluster.Node, s group.State) group.MemberStatus {
		return group.MemberStatus{Node: n.ID(), State: s}
	}
	want := map[string][]group.MemberStatus{
		"closed":  {member(nodes[1], group.Live), member(nodes[2], group.Left)},
		"failed":  {member(nodes[0], group.Live), member(nodes[1], group.Live), member(leaver, group.Failed)},
		"revoked": {member(nodes[0], group.Live), member(nodes[1], group.Live), member(nodes[2], group.Live)},
	}
	for _, n := range nodes {
		eventually(t, "a view without the one that left", func() bool { return len(n.View().Members) == 3 })
		all, err := group.List(ctx, n)
		if err != nil || len(all) != 3 {
			t.Fatalf("%+v, %v", all, err)
		}
		for i, name := range []string{"closed", "failed", "revoked"} {
			s := all[i]
			if s.Name != name || !slices.Equal(s.Members, want[name]) || (s.Revoked != nil) != (name == "revoked") {
				t.Errorf("%s sees %+v, want %s with %+v", n.ID(), s, name, want[name])
			}
		}
		r := all[2]
		if r.Sent != core.WaveMessages(3) || all[0].Sent != 0 {
			t.Errorf("the revoke took %d messages, want %d; what is not revoked %d", r.Sent, core.WaveMessages(3), all[0].Sent)
		}
		if w := r.Revoked; w != nil && (w.By != revoked[0].Members()[1] || w.Rank != 1 || w.Reason != "plan B" || w.At.Before(began.Add(-ms)) || w.At.After(time.Now())) {
			t.Errorf("revoked: %+v", w)
		}
	}
}

// join has a node join that answers for its groups with a.
func join(t *testing.T, seed *cluster.Node, a any) *cluster.Node {
	t.Helper()
	cfg := config("strange", seed.ControlAddr())
	cfg.Services = []cluster.Service{{Name: group.Name, Actor: func(*cluster.Node) *actor.Props {
		return actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(*messages.GroupLook); ok {
				c.Respond(a)
			}
		})
	}}}
	n, err := cluster.Join(within(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Leave(within(t)); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the others know", func() bool { _, ok := seed.ServiceOn(n.ID(), group.Name); return ok })
	return n
}

// Those who do not answer, or not so that one can read it, are named; what the others
// see is there.
func TestListWithoutAnswer(t *testing.T) {
	nodes := start(t, 2)
	form(t, "g", nodes)
	strange := join(t, nodes[0], &messages.BarrierLooked{})
	all, err := group.List(within(t), nodes[0])
	is(t, err, phalanx.ErrUnavailable)
	var e *phalanx.Error
	if !errors.As(err, &e) || e.Node != strange.ID() || !strings.Contains(err.Error(), "BarrierLooked") {
		t.Errorf("%v", err)
	}
	if len(all) != 1 || all[0].Name != "g" || len(all[0].Members) != 2 {
		t.Errorf("%+v", all)
	}
}

// What one node alone sees counts, and of two revokes the first.
func TestListIsAUnion(t *testing.T) {
	nodes := start(t, 2)
	groups := form(t, "g", nodes)
	if err := groups[1].Revoke(within(t), "later"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is revoked", groups[0].IsRevoked)
	roster, err := core.NewRoster(on(nodes))
	if err != nil {
		t.Fatal(err)
	}
	join(t, nodes[0], messages.GroupsSeenToProto([]core.Seen{
		{Name: "g", Roster: roster, Left: []int{0, 9}, Sent: 100},
		{Name: "g", Roster: roster, Failed: []int{0, 1, 7}, Revoked: &core.Revocation{Reason: "earlier", At: 1}},
	}, 3))
	all, err := group.List(within(t), nodes[0])
	if err == nil || !strings.Contains(err.Error(), "leaves out 3 groups") || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	s := all[0]
	if s.Members[0].State != group.Left || s.Members[1].State != group.Failed || s.Sent != core.WaveMessages(2)+100 {
		t.Errorf("%+v", s)
	}
	if s.Revoked == nil || s.Revoked.Rank != 0 || s.Revoked.By != roster.Members()[0] || s.Revoked.Reason != "earlier" || s.Revoked.At.UnixNano() != 1 {
		t.Errorf("%+v", s.Revoked)
	}
}

// Nodes that did not know of each other have used a name twice.
func TestListOfOneName(t *testing.T) {
	nodes := start(t, 4)
	form(t, "g", nodes[:2])
	form(t, "g", nodes[2:])
	all, err := group.List(within(t), nodes[3])
	if err != nil || len(all) != 2 || all[0].Name != "g" || all[1].Name != "g" || len(all[0].Members) != 2 || len(all[1].Members) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	if all[0].Members[0].Node != nodes[0].ID() || all[1].Members[0].Node != nodes[2].ID() {
		t.Errorf("%+v", all)
	}
}
