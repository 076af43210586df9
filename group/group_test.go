package group_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/group"
	"github.com/phalanx-go/phalanx/internal/poll"
	"github.com/phalanx-go/phalanx/storenode"
)

func TestFormAgreeShrink(t *testing.T) {
	nodes := start(t, 4)
	groups := form(t, "train", nodes)
	for i, g := range groups {
		if g.Rank() != i || g.Size() != 4 || g.Name() != "train" || len(g.Failed()) > 0 || g.IsRevoked() || !slices.Equal(g.Members(), on(nodes)) {
			t.Errorf("member %d has %+v", i, g)
		}
	}
	ctx := within(t)
	for _, a := range each(t, groups, func(i int, g *group.Group) (group.Agreement, error) { return g.Agree(ctx, int64(10+i), group.Min) }) {
		if a.Value != 10 || a.Failed != nil {
			t.Errorf("agreed on %+v", a)
		}
	}
	if err := groups[1].Close(); err != nil {
		t.Fatal(err)
	}
	left := []*group.Group{groups[0], groups[2], groups[3]}
	for _, g := range left {
		eventually(t, "it is told who has left", func() bool { return slices.Equal(g.Failed(), []int{1}) })
	}
	if got := groups[0].Acknowledge(); !slices.Equal(got, []int{1}) {
		t.Errorf("acknowledged %v", got)
	}
	for _, a := range each(t, left, func(i int, g *group.Group) (group.Agreement, error) { return g.Agree(ctx, 1, group.And) }) {
		if !slices.Equal(a.Failed, []int{1}) || !slices.Equal(a.Unacknowledged, []int{1}) {
			t.Errorf("agreed on %+v", a)
		}
	}
	shrunk := each(t, left, func(_ int, g *group.Group) (*group.Group, error) { return g.Shrink(ctx) })
	for i, g := range shrunk {
		if g.Size() != 3 || g.Rank() != i || g.Name() != shrunk[0].Name() || !strings.HasPrefix(g.Name(), "train~1-") || len(g.Failed()) > 0 {
			t.Errorf("member %d has %s of %v", i, g.Name(), g.Members())
		}
	}
}

// Everything that is under way, and all that is called later, fails at every member;
// another group does not notice.
func TestRevoke(t *testing.T) {
	nodes := start(t, 3)
	groups, others := form(t, "a", nodes), form(t, "b", nodes)
	ctx := within(t)
	if _, err := nodes[0].Put(ctx, "there", make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	used := make([]int64, len(nodes))
	for i, n := range nodes {
		m := n.Status().Memory
		used[i] = m.Used - m.Idle
	}
	calls := map[string]func(*group.Group) error{
		"get":  func(g *group.Group) error { _, err := g.Get(ctx, "never"); return err },
		"open": func(g *group.Group) error { _, err := g.Open(ctx, "never"); return err },
		"put": func(g *group.Group) error {
			_, err := g.PutReader(ctx, phalanx.ObjectID(fmt.Sprint("part/", g.Rank())), blocked{g.Context()}, 1<<20)
			return err
		},
		"reduce": func(g *group.Group) error {
			_, err := g.Reduce(ctx, storenode.Reduce{Target: phalanx.ObjectID(fmt.Sprint("sum/", g.Rank())), Sources: []phalanx.ObjectID{"x", "y"}, Op: phalanx.Sum})
			return err
		},
		"allreduce": func(g *group.Group) error {
			_, _, err := g.AllReduce(ctx, storenode.Reduce{Target: "all", Sources: []phalanx.ObjectID{"x", "y"}, Op: phalanx.Sum})
			return err
		},
		"gather":    func(g *group.Group) error { _, err := g.Gather(ctx, []phalanx.ObjectID{"x", "y"}, 1); return err },
		"allgather": func(g *group.Group) error { _, err := g.AllGather(ctx, []phalanx.ObjectID{"x", "y"}); return err },
		"enter": func(g *group.Group) error {
			b, err := g.Barrier("step", barrier.Config{Max: 4})
			if err == nil {
				_, err = b.Enter(ctx, barrier.Entry{})
			}
			return err
		},
	}
	type end struct {
		call string
		err  error
	}
	ends := make(chan end, 100)
	waiting := 0
	for _, g := range groups {
		for name, call := range calls {
			waiting++
			go func() { ends <- end{name, call(g)} }()
		}
	}
	elsewhere := make(chan error, 1)
	go func() { _, err := others[2].Get(ctx, "late"); elsewhere <- err }()
	busy(t, nodes...)
	select {
	case e := <-ends:
		t.Fatalf("%s has ended before: %v", e.call, e.err)
	default:
	}
	events := nodes[2].Events(ctx)
	if err := groups[1].Revoke(ctx, "plan B"); err != nil {
		t.Fatal(err)
	}
	for range waiting {
		select {
		case e := <-ends:
			var r *group.RevokedError
			if !errors.Is(e.err, phalanx.ErrRevoked) || !errors.As(e.err, &r) || r.Rank != 1 || r.By != groups[1].Members()[1] || r.Reason != "plan B" || r.Group != "a" {
				t.Errorf("%s: %v", e.call, e.err)
			}
		case <-time.After(time.Minute):
			t.Fatal("a call still waits")
		}
	}
	for e := range events {
		if r, ok := e.(actors.GroupRevoked); ok {
			if r.Group != "a" || r.By != groups[1].Members()[1].String() || r.Reason != "plan B" || r.Took <= 0 {
				t.Errorf("%+v", r)
			}
			break
		}
	}
	for _, g := range groups {
		for name, call := range calls {
			if err := call(g); !errors.Is(err, phalanx.ErrRevoked) {
				t.Errorf("%s, later: %v", name, err)
			}
		}
		if _, err := g.Get(ctx, "there"); !errors.Is(err, phalanx.ErrRevoked) {
			t.Errorf("what is there can be read: %v", err)
		}
		if !g.IsRevoked() || context.Cause(g.Context()) == nil {
			t.Error("it does not know")
		}
	}
	for i, a := range each(t, groups, func(i int, g *group.Group) (group.Agreement, error) { return g.Agree(ctx, 1<<i, group.Or) }) {
		if a.Value != 7 {
			t.Errorf("member %d agrees on %+v", i, a)
		}
	}
	// The other group.
	if others[0].IsRevoked() {
		t.Error("another group is revoked")
	}
	if _, err := others[0].Put(ctx, "late", []byte("x")); err != nil {
		t.Error(err)
	}
	if err := <-elsewhere; err != nil {
		t.Error(err)
	}
	// Nothing is left of it.
	for i, n := range nodes {
		var s cluster.Status
		if !poll.Holds(func() bool {
			s = n.Status()
			return s.Memory.Used-s.Memory.Idle <= used[i]+64<<10 && // the directory grows
				s.Reduces == 0 && s.Places == 0 && s.Fetching == 0
		}) {
			t.Fatalf("node %d uses %d bytes, %d before, and has %+v", i, s.Memory.Used, used[i], s)
		}
	}
}

// blocked is a reader that has nothing. The store waits for it: it reads into memory.
type blocked struct{ ctx context.Context }

func (b blocked) Read([]byte) (int, error) { <-b.ctx.Done(); return 0, b.ctx.Err() }

func TestErrors(t *testing.T) {
	nodes := start(t, 2)
	ctx := within(t)
	members := on(nodes)
	labeled := []group.Member{{Node: nodes[0].ID(), Label: "a"}, {Node: nodes[0].ID(), Label: "b"}}
	for _, c := range []struct {
		name    string
		members []group.Member
		opts    []group.Option
		kind    phalanx.Kind
		is      error
		says    string
	}{
		{"g", members[1:], nil, phalanx.ErrInvalid, group.ErrAlone, ""},
		{"g", nil, nil, phalanx.ErrInvalid, nil, "0 members"},
		{"g", []group.Member{members[1], {Node: "x#1"}}, nil, phalanx.ErrInvalid, group.ErrNotMember, "not in the list"},
		{"g", members, []group.Option{group.AtRank(2)}, phalanx.ErrInvalid, nil, "rank 2: there are ranks 0 to 1"},
		{"g", members, []group.Option{group.AtRank(-2)}, phalanx.ErrInvalid, nil, "there are ranks 0 to 1"},
		{"g", members, []group.Option{group.AtRank(1)}, phalanx.ErrInvalid, group.ErrNotMember, "rank 1 is n1"},
		{"g", labeled, nil, phalanx.ErrInvalid, nil, "say which one calls"},
		{"g", []group.Member{members[0], members[0]}, nil, phalanx.ErrInvalid, nil, "is rank 0 already"},
		{"", members, nil, phalanx.ErrInvalid, nil, "the name is empty"},
		{"a~b", members, nil, phalanx.ErrInvalid, nil, "the name has a ~"},
	} {
		_, err := group.Form(ctx, nodes[0], c.name, c.members, c.opts...)
		if !errors.Is(err, c.kind) || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v", c, err)
		}
	}
	groups := form(t, "g", nodes)
	_, err := group.Form(ctx, nodes[0], "g", members)
	is(t, err, phalanx.ErrExists)
	is(t, err, group.ErrUsed)
	_, err = groups[0].Member(2)
	is(t, err, phalanx.ErrInvalid)
	var rank *group.RosterError
	if !errors.As(err, &rank) || rank.Rank != 2 {
		t.Errorf("%v", err)
	}
	_, err = groups[0].Agree(ctx, 1, 99)
	is(t, err, phalanx.ErrInvalid)
	_, err = groups[0].Grow(ctx, members[1])
	is(t, err, phalanx.ErrInvalid)
	is(t, groups[0].Revoke(ctx, strings.Repeat("x", 300)), phalanx.ErrInvalid)
	_, errs := outcomes(groups, func(i int, g *group.Group) (group.Agreement, error) { return g.Agree(ctx, 1, group.And+group.Op(i)) })
	for _, err := range errs {
		is(t, err, phalanx.ErrMismatch)
		is(t, err, group.ErrDiffers)
	}
	_, errs = outcomes(groups, func(_ int, g *group.Group) (*group.Group, error) { return g.Grow(ctx) })
	for _, err := range errs {
		is(t, err, phalanx.ErrMismatch)
	}
	short, cancel := context.WithTimeout(ctx, 100*ms)
	defer cancel()
	_, err = groups[0].Shrink(short)
	is(t, err, phalanx.ErrDeadline)
	var absent *group.AbsentError
	if !errors.As(err, &absent) || !slices.Equal(absent.Absent, []string{string(nodes[1].ID())}) {
		t.Errorf("%v", err)
	}
	if err := groups[0].Close(); err != nil {
		t.Error(err)
	}
	for name, f := range map[string]func() error{
		"get":    func() error { _, err := groups[0].Get(ctx, "x"); return err },
		"agree":  func() error { _, err := groups[0].Agree(ctx, 1, group.Or); return err },
		"shrink": func() error { _, err := groups[0].Shrink(ctx); return err },
		"revoke": func() error { return groups[0].Revoke(ctx, "") },
	} {
		if err := f(); !errors.Is(err, phalanx.ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}

// A member's failure ends what needs all of them, and not what does not; when it is
// acknowledged, that goes on too.
func TestFailureEndsWhatNeedsAll(t *testing.T) {
	nodes := start(t, 3)
	groups := form(t, "g", nodes)
	ctx := within(t)
	ends := make(chan error, 3)
	go func() {
		_, _, err := groups[0].AllReduce(ctx, storenode.Reduce{Target: "all", Sources: []phalanx.ObjectID{"x", "y"}, Op: phalanx.Sum})
		ends <- err
	}()
	go func() { _, err := groups[0].AllGather(ctx, []phalanx.ObjectID{"x"}); ends <- err }()
	step, err := groups[0].Barrier("step", barrier.Config{})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, err := step.Enter(ctx, barrier.Entry{}); ends <- err }()
	got := make(chan error, 1)
	go func() { _, err := groups[0].Get(ctx, "z"); got <- err }()
	busy(t, nodes[0])
	if err := groups[2].Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		var m *group.MemberError
		if err := <-ends; !errors.Is(err, phalanx.ErrFailed) || !errors.As(err, &m) || !slices.Equal(m.Ranks, []int{2}) || m.Members[0].Node != nodes[2].ID() {
			t.Errorf("%v", err)
		}
	}
	if _, err := nodes[1].Put(ctx, "z", []byte("z")); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Errorf("a Get ends with %v", err)
	}
	eventually(t, "both know", func() bool { return len(groups[1].Failed()) == 1 })
	groups[0].Acknowledge()
	groups[1].Acknowledge()
	for _, p := range each(t, groups[:2], func(_ int, g *group.Group) (barrier.Passage, error) {
		b, err := g.Barrier("next", barrier.Config{})
		if err != nil {
			return barrier.Passage{}, err
		}
		return b.Enter(ctx, barrier.Entry{})
	}) {
		if p.Late {
			t.Errorf("%+v", p)
		}
	}
}

func TestGrow(t *testing.T) {
	nodes := start(t, 3)
	groups := form(t, "g", nodes[:2])
	ctx := within(t)
	newcomer := group.Member{Node: nodes[2].ID(), Label: "w9"}
	come := make(chan *group.Group, 1)
	go func() {
		g, err := group.Await(ctx, nodes[2], group.Labeled("w9"))
		if err != nil {
			t.Error(err)
		}
		come <- g
	}()
	grown := each(t, groups, func(i int, g *group.Group) (*group.Group, error) {
		return g.Grow(ctx, []group.Member{newcomer}[:1-i]...) // one of them knows it
	})
	g := <-come
	if g == nil {
		t.FailNow()
	}
	for i, x := range append(grown, g) {
		if x.Rank() != i || x.Name() != g.Name() || !slices.Equal(x.Members(), append(on(nodes[:2]), newcomer)) {
			t.Errorf("member %d has %s of %v", i, x.Name(), x.Members())
		}
	}
	if _, err := g.Put(ctx, "o", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	v, err := grown[0].Get(ctx, "o")
	if err != nil {
		t.Fatal(err)
	}
	v.Release()
}

// A panic of the service's actor loses no group.
func TestPanic(t *testing.T) {
	nodes := start(t, 3)
	groups := form(t, "g", nodes)
	ctx := within(t)
	pid, _ := nodes[0].Service(group.Name)
	nodes[0].System().Root.Send(pid, actors.Crash{})
	for i, a := range each(t, groups, func(i int, g *group.Group) (group.Agreement, error) { return g.Agree(ctx, int64(i), group.Max) }) {
		if a.Value != 2 {
			t.Errorf("member %d agrees on %+v", i, a)
		}
	}
	nodes[0].System().Root.Send(pid, actors.Crash{})
	if err := groups[2].Revoke(ctx, ""); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is revoked", groups[0].IsRevoked)
}

// A node that leaves ends what its members have under way, and the others are told.
func TestLeave(t *testing.T) {
	nodes := start(t, 2)
	leaver, err := cluster.Join(within(t), config("leaver", nodes[0].ControlAddr()))
	if err != nil {
		t.Fatal(err)
	}
	all := append(slices.Clone(nodes), leaver)
	groups := form(t, "g", all)
	ctx := within(t)
	ended := make(chan error, 2)
	go func() { _, err := groups[2].Get(ctx, "never"); ended <- err }()
	go func() { _, err := groups[2].Shrink(ctx); ended <- err }()
	eventually(t, "it waits", func() bool { return leaver.Status().Fetching > 0 })
	if err := leaver.Leave(ctx); err != nil {
		t.Fatal(err)
	}
	is(t, <-ended, phalanx.ErrClosed)
	is(t, <-ended, phalanx.ErrClosed)
	for _, g := range groups[:2] {
		eventually(t, "it is told", func() bool { return slices.Equal(g.Failed(), []int{2}) })
	}
	for _, g := range each(t, groups[:2], func(_ int, g *group.Group) (*group.Group, error) { return g.Shrink(ctx) }) {
		if g.Size() != 2 {
			t.Errorf("%v", g.Members())
		}
	}
}

// Barriers of groups are apart, whatever their names.
func TestBarriersOfGroupsAreApart(t *testing.T) {
	nodes := start(t, 2)
	a, b := form(t, "a", nodes), form(t, "a/b", nodes)
	ctx := within(t)
	one, err := a[0].Barrier("b/c", barrier.Config{})
	if err != nil {
		t.Fatal(err)
	}
	other, err := b[1].Barrier("c", barrier.Config{})
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 200*ms)
	defer cancel()
	passed := make(chan error, 2)
	go func() { _, err := one.Enter(short, barrier.Entry{}); passed <- err }()
	go func() { _, err := other.Enter(short, barrier.Entry{}); passed <- err }()
	is(t, <-passed, phalanx.ErrDeadline)
	is(t, <-passed, phalanx.ErrDeadline)
}

// Members of a group that is revoked do not stay in its barriers.
func TestEntriesOfARevokedGroupGo(t *testing.T) {
	nodes := start(t, 3)
	groups := form(t, "gone", nodes)
	ended := make(chan error, 2)
	for _, g := range groups[:2] {
		b, err := g.Barrier("all", barrier.Config{})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := b.Enter(within(t), barrier.Entry{})
			ended <- err
		}()
	}
	entered := func() int {
		all, err := barrier.List(within(t), nodes[0])
		if err != nil || len(all) == 0 {
			return -1
		}
		return all[0].Entered
	}
	eventually(t, "two have entered", func() bool { return entered() == 2 })
	if err := groups[2].Revoke(within(t), "over"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		is(t, <-ended, phalanx.ErrRevoked)
	}
	eventually(t, "nobody is entered", func() bool { return entered() <= 0 })
}

// After a member has failed in the midst of a barrier, those who acknowledge it go on with a
// barrier of the same name.
func TestABarrierGoesOnAfterAcknowledge(t *testing.T) {
	nodes := start(t, 3)
	dies, err := cluster.Join(within(t), config("dies", nodes[0].ControlAddr()))
	if err != nil {
		t.Fatal(err)
	}
	all := append(nodes, dies)
	for _, n := range all {
		eventually(t, "a view of all", func() bool { return len(n.View().Members) == 4 })
	}
	groups := form(t, "train", all)
	enter := func(g *group.Group) error {
		b, err := g.Barrier("step", barrier.Config{})
		if err == nil {
			_, err = b.Enter(within(t), barrier.Entry{})
		}
		return err
	}
	ended := make(chan error, 3)
	for _, g := range []*group.Group{groups[0], groups[1], groups[3]} {
		go func() { ended <- enter(g) }()
	}
	eventually(t, "three have entered", func() bool {
		all, err := barrier.List(within(t), nodes[0])
		return err == nil && len(all) == 1 && all[0].Entered == 3
	})
	dies.Close()
	for range 3 {
		if err := <-ended; err == nil {
			t.Error("a barrier of four passes with three")
		}
	}
	for _, g := range groups[:3] {
		eventually(t, "the failure is known", func() bool { return len(g.Failed()) == 1 })
		g.Acknowledge()
	}
	_, errs := outcomes(groups[:3], func(_ int, g *group.Group) (struct{}, error) { return struct{}{}, enter(g) })
	for i, err := range errs {
		if err != nil {
			t.Errorf("member %d: %v", i, err)
		}
	}
}

// However long the name of a group, it has barriers of its own, and calls; so have those that
// come of it.
func TestBarriersOfGroupsWithLongNames(t *testing.T) {
	nodes := start(t, 2)
	long := strings.Repeat("a/", 96)[:191]
	ctx := within(t)
	use := func(groups []*group.Group) {
		t.Helper()
		id := phalanx.ObjectID("of " + groups[0].Name()[len(long):])
		if _, err := groups[0].Put(ctx, id, []byte("x")); err != nil {
			t.Fatal(err)
		}
		each(t, groups, func(_ int, g *group.Group) (struct{}, error) {
			v, err := g.Get(ctx, id)
			if err != nil {
				return struct{}{}, err
			}
			v.Release()
			b, err := g.Barrier(strings.Repeat("b", 100), barrier.Config{})
			if err == nil {
				var p barrier.Passage
				if p, err = b.Enter(ctx, barrier.Entry{}); p.Late {
					t.Error("it is the barrier of another group")
				}
			}
			return struct{}{}, err
		})
	}
	for _, name := range []string{long + "x", long + "y"} {
		groups := form(t, name, nodes)
		use(groups)
		use(each(t, groups, func(_ int, g *group.Group) (*group.Group, error) { return g.Shrink(ctx) }))
		_, err := groups[0].Barrier(strings.Repeat("b", 200), barrier.Config{Max: 2})
		is(t, err, phalanx.ErrInvalid)
		if err == nil || !strings.Contains(err.Error(), "200 bytes are more than the 127") {
			t.Errorf("it names no limit: %v", err)
		}
	}
}
