package group_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/group"
	"github.com/phalanx-go/phalanx/internal/children/nodes"
	"github.com/phalanx-go/phalanx/internal/poll"
	"github.com/phalanx-go/phalanx/storenode"
)

// order is what a process is to do, one line of JSON.
type order struct {
	Do      string // form, wait, look at waits, revoke, look, shrink, plan, rounds or look at rounds
	Group   string
	Members []group.Member `json:",omitempty"`
	B       string         // of a plan: the group of plan B
	Rounds  int            // of each plan; to look at: how many
	Size    int            // of an array, in bytes
	Breaks  bool           // it revokes plan A

	AtLeast     int           `json:",omitempty"` // of a form
	JoinTimeout time.Duration `json:",omitempty"`
}

// report is what comes of it.
type report struct {
	Group  string // that was formed
	Size   int
	Sent   int // messages of the group's revoke
	Rank   int
	Failed []int
	At     int64 // when, by the machine's clock
	Kinds  []phalanx.Kind
	A, B   []time.Duration // of each AllReduce of the plans; the last one of A was interrupted
	Told   []string        `json:",omitempty"` // what the rounds came to
	Err    string          `json:",omitempty"`
}

// setup has a process carry out orders: those to form a group one after the other.
func setup(ctx context.Context, self *nodes.Self[report]) func(order) {
	w := &worker{node: self.Node, groups: map[string][]*group.Group{}}
	return func(o order) {
		carryOut := func() {
			r, err := w.carryOut(ctx, o)
			if err != nil {
				r.Err = err.Error()
			}
			self.Report(r)
		}
		if o.Do == "form" {
			carryOut()
		} else {
			go carryOut()
		}
	}
}

// worker is a process's application.
type worker struct {
	node   *cluster.Node
	rounds atomic.Int64 // that the member here has made
	mu     sync.Mutex
	groups map[string][]*group.Group // the members here
}

func (w *worker) of(name string) []*group.Group {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.groups[name]
}

func (w *worker) carryOut(ctx context.Context, o order) (report, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	switch o.Do {
	case "form":
		err := w.form(ctx, o)
		r := report{Group: o.Group}
		if err == nil {
			for _, g := range w.of(o.Group) {
				r.Failed = g.Failed()
			}
		}
		return r, err
	case "wait":
		return w.wait(ctx, o)
	case "look at waits":
		return report{}, holds("a Get waits", func() bool { return w.node.Status().Fetching > 0 })
	case "revoke":
		g := w.of(o.Group)[0]
		at := time.Now().UnixNano()
		return report{At: at, Rank: g.Rank()}, g.Revoke(ctx, "a test")
	case "look":
		return w.look(ctx, o)
	case "shrink":
		return w.shrink(ctx, o)
	case "plan":
		return w.plan(ctx, o)
	case "rounds":
		return w.makeRounds(ctx, o)
	case "look at rounds":
		return report{}, holds("some rounds are over", func() bool { return w.rounds.Load() >= int64(o.Rounds) })
	}
	return report{}, errors.New("there is no such order")
}

// form has all members here form a group.
func (w *worker) form(ctx context.Context, o order) error {
	type one struct {
		*group.Group
		error
	}
	all := make(chan one)
	n := 0
	var opts []group.Option
	if o.AtLeast > 0 {
		opts = []group.Option{group.AtLeast(o.AtLeast), group.JoinTimeout(o.JoinTimeout)}
	}
	for rank, m := range o.Members {
		if m.Node == w.node.ID() {
			n++
			go func() {
				g, err := group.Form(ctx, w.node, o.Group, o.Members, append(opts[:len(opts):len(opts)], group.AtRank(rank))...)
				all <- one{g, err}
			}()
		}
	}
	var groups []*group.Group
	var errs []error
	for range n {
		x := <-all
		groups, errs = append(groups, x.Group), append(errs, x.error)
	}
	w.mu.Lock()
	w.groups[o.Group] = groups
	w.mu.Unlock()
	return errors.Join(errs...)
}

// wait has all members here get what never comes, until the group is revoked.
func (w *worker) wait(ctx context.Context, o order) (report, error) {
	type one struct {
		at  int64
		err error
	}
	groups := w.of(o.Group)
	all := make(chan one)
	for _, g := range groups {
		go func() {
			_, err := g.Get(ctx, "what never comes")
			all <- one{time.Now().UnixNano(), err}
		}()
	}
	var r report
	for range groups {
		x := <-all
		r.At = max(r.At, x.at)
		var e *phalanx.Error
		if errors.As(x.err, &e) && !slices.Contains(r.Kinds, e.Kind) {
			r.Kinds = append(r.Kinds, e.Kind)
		}
	}
	return r, nil
}

// look reports how many messages the group's revoke took.
func (w *worker) look(ctx context.Context, o order) (report, error) {
	all, err := group.List(ctx, w.node)
	for _, s := range all {
		if s.Name == o.Group {
			return report{Sent: s.Sent}, err
		}
	}
	return report{}, errors.Join(err, errors.New("it is not there"))
}

// shrink has the one member here shrink its group.
func (w *worker) shrink(ctx context.Context, o order) (report, error) {
	g, err := w.of(o.Group)[0].Shrink(ctx)
	if err != nil {
		return report{}, err
	}
	w.mu.Lock()
	w.groups[g.Name()] = []*group.Group{g}
	w.mu.Unlock()
	return report{Group: g.Name(), Size: g.Size(), Rank: g.Rank(), Failed: g.Failed(), At: time.Now().UnixNano()}, nil
}

// makeRounds has the member here revoke or be revoked, agree and shrink, again and again; it ends early,
// with the kind of the error, if a call fails.
func (w *worker) makeRounds(ctx context.Context, o order) (r report, err error) {
	g := w.of(o.Group)[0]
	for i := range o.Rounds {
		if g.Rank()%2 == 0 {
			err = g.Revoke(ctx, fmt.Sprint(i))
		} else if _, err = g.Get(ctx, "what never comes"); errors.Is(err, phalanx.ErrRevoked) {
			err = nil
		}
		var a group.Agreement
		if err == nil {
			a, err = g.Agree(ctx, int64(10*i+g.Rank()), group.Max)
		}
		var left *group.Group
		if err == nil {
			left, err = g.Shrink(ctx)
		}
		var e *phalanx.Error
		if errors.As(err, &e) {
			r.Kinds = []phalanx.Kind{e.Kind}
			return r, nil
		}
		if err != nil {
			return r, err
		}
		r.Told = append(r.Told, fmt.Sprint(a.Value, a.Failed, left.Name(), left.Size()))
		_ = g.Close()
		g = left
		w.rounds.Add(1)
	}
	r.Group, r.Size = g.Name(), g.Size()
	return r, nil
}

// plan is the benchmark of the paper: AllReduce after AllReduce in a group, which one
// member revokes instead of taking part; and then in another one.
func (w *worker) plan(ctx context.Context, o order) (r report, err error) {
	a, b := w.of(o.Group)[0], w.of(o.B)[0]
	revoked := false
	for i := 0; i < o.Rounds && !revoked; i++ {
		took, err := allReduce(ctx, a, i, o.Size, o.Breaks && i == o.Rounds-1)
		r.A = append(r.A, took)
		switch revoked = errors.Is(err, phalanx.ErrRevoked); {
		case revoked && i < o.Rounds-2: // the one before the last may not be over here
			return r, fmt.Errorf("member %d: round %d of %d of plan A is revoked too early: %w", a.Rank(), i, o.Rounds, err)
		case !revoked && err != nil:
			return r, fmt.Errorf("member %d: round %d of %d of plan A fails: %w", a.Rank(), i, o.Rounds, err)
		}
	}
	if !revoked {
		return r, fmt.Errorf("member %d: all %d rounds of plan A end well, and the last one is to be revoked", a.Rank(), o.Rounds)
	}
	for i := range o.Rounds {
		took, err := allReduce(ctx, b, i, o.Size, false)
		if r.B = append(r.B, took); err != nil {
			return r, fmt.Errorf("member %d: round %d of %d of plan B fails: %w", b.Rank(), i, o.Rounds, err)
		}
	}
	return r, nil
}

// allReduce makes one, or revokes the group. A member that revokes puts no source, so that no
// other's AllReduce can end before it hears of the revoke.
func allReduce(ctx context.Context, g *group.Group, round, size int, revokes bool) (time.Duration, error) {
	id := func(what any) phalanx.ObjectID { return phalanx.ObjectID(fmt.Sprint(g.Name(), "/", round, "/", what)) }
	var sources []phalanx.ObjectID
	for rank := range g.Size() {
		sources = append(sources, id(rank))
	}
	if !revokes {
		if _, err := g.Put(ctx, id(g.Rank()), make([]byte, size), cluster.WithArray(phalanx.Float32, int64(size/4))); err != nil {
			return 0, err
		}
	}
	began := time.Now()
	if revokes {
		if err := g.Revoke(ctx, "plan B"); err != nil {
			return 0, err
		}
	}
	v, _, err := g.AllReduce(ctx, storenode.Reduce{Target: id("sum"), Sources: sources, Op: phalanx.Sum})
	took := time.Since(began)
	if err == nil {
		v.Release()
	}
	return took, err
}

// process is a node as the tests see it.
type process struct{ *nodes.Node[order, report] }

func launch(t testing.TB, n int) []*process {
	t.Helper()
	var all []*process
	for _, p := range nodes.Launch[order, report](t, n) {
		all = append(all, &process{p})
	}
	return all
}

// await returns what becomes of an order, which is to succeed.
func (p *process) await(t testing.TB) report {
	t.Helper()
	r := p.Await(t)
	if r.Err != "" {
		t.Fatalf("%s: %s", p.ID, r.Err)
	}
	return r
}

// all gives processes an order, and returns what becomes of it.
func all(t testing.TB, processes []*process, o order) []report {
	t.Helper()
	for _, p := range processes {
		p.Tell(t, o)
	}
	var reports []report
	for _, p := range processes {
		reports = append(reports, p.await(t))
	}
	return reports
}

// holds waits until a condition holds.
func holds(what string, condition func() bool) error {
	if !poll.Holds(condition) {
		return fmt.Errorf("not within a minute: %s", what)
	}
	return nil
}

// waitIn has all members on processes wait in a group until it is revoked.
func waitIn(t testing.TB, processes []*process, name string) {
	t.Helper()
	for _, p := range processes {
		p.Tell(t, order{Do: "wait", Group: name})
	}
	all(t, processes, order{Do: "look at waits"})
}

// members returns n of them on processes, in turn.
func members(processes []*process, n int) []group.Member {
	var all []group.Member
	for i := range n {
		m := group.Member{Node: processes[i%len(processes)].ID}
		if n > len(processes) {
			m.Label = fmt.Sprint("w", i)
		}
		all = append(all, m)
	}
	return all
}
