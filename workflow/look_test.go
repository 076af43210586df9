package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/poll"
)

// Graph says how the tasks of a run stand, also those of a workflow that a task has returned; History what has happened. Both
// can be asked of any node.
func TestLookAtARun(t *testing.T) {
	g := newGate()
	failed := false
	draw := Func0("draw", 1, func(Context) (int, error) {
		if !failed {
			failed = true
			return 0, errors.New("not yet")
		}
		return 2, nil
	}).With(NoEffect)
	slow := Func2("slow", 1, func(c Context, i, n int) (int, error) { return i * n, g.pass(c, "slow") }).With(Deterministic, NoEffect)
	each := Expand1("each", 1, func(_ Context, n int) (Step[int], error) {
		step := slow.Bind(Value(1), Value(n))
		return slow.Bind(step, Value(5)), nil
	})
	show := Func1("show", 1, func(_ Context, n int) (string, error) { return fmt.Sprint(n), nil }).With(NoEffect)
	b := &bedOf{t: t}
	tasks := Tasks(draw, slow, each, show)
	b.join("a", Settings{Dir: t.TempDir(), Tasks: tasks})
	n := b.join("b", Settings{})
	r, err := Start(within(t), n, "x", show.Bind(each.Bind(draw.Bind())))
	if err != nil {
		t.Fatal(err)
	}
	g.await(t)
	var d *Description
	poll.Until(t, "a task of the returned workflow runs", func() bool {
		if d, err = Graph(within(t), n, "x"); err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(d.Tasks, func(task TaskDescription) bool { return task.State == "running" })
	})
	if got, want := looks(d), "draw saved 2 []|each expanded 1 [0]|show to come 0 [1]|each/slow running 1 [] of 1|each/slow#2 to come 0 [3] of 1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if node := d.Tasks[3].Node; !strings.HasPrefix(node, "a#") {
		t.Errorf("it runs on %q", node)
	}
	for _, part := range []string{`t3 [label="each/slow`, "running", "fillcolor=lightskyblue", "t1 -> t3 [style=dashed, label=\"returns\"]", "t3 -> t4;"} {
		if !strings.Contains(d.DOT(), part) {
			t.Errorf("there is no %s in\n%s", part, d.DOT())
		}
	}
	close(g.open)
	if got := result(t, r, nil); got != "10" {
		t.Errorf("the result is %s", got)
	}
	if d, err = Graph(within(t), n, "x"); err != nil {
		t.Fatal(err)
	}
	for _, task := range d.Tasks {
		if task.State != "saved" && task.State != "ended" || task.Node != "" {
			t.Errorf("after the run %s is %s", task.Name, task.State)
		}
	}
	poll.Until(t, "the end is in the history", func() bool { // which may be a second old
		what := ""
		for h, err := range History(within(t), n, "x") {
			if err != nil {
				t.Fatal(err)
			}
			what = h.What
		}
		return what == "closed"
	})
	var all []string
	last := Happened{}
	for h, err := range History(within(t), n, "x") {
		if err != nil {
			t.Fatal(err)
		}
		if h.Number < last.Number || h.At < last.At || h.Epoch == 0 {
			t.Errorf("%+v comes after %+v", h, last)
		}
		last = h
		all = append(all, strings.TrimSpace(h.What+" "+h.Task))
	}
	for _, want := range []string{"begun draw", "ended draw", "expanded each", "begun each/slow", "ended each/slow", "begun each/slow#2", "ended show"} {
		if !slices.Contains(all, want) {
			t.Errorf("there is no %q in %q", want, all)
		}
	}
	if last.What != "closed" {
		t.Errorf("the last is %+v", last)
	}
	for range History(within(t), n, "x") {
		break
	}
	if _, err := Graph(within(t), n, "none"); !errors.Is(err, phalanx.ErrNotFound) {
		t.Error(err)
	}
	for h, err := range History(within(t), n, "none") {
		if !errors.Is(err, phalanx.ErrNotFound) || h.What != "" {
			t.Error(h, err)
		}
	}
}

func looks(d *Description) string {
	var all []string
	for _, task := range d.Tasks {
		s := fmt.Sprintf("%s %s %d %v", task.Name, task.State, task.Attempts, task.Reads)
		if task.Of != nil {
			s += fmt.Sprintf(" of %d", *task.Of)
		}
		all = append(all, s)
	}
	return strings.Join(all, "|")
}

// Graph says why an attempt has failed, which tasks never begin, and what was taken back. A description of many pages is whole.
func TestLookAtARunThatFails(t *testing.T) {
	lock := Func1("lock", 1, func(Context, string) (string, error) { return strings.Repeat("z", 60_000), nil }).
		Undo(func(Context, string) error { return nil })
	pay := Func1("pay", 1, func(Context, []string) (int, error) { return 0, errors.New("there is no money") }).With(NoEffect, Retry(1))
	ship := Func1("ship", 1, func(Context, int) (int, error) { return 0, nil })
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(lock, pay, ship)})
	var locks []Arg[string]
	for i := range 100 {
		locks = append(locks, lock.Bind(Value(strings.Repeat("y", 50_000)+fmt.Sprint(i)))) // 5 MB are many parts
	}
	r, err := Start(within(t), n, "x", ship.Bind(pay.Bind(All(locks...))))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Result(within(t)); !errors.Is(err, phalanx.ErrFailed) {
		t.Fatal(err)
	}
	poll.Until(t, "the end can be read", func() bool {
		st, err := StatusOf(within(t), n, "x")
		return err == nil && st.State == Finished
	})
	d, err := Graph(within(t), n, "x")
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Tasks) != 102 {
		t.Fatalf("there are %d tasks", len(d.Tasks))
	}
	for i, task := range d.Tasks {
		if want := [...]string{"undone", "stopped", "not begun"}[max(0, i-99)]; task.State != want {
			t.Errorf("%s is %s, not %s", task.Name, task.State, want)
		}
	}
	var all []string
	for h, err := range History(within(t), n, "x") {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, h.What)
	}
	if n := len(all); n < 304 || all[n-1] != "closed" || !slices.Contains(all, "failing") {
		t.Errorf("%d have happened: %v", n, all[max(0, n-5):])
	}
}

// Ledger says which disks hold the ledger and which node leads, on any node; and which of them is away.
func TestLedgerTellsWhereItIs(t *testing.T) {
	b := &bedOf{t: t}
	for _, name := range []string{"a", "b", "c"} {
		b.join(name, Settings{Dir: t.TempDir(), Tasks: Tasks(echo)})
	}
	n := b.join("d", Settings{Tasks: Tasks(echo)})
	var l LedgerInfo
	holds := func() (k int) {
		var err error
		if l, err = Ledger(within(t), n); err != nil {
			t.Fatal(err)
		}
		for _, d := range l.Disks {
			if d.Holds {
				k++
			}
		}
		return k
	}
	poll.Until(t, "three disks hold the ledger", func() bool { return holds() == 3 })
	leads := 0
	for _, d := range l.Disks {
		if d.Leads {
			leads++
			if d.Node != l.Leader {
				t.Errorf("%+v leads, and the leader is %s", d, l.Leader)
			}
		}
		if d.Disk == "" || d.Host == "" || d.Failed || d.Silent > 20*time.Second {
			t.Errorf("%+v", d)
		}
	}
	if leads != 1 || l.Epoch == 0 {
		t.Errorf("%+v", l)
	}
	for _, node := range b.nodes[:3] {
		if node.ID() != l.Leader {
			die(node)
			break
		}
	}
	poll.Until(t, "a disk is away", func() bool {
		return holds() == 3 && slices.ContainsFunc(l.Disks, func(d LedgerDisk) bool { return d.Holds && d.Silent > 2*time.Second })
	})
}

// A disk that is away for Settings.ReplaceAfter is replaced by one that is there.
func TestReplaceAfter(t *testing.T) {
	b := &bedOf{t: t}
	for _, name := range []string{"a", "b", "c", "d"} {
		b.join(name, Settings{Dir: t.TempDir(), ReplaceAfter: time.Second})
	}
	asked := b.join("e", Settings{})
	holders := func() (all []phalanx.NodeID, leader phalanx.NodeID) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		l, err := Ledger(ctx, asked)
		if err != nil {
			return nil, "" // another node begins to lead
		}
		for _, d := range l.Disks {
			if d.Holds {
				all = append(all, d.Node)
			}
		}
		return all, l.Leader
	}
	var before []phalanx.NodeID
	var leader phalanx.NodeID
	poll.Until(t, "three disks hold the ledger", func() bool {
		before, leader = holders()
		return len(before) == 3 && !slices.Contains(before, "")
	})
	gone := slices.IndexFunc(b.nodes, func(n *cluster.Node) bool { return n.ID() != leader && slices.Contains(before, n.ID()) })
	die(b.nodes[gone])
	poll.Until(t, "the fourth disk has taken the place of the one that is away", func() bool {
		now, _ := holders()
		return len(now) == 3 && !slices.Contains(now, "") && !slices.Contains(now, b.nodes[gone].ID())
	})
}
