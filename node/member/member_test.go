package member

import (
	"reflect"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
	"github.com/phalanx-go/phalanx/protocol/group"
	"github.com/phalanx-go/phalanx/protocol/join"
	"github.com/phalanx-go/phalanx/protocol/view"
)

var (
	a, b, c  = view.Member{ID: "a"}, view.Member{ID: "b", Control: "b:1"}, view.Member{ID: "c"}
	bLeaving = view.Member{ID: "b", Control: "b:1", Leaving: true}
)

// The routes learn a view first, since all others send; the application hears of changes while the detector
// still knows why it suspected a node; a Leave hears what is gone last.
func TestLearn(t *testing.T) {
	first := []Step{Routes{}, Requests{}, Replicas{}, Lists{}, Events{}, Detector{}}
	for _, x := range []struct {
		what     string
		old, now []view.Member
		then     []Step
	}{
		{"the first", nil, []view.Member{a, b}, []Step{Services{}, Leaving{}, Leave{}, Entered{}}},
		{"b leaves", []view.Member{a, b}, []view.Member{a, bLeaving}, []Step{Services{}, Leaving{[]phalanx.NodeID{"b"}}, Leave{}, Entered{}}},
		{"b has left, and c is down", []view.Member{a, bLeaving, c}, []view.Member{a}, []Step{Services{}, Leaving{}, Gone{bLeaving, true}, Gone{c, false}, Leave{}, Entered{}}},
		{"a was removed", []view.Member{a, b}, []view.Member{b}, []Step{Leaving{}, Leave{}}},
	} {
		want := append(append([]Step{}, first...), x.then...)
		if got := Learn("a", view.View{Members: x.old}, view.View{Members: x.now}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v, want %#v", x.what, got, want)
		}
	}
}

// A process that has come back at its address keeps its connections.
func TestAt(t *testing.T) {
	v := view.View{Members: []view.Member{a, b}}
	if !At(v, "b:1") || At(v, "c:1") {
		t.Error("the members' addresses are others")
	}
}

func TestChanges(t *testing.T) {
	at := func(number uint64, shards []view.Shard, members ...view.Member) view.View {
		return view.View{Number: number, Members: members, Shards: shards}
	}
	of := func(owner phalanx.NodeID, epoch, lost uint64) []view.Shard {
		return []view.Shard{{Owner: owner, Epoch: epoch, LostAt: lost}}
	}
	anew := uint64(1) << 48
	for _, x := range []struct {
		what     string
		old, now view.View
		want     []Change
	}{
		{"the first", view.View{}, at(anew, of("a", 1, 0), a), []Change{Joined{"a"}}},
		{"nothing", at(1, of("a", 1, 0), a, b), at(2, of("a", 2, 0), a, b), nil},
		{"members", at(1, nil, bLeaving, c), at(2, nil, a), []Change{Joined{"a"}, Left{"b"}, Down{"c"}}},
		{"a shard is lost", at(1, of("b", 1, 0), a), at(2, of("a", 2, 2), a), []Change{ShardLost{0, 2, "a"}}},
		{"it was lost before", at(1, of("b", 2, 2), a, b), at(2, of("a", 3, 2), a, b), []Change{ShardMoved{0, 3, "b", "a", "the shards are spread over other members"}}},
		{"its owner leaves", at(1, of("b", 1, 0), a, b), at(2, of("a", 2, 0), a, bLeaving), []Change{ShardMoved{0, 2, "b", "a", "its owner leaves"}}},
		{"its owner has left", at(1, of("b", 1, 0), a, bLeaving), at(2, of("a", 2, 0), a), []Change{Left{"b"}, ShardMoved{0, 2, "b", "a", "its owner has left"}}},
		{"its owner is down", at(1, of("b", 1, 0), a, b), at(2, of("a", 2, 0), a), []Change{Down{"b"}, ShardMoved{0, 2, "b", "a", "its owner is down"}}},
		{"it had no owner", at(1, of("", 1, 0), a), at(2, of("a", 2, 0), a), nil},
		{"the cluster is formed anew", at(1, of("b", 1, 0), a, b), at(anew, of("a", 2, 2), a), []Change{Formed{1}, Down{"b"}, ShardLost{0, 2, "a"}}},
		{"then, with a shard that was lost before", at(1, of("b", 2, 2), a, b), at(anew, of("a", 3, 2), a), []Change{Formed{}, Down{"b"}, ShardMoved{0, 3, "b", "a", "its owner is down"}}},
	} {
		if got := Changes(x.old, x.now); !reflect.DeepEqual(got, x.want) {
			t.Errorf("%s: %#v, want %#v", x.what, got, x.want)
		}
	}
}

// A message goes over one other member at most.
func TestBring(t *testing.T) {
	for _, x := range []struct {
		from, by, to  phalanx.NodeID
		reaches, gone bool
		want          Bring
	}{
		{from: "b", by: "c", to: "a", want: Take},
		{from: "b", by: "c", to: "a", gone: true, want: Drop},
		{from: "b", by: "b", to: "c", reaches: true, want: Pass},
		{from: "b", by: "b", to: "c", want: Drop},
		{from: "b", by: "d", to: "c", reaches: true, want: Drop},
	} {
		if got := OfDirectory("a", x.from, x.by, x.to, x.reaches, x.gone); got != x.want {
			t.Errorf("%+v: %d", x, got)
		}
	}
	for _, x := range []struct {
		to     phalanx.NodeID
		passed bool
		want   Bring
	}{{"a", true, Take}, {"a", false, Drop}, {"c", false, Pass}, {"c", true, Drop}} {
		if got := OfView("a", x.to, x.passed); got != x.want {
			t.Errorf("%+v: %d", x, got)
		}
	}
}

// The services learn only the members that have them. A member that is about to leave manages no
// barrier any more, and is in its groups until it has left.
func TestServices(t *testing.T) {
	with := func(id phalanx.NodeID, leaving bool, features ...string) view.Member {
		return view.Member{ID: id, Leaving: leaving, Features: features}
	}
	v := view.View{Number: 7, Members: []view.Member{with("a", false, "x"), with("b", true, "x", "y"), with("c", true, "y"), with("d", false)}}
	if got, want := ForBarriers("x", "a", v), (barrier.Viewed{Self: "a", Number: 7, Members: []phalanx.NodeID{"a", "b"}, Leaving: []phalanx.NodeID{"b"}}); !reflect.DeepEqual(got, want) {
		t.Errorf("the barriers learn %+v, want %+v", got, want)
	}
	if got, want := ForGroups("x", "a", v), (group.Viewed{Self: "a", Number: 7, Members: map[phalanx.NodeID]bool{"a": true, "b": true}}); !reflect.DeepEqual(got, want) {
		t.Errorf("the groups learn %+v, want %+v", got, want)
	}
}

// The application hears of a loss once, although others of the voters go missing meanwhile, and once of its end.
func TestNews(t *testing.T) {
	lost := view.Majority{Lost: true, Missing: []phalanx.NodeID{"b"}}
	for _, x := range []struct {
		what   string
		before *view.Majority
		now    view.Majority
		want   bool
	}{
		{"the majority is lost", nil, lost, true},
		{"another voter is missing", &lost, view.Majority{Lost: true, Missing: []phalanx.NodeID{"b", "c"}}, false},
		{"the majority is found", &lost, view.Majority{}, true},
		{"the next incarnation finds it too", nil, view.Majority{}, false},
	} {
		if got := News(x.before, x.now); got != x.want {
			t.Errorf("%s: it is news: %v, want %v", x.what, got, x.want)
		}
	}
}

// A node that may be about to enter lets nobody in. A node that is in a cluster has a view of its own.
func TestWelcome(t *testing.T) {
	v := view.View{Cluster: "a", Members: []view.Member{a}}
	in, alone := join.Answer{From: "a", Cluster: "a", Ready: true}, join.Answer{From: "c"}
	enters := join.Answer{From: "b", Cluster: "a", Ready: true, Promise: "a"}
	for _, x := range []struct {
		what     string
		says, by join.Answer
		want     join.Answer
		view     bool
	}{
		{"a member", in, alone, in, true},
		{"a member that meets a member", in, join.Answer{From: "c", Cluster: "c"}, in, false},
		{"a node that is about to enter", enters, alone, join.Answer{From: "b", Promise: "a"}, false},
		{"a node that waits", alone, alone, alone, false},
	} {
		says, sent := Welcome(x.says, x.by, v)
		if says != x.want || (sent.Cluster != "") != x.view {
			t.Errorf("%s says %+v, with the view %v", x.what, says, sent)
		}
	}
}

func TestWays(t *testing.T) {
	if w := FirstWay("a:1", nil, nil, true); !w.JoinsOnly("a:1") || !reflect.DeepEqual(w.Known, []string{"a:1"}) {
		t.Errorf("a disk of a cluster and nobody to ask: %+v", w)
	}
	if w := FirstWay("a:1", []string{"a:1", "b:1"}, nil, false); w.JoinsOnly("a:1") {
		t.Errorf("a node that starts for the first time begins no cluster: %+v", w)
	}
	if (Way{Known: []string{"a:1"}, Again: true}).JoinsOnly("a:1") {
		t.Error("a node that was alone cannot begin its cluster again")
	}
	var all Ways
	first := FirstWay("a:1", []string{"b:1"}, nil, true)
	all.Begin(first)
	if all.Order(EnterWay("b:1")) || !all.Order(EnterWay("c:1")) || all.Order(EnterWay("c:1")) || !all.Order(BeginWay(2)) {
		t.Error("an order counts if no incarnation goes that way, or will")
	}
	all.End()
	if w := all.Take(first); w.Restarts != 2 || w.JoinsOnly("a:1") || all.Ordered() || !reflect.DeepEqual(all.Take(first), first) {
		t.Errorf("%+v", w)
	}
}
