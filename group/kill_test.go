package group_test

import (
	"slices"
	"syscall"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// Members are killed, one revokes, all who are left leave their calls, and shrink to
// the same group; while they do, others are killed.
func TestKilledMembers(t *testing.T) {
	processes := launch(t, 6)
	all(t, processes, order{Do: "form", Group: "g", Members: members(processes, 6)})
	waitIn(t, processes, "g")
	_ = processes[4].Kill() // no voter: then two may die at once
	processes[5].Tell(t, order{Do: "revoke", Group: "g"})
	left := []*process{processes[0], processes[1], processes[2], processes[3], processes[5]}
	for i, p := range left {
		kinds := p.await(t).Kinds
		if i == 4 { // its own revoke is reported, too
			kinds = append(kinds, p.await(t).Kinds...)
		}
		if !slices.Equal(kinds, []phalanx.Kind{phalanx.ErrRevoked}) {
			t.Errorf("process %d leaves its call with %v", i, kinds)
		}
	}
	for _, p := range left {
		p.Tell(t, order{Do: "shrink", Group: "g"})
	}
	_ = processes[0].Kill() // who makes the decision, perhaps when it has
	name, size := "", 0
	for i, p := range left[1:] {
		r := p.await(t)
		if name == "" {
			name, size = r.Group, r.Size
		}
		if r.Group != name || r.Size != size || size > 5 || size < 4 || r.Rank != i+size-4 {
			t.Errorf("process %d has rank %d of %s with %d members, others %s with %d", i+1, r.Rank, r.Group, r.Size, name, size)
		}
	}
	for _, r := range all(t, left[1:], order{Do: "shrink", Group: name}) {
		if r.Size != 4 || len(r.Failed) > 0 {
			t.Errorf("in the end there is %+v", r)
		}
	}
}

// The benchmark of the paper, once.
func TestPlans(t *testing.T) {
	processes := launch(t, 4)
	for _, r := range runPlans(t, processes, 3, 64<<10, "") {
		if len(r.A) < 2 || len(r.A) > 3 || len(r.B) != 3 {
			t.Errorf("%+v", r)
		}
	}
}

// runPlans has processes run plan A, which the last one revokes, and plan B.
func runPlans(t testing.TB, processes []*process, rounds, size int, run string) []report {
	t.Helper()
	for _, name := range []string{"A" + run, "B" + run} {
		all(t, processes, order{Do: "form", Group: name, Members: members(processes, len(processes))})
	}
	for i, p := range processes {
		p.Tell(t, order{Do: "plan", Group: "A" + run, B: "B" + run, Rounds: rounds, Size: size, Breaks: i == len(processes)-1})
	}
	var reports []report
	for _, p := range processes {
		reports = append(reports, p.await(t))
	}
	return reports
}

// While members revoke, agree and shrink, again and again, one is killed and one is
// stopped until it is removed. The others are told the same, all the time; the one
// that goes on again is told that it was removed.
func TestKilledAndStopped(t *testing.T) {
	processes := launch(t, 6)
	all(t, processes, order{Do: "form", Group: "g", Members: members(processes, 6)})
	for _, p := range processes {
		p.Tell(t, order{Do: "rounds", Group: "g", Rounds: 500})
	}
	all(t, processes, order{Do: "look at rounds", Rounds: 3})
	if err := syscall.Kill(processes[4].PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	_ = processes[0].Kill() // in the same round as the other one, or the next
	var told []string
	for i, p := range []*process{processes[1], processes[2], processes[3], processes[5]} {
		r := p.await(t)
		if i == 0 {
			told = r.Told
		}
		if len(r.Kinds) > 0 || !slices.Equal(r.Told, told) || r.Size != 4 {
			t.Errorf("process %d ends with %v, has %d members, and is told %d times %v; another one %d times %v", i, r.Kinds, r.Size, len(r.Told), r.Told, len(told), told)
		}
	}
	if err := syscall.Kill(processes[4].PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if r := processes[4].await(t); !slices.Equal(r.Kinds, []phalanx.Kind{phalanx.ErrFenced}) || !slices.Equal(r.Told, told[:len(r.Told)]) {
		t.Errorf("who was stopped ends with %v, and is told %v", r.Kinds, r.Told)
	}
}
