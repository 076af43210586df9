package main

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/barrier"
	core "github.com/phalanx-go/phalanx/protocol/barrier"
)

// The arrivals have the paper's knees: after 21 tasks at 300 s and after 88 at 801 s, and none
// between them.
func TestKneesOfTheArrivals(t *testing.T) {
	var d core.Detector
	arrivals := emanArrivals()
	if len(arrivals) != emanHosts || !slices.IsSorted(arrivals) || arrivals[emanHosts-1] != 2700*time.Second {
		t.Fatalf("%d arrivals until %v", len(arrivals), arrivals[len(arrivals)-1])
	}
	knees := map[int]time.Duration{}
	for i, at := range arrivals[:emanHosts-1] {
		d.Arrive(at)
		if late, ok := d.Threshold(); ok && late < arrivals[i+1] {
			knees[i+1] = late
		}
	}
	near := func(tasks int, want time.Duration) {
		if got := knees[tasks]; (got - want).Abs() > time.Second {
			t.Errorf("the knee after %d tasks is at %v, not at %v", tasks, got, want)
		}
	}
	near(21, 300*time.Second)
	near(88, 801*time.Second)
	for tasks := range knees {
		if tasks > 21 && tasks < 88 {
			t.Errorf("there is a knee after %d tasks", tasks)
		}
	}
}

// The library's barrier ignores the knee at 300 s, as 21 of 98 are less than 60 %, and fires at
// the knee at 801 s with 88. The test sets the time.
func TestTheKneeAt300IsIgnored(t *testing.T) {
	for percent, want := range map[int]struct {
		at time.Duration
		n  int
	}{emanPercent: {801 * time.Second, 88}, 20: {300 * time.Second, 21}} {
		b := core.New(core.Config{Max: emanHosts, Knee: core.Knee{Percent: percent}})
		at, n := firedAt(b, emanArrivals())
		if (at-want.at).Abs() > time.Second || n != want.n {
			t.Errorf("from %d %% on the barrier fires at %v with %d, not at %v with %d", percent, at, n, want.at, want.n)
		}
	}
}

func firedAt(b *core.Barrier, arrivals []time.Duration) (at time.Duration, n int) {
	look := func(effects []core.Effect) bool {
		for _, e := range effects {
			if h, ok := e.(core.Happened); ok && h.What == core.HasFired {
				n = h.N
				return true
			}
		}
		return false
	}
	for i, next := range arrivals {
		for due, ok := b.Due(); ok && due < next; due, ok = b.Due() {
			if look(b.Apply(core.Op{Kind: core.OpAdvance, At: due})) {
				return due, n
			}
		}
		entry := core.Entry{Label: fmt.Sprint("task-", i), Host: fmt.Sprint("host-", i)}
		if look(b.Apply(core.Op{Kind: core.OpEnter, At: next, Entry: entry, Node: "n", Attempt: 1})) || look(b.Apply(core.Op{Kind: core.OpAdvance, At: next})) {
			return next, n
		}
	}
	return 0, 0
}

// At a knee tasks that are not done go to hosts that are, one to each; each task goes once.
func TestMove(t *testing.T) {
	type moved struct{ task, host int }
	var got []moved
	r := &reallocation{began: time.Now(), scale: 100, done: make([]bool, 5), moved: make([]bool, 5)}
	r.copy = func(task, host int, after time.Duration) {
		got = append(got, moved{task, host})
		if after < copyLeast/100 || after > copyMost/100 {
			t.Errorf("a copy takes %v", after)
		}
	}
	for _, label := range []string{"task-4", "task-1"} {
		if r.asked(barrier.Question{Entry: barrier.Entry{Label: label}}) {
			t.Error("the barrier fires without a reason")
		}
	}
	for range 3 {
		if r.asked(barrier.Question{Knee: true, WouldRelease: true}) {
			t.Error("the barrier fires at a knee")
		}
	}
	if want := []moved{{0, 1}, {2, 4}, {3, 1}}; !slices.Equal(got, want) {
		t.Errorf("%v go elsewhere, not %v", got, want)
	}
	if r.there != 2 {
		t.Errorf("%d tasks were done at the knee", r.there)
	}
	if !r.asked(barrier.Question{Entry: barrier.Entry{Label: "task-0"}, WouldRelease: true}) {
		t.Error("the barrier does not fire when all tasks are done")
	}
}

// On real nodes all tasks are done, and at most the tasks move that were not done at 60 %. Their
// number depends on how busy the machine is.
func TestRefinement(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	nodes, leave, err := startNodes(ctx, 3)
	if err != nil {
		t.Fatal(err)
	}
	s, err := measureRefinement(ctx, nodes, 1000, "eman")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Series["tasks moved at the knee"]); n != emanHosts {
		t.Errorf("%d tasks are done", n)
	}
	if most := float64(emanHosts * (100 - emanPercent) / 100); s.Values[nMoved] > most {
		t.Errorf("%v tasks move, of %v that 60 %% leave", s.Values[nMoved], most)
	}
	if err := leave(); err != nil {
		t.Error(err)
	}
}
