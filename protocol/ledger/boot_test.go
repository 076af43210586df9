package ledger

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"
)

// said returns the effects other than Ask.
func said(out []BootEffect) string {
	out = slices.DeleteFunc(slices.Clone(out), func(e BootEffect) bool { _, ask := e.(Ask); return ask })
	if len(out) == 0 {
		return ""
	}
	return fmt.Sprintf("%T%+v", out[0], out[0])[len("ledger."):]
}

func TestBoot(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	type step struct {
		at   time.Duration
		ev   BootEvent
		want string
	}
	heard := func(address string, in bool, n uint64) Heard {
		return Heard{Address: address, Standing: Standing{InCluster: in, Number: n}}
	}
	for name, steps := range map[string][]step{
		"the leader boots when nobody was in a cluster for 10 s": {
			{0, BootTick{}, ""}, {1 * s, Leads{}, ""}, {9 * s, heard("b", false, 3), ""}, {10*s - 1, BootTick{}, ""},
			{10 * s, BootTick{}, "RecordBoot{Record:{Number:4 Node:a Address:}}"}, {11 * s, Recorded{4}, "BootView{Number:4}"}, {12 * s, Recorded{4}, ""},
		},
		"a node that restarts alone begins no second cluster": {
			{0, BootTick{}, ""}, {100 * s, BootTick{}, ""}, {200 * s, Recorded{1}, ""},
		},
		"it joins whoever is in a cluster": {
			{0, BootTick{}, ""}, {1 * s, heard("b", true, 2), "Join{Address:b Number:2}"}, {2 * s, Lease{true, 2}, ""}, {3 * s, heard("b", true, 2), ""},
		},
		"a leader in a cluster boots nothing": {
			{0, Lease{true, 2}, ""}, {1 * s, Leads{}, ""}, {100 * s, BootTick{}, ""},
		},
		"a lease that was heard of counts for 10 s": {
			{0, Leads{}, ""}, {9 * s, heard("b", true, 1), "Join{Address:b Number:1}"}, {18 * s, BootTick{}, ""}, {19 * s, BootTick{}, "RecordBoot{Record:{Number:2 Node:a Address:}}"},
		},
		"a node that boots counts too": {
			{0, Leads{}, ""}, {9 * s, Heard{"b", Standing{Booting: true, Number: 7}}, ""}, {18 * s, BootTick{}, ""}, {19 * s, BootTick{}, "RecordBoot{Record:{Number:8 Node:a Address:}}"},
		},
		"a new leader first asks the recorded node": {
			{0, BootTick{}, ""}, {50 * s, Leads{Record{5, "b", "b:1"}}, ""}, {52*s - 1, BootTick{}, ""}, {52 * s, BootTick{}, "RecordBoot{Record:{Number:6 Node:a Address:}}"},
		},
		"the recorded node is in a cluster": {
			{0, BootTick{}, ""}, {50 * s, Leads{Record{5, "b", "b:1"}}, ""}, {51 * s, heard("b:1", true, 5), "Join{Address:b:1 Number:5}"}, {60 * s, BootTick{}, ""},
		},
		"the recorded node is this one, an incarnation before": {
			{0, BootTick{}, ""}, {50 * s, Leads{Record{5, "a", ""}}, "RecordBoot{Record:{Number:6 Node:a Address:}}"},
		},
		"a tenure that ends leaves the record open": {
			{0, BootTick{}, ""}, {50 * s, Leads{}, "RecordBoot{Record:{Number:1 Node:a Address:}}"}, {51 * s, LeadsNoMore{}, ""}, {52 * s, Recorded{1}, ""},
			{53 * s, Leads{Record{1, "a", ""}}, "RecordBoot{Record:{Number:2 Node:a Address:}}"}, {54 * s, Recorded{1}, ""}, {55 * s, Recorded{2}, "BootView{Number:2}"},
		},
		"it hears of a cluster while it records": {
			{0, BootTick{}, ""}, {50 * s, Leads{}, "RecordBoot{Record:{Number:1 Node:a Address:}}"}, {51 * s, heard("b", true, 1), "Join{Address:b Number:1}"}, {52 * s, Recorded{1}, ""},
		},
		"the survivor of a dead view": {
			{0, Lease{true, 2}, ""}, {1 * s, Lease{false, 2}, ""}, {2 * s, heard("b", true, 2), "Join{Address:b Number:2}"},
			{3 * s, heard("b", true, 3), "EndIncarnation{Address:b Number:3}"}, {4 * s, heard("b", true, 4), ""},
		},
		"a node in a view that most disks have given up": {
			{0, Lease{true, 2}, ""}, {1 * s, heard("b", true, 1), ""}, {2 * s, heard("b", false, 3), ""}, {3 * s, heard("b", true, 3), "EndIncarnation{Address:b Number:3}"},
		},
		"the survivor leads the ledger": {
			{0, Lease{true, 2}, ""}, {1 * s, Leads{Record{2, "b", "b:1"}}, ""}, {2 * s, Lease{false, 2}, ""}, {12*s - 1, BootTick{}, ""},
			{12 * s, BootTick{}, "RecordBoot{Record:{Number:3 Node:a Address:}}"}, {13 * s, Recorded{3}, "BootView{Number:3}"}, {14 * s, heard("b", true, 9), ""},
		},
		"another one boots a later view": {
			{0, BootTick{}, ""}, {50 * s, Leads{}, "RecordBoot{Record:{Number:1 Node:a Address:}}"}, {51 * s, Recorded{1}, "BootView{Number:1}"},
			{52 * s, heard("b", true, 1), ""}, {53 * s, heard("b", true, 2), "EndIncarnation{Address:b Number:2}"},
		},
		"the leader is in a view that the disks have given up": {
			{0, Lease{true, 4}, ""}, {1 * s, Leads{Record{5, "b", "b:1"}}, ""}, {5 * s, heard("c", true, 4), ""}, {6 * s, Lease{true, 4}, ""}, {11*s - 1, BootTick{}, ""},
			{11 * s, BootTick{}, "RecordBoot{Record:{Number:6 Node:a Address:}}"}, {11 * s, Lease{true, 4}, ""}, {12 * s, Recorded{6}, "BootView{Number:6}"},
		},
		"the view that it booted has died, and an earlier one lives": {
			{0, BootTick{}, ""}, {10 * s, Leads{Record{3, "b", "b:1"}}, ""}, {12 * s, BootTick{}, "RecordBoot{Record:{Number:4 Node:a Address:}}"}, {12 * s, Recorded{4}, "BootView{Number:4}"},
			{13 * s, Lease{true, 4}, ""}, {20 * s, Lease{false, 4}, ""}, {25 * s, heard("c", true, 3), ""}, {30*s - 1, BootTick{}, ""},
			{30 * s, BootTick{}, "RecordBoot{Record:{Number:5 Node:a Address:}}"},
		},
		"its next tenure begins while it boots": {
			{0, BootTick{}, ""}, {10 * s, Leads{}, "RecordBoot{Record:{Number:1 Node:a Address:}}"}, {10 * s, Recorded{1}, "BootView{Number:1}"}, {11 * s, LeadsNoMore{}, ""},
			{12 * s, Leads{Record{1, "a", ""}}, ""}, {15 * s, Lease{true, 1}, ""}, {16 * s, Lease{false, 1}, ""}, {26 * s, BootTick{}, "RecordBoot{Record:{Number:2 Node:a Address:}}"},
		},
		"one is quiet, and then boots": {
			{0, BootTick{}, ""}, {0, Leads{}, ""}, {500 * ms, NotListening{"b"}, ""}, {500 * ms, heard("c", false, 0), ""}, {900 * ms, Heard{"c", Standing{Booting: true, Number: 1}}, ""},
			{1000 * ms, NotListening{"b"}, ""}, {1500 * ms, NotListening{"b"}, ""}, {1501 * ms, BootTick{}, ""},
		},
		"the leader is in such a view and hears of the recorded one": {
			{0, Lease{true, 4}, ""}, {1 * s, Leads{Record{5, "b", "b:1"}}, ""}, {2 * s, heard("b:1", true, 5), "EndIncarnation{Address:b:1 Number:5}"},
		},
		"the recorded view is booting": {
			{0, Lease{true, 4}, ""}, {1 * s, Leads{Record{5, "b", "b:1"}}, ""}, {9 * s, Heard{"b:1", Standing{Booting: true, Number: 5}}, ""}, {11 * s, BootTick{}, ""},
			{19 * s, BootTick{}, "RecordBoot{Record:{Number:6 Node:a Address:}}"},
		},
		"nobody joins a view that is known to be given up": {
			{0, BootTick{}, ""}, {0, Leads{Record{5, "a", ""}}, ""}, {9 * s, heard("c", true, 4), ""}, {10 * s, BootTick{}, "RecordBoot{Record:{Number:6 Node:a Address:}}"},
		},
		"all addresses are quiet": {
			{0, BootTick{}, ""}, {0, Leads{}, ""}, {100 * ms, heard("b", false, 0), ""}, {200 * ms, NotListening{"c"}, ""}, {600 * ms, NotListening{"c"}, ""},
			{700 * ms, heard("b", false, 0), ""}, {1200*ms - 1, BootTick{}, ""}, {1200 * ms, BootTick{}, "RecordBoot{Record:{Number:1 Node:a Address:}}"},
		},
		"one that is silent is not": {
			{0, BootTick{}, ""}, {0, Leads{}, ""}, {100 * ms, NotListening{"c"}, ""}, {1000 * ms, NotListening{"c"}, ""}, {2000 * ms, NotListening{"c"}, ""},
			{2100 * ms, BootTick{}, ""}, {10*s - 1, NotListening{"c"}, ""}, {10 * s, BootTick{}, "RecordBoot{Record:{Number:1 Node:a Address:}}"},
		},
		"nor is one that has become silent": {
			{0, BootTick{}, ""}, {0, Leads{}, ""}, {100 * ms, NotListening{"b"}, ""}, {100 * ms, NotListening{"c"}, ""}, {1000 * ms, NotListening{"c"}, ""},
			{1101 * ms, BootTick{}, ""}, {1200 * ms, NotListening{"b"}, ""}, {2000 * ms, NotListening{"c"}, ""}, {2200*ms - 1, BootTick{}, ""},
			{2200 * ms, NotListening{"b"}, "RecordBoot{Record:{Number:1 Node:a Address:}}"},
		},
		"nor is one that joins": {
			{0, BootTick{}, ""}, {0, Leads{}, ""}, {100 * ms, NotListening{"b"}, ""}, {900 * ms, Heard{"c", Standing{Joining: true}}, ""},
			{1000 * ms, NotListening{"b"}, ""}, {2000 * ms, NotListening{"b"}, ""}, {2000 * ms, Heard{"c", Standing{Joining: true}}, ""},
		},
		"nor is one that was in a view": {
			{0, BootTick{}, ""}, {0, Leads{}, ""}, {900 * ms, NotListening{"b"}, ""}, {900 * ms, heard("c", false, 3), ""}, {1900 * ms, heard("c", false, 3), ""},
			{1900 * ms, NotListening{"b"}, ""}, {2900 * ms, heard("c", false, 3), ""},
		},
		"a node that was in a view itself waits": {
			{0, Lease{true, 2}, ""}, {1 * s, Leads{Record{2, "a", ""}}, ""}, {2 * s, Lease{false, 2}, ""}, {3 * s, NotListening{"b"}, ""}, {3 * s, NotListening{"c"}, ""},
			{4 * s, NotListening{"b"}, ""}, {4 * s, NotListening{"c"}, ""}, {5 * s, BootTick{}, ""},
		},
		"unless that view is lost": {
			{0, BootTick{}, ""}, {0, Leads{}, ""}, {100 * ms, NotListening{"b"}, ""}, {100 * ms, heard("c", false, 3), ""}, {900 * ms, NotListening{"b"}, ""},
			{900 * ms, Heard{"c", Standing{Number: 3, Lost: true}}, ""}, {1700 * ms, NotListening{"b"}, ""}, {1700 * ms, Heard{"c", Standing{Number: 3, Lost: true}}, ""},
			{1900*ms - 1, BootTick{}, ""}, {1900 * ms, BootTick{}, "RecordBoot{Record:{Number:4 Node:a Address:}}"},
		},
		"its own view is lost": {
			{0, Lease{true, 2}, ""}, {1 * s, Leads{Record{2, "a", ""}}, ""}, {2 * s, Lease{false, 2}, ""}, {3 * s, NotListening{"b"}, ""}, {3 * s, Heard{"c", Standing{Joining: true, Number: 2}}, ""},
			{3 * s, ViewLost{}, ""}, {3500 * ms, NotListening{"b"}, ""}, {3500 * ms, heard("c", false, 2), ""}, {4500*ms - 1, NotListening{"b"}, ""}, {4500*ms - 1, heard("c", false, 2), ""},
			{4500 * ms, BootTick{}, "RecordBoot{Record:{Number:3 Node:a Address:}}"}, {5 * s, Recorded{3}, "BootView{Number:3}"},
		},
		"it seemed to be lost": {
			{0, Lease{true, 2}, ""}, {1 * s, Leads{Record{2, "a", ""}}, ""}, {2 * s, Lease{false, 2}, ""}, {3 * s, NotListening{"b"}, ""}, {3 * s, ViewLost{}, ""}, {3 * s, heard("c", false, 2), ""},
			{3900 * ms, NotListening{"b"}, ""}, {3900 * ms, heard("c", true, 2), "Join{Address:c Number:2}"}, {4 * s, heard("c", false, 2), ""}, {5 * s, NotListening{"b"}, ""}, {5 * s, heard("c", false, 2), ""},
			{6 * s, NotListening{"b"}, ""}, {6 * s, heard("c", false, 2), ""}, {6100 * ms, Lease{true, 2}, ""},
		},
		"its own view has had a lease since": {
			{0, Lease{true, 2}, ""}, {1 * s, Leads{Record{2, "a", ""}}, ""}, {2 * s, Lease{false, 2}, ""}, {3 * s, NotListening{"b"}, ""}, {3 * s, ViewLost{}, ""}, {3500 * ms, Lease{true, 2}, ""},
			{4 * s, Lease{false, 2}, ""}, {5 * s, NotListening{"b"}, ""}, {5 * s, NotListening{"c"}, ""}, {6 * s, NotListening{"b"}, ""}, {6 * s, NotListening{"c"}, ""}, {6500 * ms, BootTick{}, ""},
		},
		"a member hears that its view is lost while it holds a lease of it": {
			{0, Lease{true, 2}, ""}, {1 * s, Leads{Record{2, "a", ""}}, ""}, {2 * s, Heard{"d", Standing{Number: 2, Lost: true}}, ""}, {60 * s, Lease{false, 2}, ""}, {60 * s, heard("b", false, 2), ""},
			{60 * s, heard("c", false, 2), ""}, {60900 * ms, heard("b", false, 2), ""}, {60900 * ms, heard("c", false, 2), ""}, {61500 * ms, heard("b", false, 2), ""}, {61500 * ms, heard("c", false, 2), ""},
			{62 * s, Lease{true, 2}, ""},
		},
		"a voter that seemed to have ended has not": {
			{0, Lease{true, 2}, ""}, {1 * s, Leads{Record{2, "a", ""}}, ""}, {2 * s, Lease{false, 2}, ""}, {3 * s, NotListening{"b"}, ""}, {3 * s, NotListening{"c"}, ""}, {3 * s, ViewLost{}, ""},
			{3500 * ms, heard("b", false, 2), ""}, {3500 * ms, heard("c", false, 2), ""}, {4500 * ms, heard("b", false, 2), ""}, {4500 * ms, heard("c", false, 2), ""}, {5 * s, BootTick{}, ""}, {6 * s, Lease{true, 2}, ""},
		},
		"its own view is lost once all are quiet": {
			{0, Lease{true, 2}, ""}, {1 * s, Leads{Record{2, "a", ""}}, ""}, {2 * s, Lease{false, 2}, ""}, {3 * s, NotListening{"b"}, ""}, {3 * s, NotListening{"c"}, ""}, {3900 * ms, NotListening{"b"}, ""},
			{3900 * ms, NotListening{"c"}, ""}, {3900 * ms, ViewLost{}, ""}, {4800 * ms, NotListening{"b"}, ""}, {4800 * ms, NotListening{"c"}, ""}, {4900*ms - 1, BootTick{}, ""},
			{4900 * ms, BootTick{}, "RecordBoot{Record:{Number:3 Node:a Address:}}"},
		},
		"another one says that the view of a third is lost": { // which may be in a later view of that number
			{0, BootTick{}, ""}, {0, Leads{}, ""}, {100 * ms, Heard{"b", Standing{Number: 3, Lost: true}}, ""}, {100 * ms, heard("c", false, 3), ""}, {900 * ms, Heard{"b", Standing{Number: 3, Lost: true}}, ""},
			{900 * ms, heard("c", false, 3), ""}, {1700 * ms, Heard{"b", Standing{Number: 3, Lost: true}}, ""}, {1700 * ms, heard("c", false, 3), ""}, {2500 * ms, BootTick{}, ""},
		},
		"the recorded node is quiet, too": {
			{0, BootTick{}, ""}, {0, NotListening{"b"}, ""}, {0, NotListening{"c"}, ""}, {0, Leads{Record{5, "d", "d"}}, ""}, {1 * s, NotListening{"b"}, ""},
			{1 * s, NotListening{"c"}, ""}, {1 * s, NotListening{"d"}, ""}, {1900 * ms, NotListening{"b"}, ""}, {1900 * ms, NotListening{"c"}, ""},
			{2 * s, NotListening{"d"}, "RecordBoot{Record:{Number:6 Node:a Address:}}"},
		},
		"the recorded node has no address": {
			{0, BootTick{}, ""}, {0, NotListening{"b"}, ""}, {0, NotListening{"c"}, ""}, {0, Leads{Record{5, "d", ""}}, ""}, {1 * s, NotListening{"b"}, ""},
			{1 * s, NotListening{"c"}, ""}, {2*s - 1, BootTick{}, ""}, {2 * s, BootTick{}, "RecordBoot{Record:{Number:6 Node:a Address:}}"},
		},
		"others that are quiet say nothing": {
			{0, BootTick{}, ""}, {0, Leads{}, ""}, {1 * s, NotListening{"x"}, ""}, {2 * s, NotListening{"y"}, ""}, {3 * s, NotListening{"x"}, ""},
		},
	} {
		b := NewBoot(BootConfig{Node: "a", Addresses: []string{"b", "c"}})
		for i, st := range steps {
			if got := said(b.Step(st.at, st.ev)); got != st.want {
				t.Errorf("%s: step %d, %+v: %q, want %q", name, i+1, st.ev, got, st.want)
				break
			}
		}
	}
}

func TestBootAsks(t *testing.T) {
	b := NewBoot(BootConfig{Node: "a", Addresses: []string{"b", "c"}})
	asks := func(now time.Duration, ev BootEvent) (n int) {
		for _, e := range b.Step(now, ev) {
			if _, ok := e.(Ask); ok {
				n++
			}
		}
		return n
	}
	if due, ok := b.Due(); !ok || due != 0 {
		t.Errorf("due at %v at first", due)
	}
	for i, c := range []struct {
		at   time.Duration
		ev   BootEvent
		want int
	}{
		{time.Second, BootTick{}, 2}, {1400 * time.Millisecond, BootTick{}, 0}, {1500 * time.Millisecond, BootTick{}, 2},
		{1600 * time.Millisecond, Leads{Record{1, "d", "d"}}, 0}, {2 * time.Second, BootTick{}, 3}, // the recorded one too
		{2100 * time.Millisecond, Lease{true, 1}, 0}, {6900 * time.Millisecond, BootTick{}, 0}, {7 * time.Second, BootTick{}, 3},
	} {
		if got := asks(c.at, c.ev); got != c.want {
			t.Errorf("step %d asks %d, want %d", i+1, got, c.want)
		}
		if due, ok := b.Due(); !ok || due <= c.at {
			t.Errorf("after step %d it is due at %v", i+1, due)
		}
	}
	many := make([]string, 1000)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	if b := NewBoot(BootConfig{Addresses: many}); len(b.Step(0, BootTick{})) != maxAddresses {
		t.Error("it asks too many")
	}
	b = NewBoot(BootConfig{Addresses: []string{"a"}})
	if b.Step(0, Known{Addresses: []string{"b", "a"}}); len(b.Step(time.Second, BootTick{})) != 2 {
		t.Error("it does not ask the members that it had")
	}
}

// A node that has heard of a cluster says that it joins it, for as long as it may take.
func TestBootJoining(t *testing.T) {
	b := NewBoot(BootConfig{Node: "a", Addresses: []string{"b"}})
	b.Step(0, Heard{"b", Standing{InCluster: true, Number: 1}})
	if got := b.Standing(); got != (Standing{Joining: true}) {
		t.Errorf("%+v", got)
	}
	b.Step(10*time.Second, BootTick{})
	if got := b.Standing(); got != (Standing{}) {
		t.Errorf("after 10 s: %+v", got)
	}
	b.Step(11*time.Second, Heard{"b", Standing{InCluster: true, Number: 1}})
	b.Step(12*time.Second, Heard{"b", Standing{Number: 1, Lost: true}})
	if got := b.Standing(); got != (Standing{}) {
		t.Errorf("of a cluster that is lost: %+v", got)
	}
}

// The process that was at an address has ended if another one answers, which was in no view, or none listens.
func TestBootEndedProcesses(t *testing.T) {
	for name, c := range map[string]struct {
		ev   BootEvent
		want bool
	}{
		"none listens":                     {NotListening{"b"}, true},
		"one that was in no view":          {Heard{"b", Standing{}}, true},
		"one that joins its first":         {Heard{"b", Standing{Joining: true}}, true},
		"one that was in a view":           {Heard{"b", Standing{Number: 2}}, false},
		"one whose view is lost":           {Heard{"b", Standing{Number: 2, Lost: true}}, false},
		"one that is in its first":         {Heard{"b", Standing{InCluster: true}}, false},
		"an address that nobody has asked": {NotListening{"x"}, false},
	} {
		b := NewBoot(BootConfig{Node: "a", Addresses: []string{"b"}})
		b.Step(10*time.Second, c.ev)
		if got := b.Ended("b") || b.Ended("x"); got != c.want {
			t.Errorf("%s: ended is %v", name, got)
		}
		if b.Step(11001*time.Millisecond, BootTick{}); b.Ended("b") {
			t.Errorf("%s: an old answer counts", name)
		}
	}
	b := NewBoot(BootConfig{Node: "a", Addresses: []string{"b"}})
	b.Step(10*time.Second, NotListening{"b"})
	if b.Step(10*time.Second, Heard{"b", Standing{Number: 2}}); b.Ended("b") {
		t.Error("a process that answers again has ended")
	}
}

// A node does not ask all of too many addresses, so that it cannot know that all are quiet.
func TestBootQuietOfTooManyAddresses(t *testing.T) {
	for n, want := range map[int]bool{0: true, maxAddresses: true, maxAddresses + 1: false} {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprint(i))
		}
		b := NewBoot(BootConfig{Node: "a", Addresses: all})
		b.Step(0, Leads{})
		for _, a := range all {
			b.Step(500*time.Millisecond, NotListening{a})
		}
		boots := false
		for _, a := range append(all, "other") {
			boots = boots || said(b.Step(1500*time.Millisecond, NotListening{a})) != ""
		}
		if boots != want {
			t.Errorf("with %d addresses it boots: %v", n, boots)
		}
	}
}

// A node that holds a lease says nothing of a later view's loss.
func TestALeaseIsNotLost(t *testing.T) {
	b := NewBoot(BootConfig{Node: "a", Addresses: []string{"b"}})
	b.Step(0, Lease{true, 2})
	b.Step(time.Second, Heard{"b", Standing{Number: 3, Lost: true}})
	if s := b.Standing(); s.Lost || !s.InCluster {
		t.Errorf("it says %+v", s)
	}
}

// After a restart of everything the view is booted within 2 s: the leader's election takes one of it. A
// host that is away keeps the others waiting for 10 s, and a process that is not there does not.
func TestBootTakesTwoSeconds(t *testing.T) {
	for name, c := range map[string]struct {
		away     func(w *bootWorld)
		from, to time.Duration
	}{
		"all are back":      {func(*bootWorld) {}, time.Second, 2 * time.Second},
		"a process is not":  {func(w *bootWorld) { w.nodes[2].up, w.nodes[4].up = false, false }, time.Second, 2 * time.Second},
		"a host is not":     {func(w *bootWorld) { w.nodes[4].up, w.nodes[4].off = false, true }, 10 * time.Second, 11 * time.Second},
		"a process is hung": {func(w *bootWorld) { w.cut[[2]int{4, 0}], w.cut[[2]int{4, 1}], w.cut[[2]int{4, 2}] = true, true, true }, 10 * time.Second, 11 * time.Second},
		"a host is 1 s late": {func(w *bootWorld) {
			w.nodes[3].up, w.nodes[3].off = false, true
			w.run(time.Second)
			w.nodes[3].up, w.nodes[3].off = true, false
		}, 2 * time.Second, 3 * time.Second},
	} {
		for seed := int64(1); seed <= 30; seed++ {
			w := newBootWorld(t, seed)
			w.record = Record{Number: 1, Node: "1", Address: "1"}
			w.electAt = time.Second
			c.away(w)
			for w.run(100 * time.Millisecond); w.record.Number == 1 && w.now < time.Minute; w.run(100 * time.Millisecond) {
			}
			if w.now < c.from || w.now > c.to+200*time.Millisecond {
				t.Errorf("%s: seed %d: the view is booted after %v", name, seed, w.now)
			}
		}
	}
}

// TestBootFaults has five nodes, three of which have disks, die and restart, and their links fail.
// A model of the ledger has one leader at a time while two disks live; a model of views has a lease
// while most members live. Answers take up to 600 ms. Each number is booted once, by the recorded node, and none
// while the node that records it could hear for 2 s of another that has a lease. In the end all are in one view,
// which has the greatest number.
func TestBootFaults(t *testing.T) {
	views, early, lost := 0, 0, 0
	for seed := int64(1); seed <= bootSeeds; seed++ {
		w := newBootWorld(t, seed)
		for range 12 {
			w.act()
			w.run(time.Duration(w.rng.Intn(20000)) * time.Millisecond)
		}
		for _, n := range w.nodes {
			n.up, n.off = true, false
		}
		clear(w.cut)
		w.healed = true
		w.run(60 * time.Second)
		w.quiet()
		views, early, lost = views+len(w.booted), early+w.early, lost+w.lost
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if views < 7*bootSeeds/3 || early < bootSeeds/2 || lost < bootSeeds/3 {
		t.Errorf("only %d views were booted, %d of them early; %d were lost", views, early, lost)
	}
}

type bootWorld struct {
	t       *testing.T
	rng     *rand.Rand
	now     time.Duration
	nodes   []*bootNode
	cut     map[[2]int]bool
	healed  bool          // no more faults
	electAt time.Duration // nobody leads before
	record  Record        // the ledger
	leader  int           // -1: none
	said    []bootSaid
	lost    int // how often a node knew that its view is
	early   int // records that came within 10 s of the start of the node
	booted  map[uint64]string
	views   map[uint64]map[*bootNode]int // number → the members, with their incarnations
}

type bootNode struct {
	*Boot
	at   int
	up   bool
	off  bool // its host is off, so that it does not even refuse connections
	life int
	view uint64
	held bool
	lost uint64 // the view of which it was told that it is lost

	heldSince time.Duration
	heard     [5]time.Duration // since when it could hear of each other node; 0: it cannot
}

// bootSaid is an answer on its way.
type bootSaid struct {
	to   *bootNode
	life int
	at   time.Duration
	ev   BootEvent
}

// bootSeeds is how many worlds TestBootFaults has. 30,000 were run once.
const bootSeeds = 300

func newBootWorld(t *testing.T, seed int64) *bootWorld {
	w := &bootWorld{t: t, rng: rand.New(rand.NewSource(seed)), cut: map[[2]int]bool{}, leader: -1, booted: map[uint64]string{}, views: map[uint64]map[*bootNode]int{}}
	for i := range 5 {
		n := &bootNode{at: i, up: true}
		w.nodes = append(w.nodes, n)
		w.restart(n)
	}
	return w
}

func (w *bootWorld) restart(n *bootNode) {
	var others []string
	for i := range 5 {
		if i != n.at {
			others = append(others, fmt.Sprint(i))
		}
	}
	n.Boot = NewBoot(BootConfig{Node: fmt.Sprint(n.at), Addresses: others})
	n.life++
	n.view, n.held, n.lost, n.heard = 0, false, 0, [5]time.Duration{}
	if w.leader == n.at {
		w.leader = -1
	}
}

func (w *bootWorld) act() {
	n := w.nodes[w.rng.Intn(5)]
	switch w.rng.Intn(6) {
	case 0, 1:
		n.up = !n.up
		n.off = !n.up && w.rng.Intn(3) == 0
		w.restart(n)
	case 2: // all
		for _, n := range w.nodes {
			n.up = w.rng.Intn(4) > 0
			n.off = !n.up && w.rng.Intn(3) == 0
			w.restart(n)
		}
	case 3:
		for i := range 5 {
			w.cut[[2]int{n.at, i}], w.cut[[2]int{i, n.at}] = true, true
		}
	case 4:
		clear(w.cut)
	case 5:
		w.depose()
	}
}

func (w *bootWorld) linked(a, b int) bool { return w.nodes[b].up && !w.cut[[2]int{a, b}] }

func (w *bootWorld) depose() {
	if w.leader >= 0 {
		old := w.nodes[w.leader]
		w.leader = -1
		w.step(old, LeadsNoMore{})
	}
}

// run lets the nodes tick ten times a second.
func (w *bootWorld) run(d time.Duration) {
	for end := w.now + d; w.now < end; w.now += 100 * time.Millisecond {
		w.elect()
		w.leases()
		w.lose()
		w.hear()
		for _, n := range w.nodes {
			if due, ok := n.Due(); n.up && ok && due <= w.now {
				w.step(n, BootTick{})
			}
		}
	}
}

// hear brings the answers that arrive now, and notes which nodes could hear of each other.
func (w *bootWorld) hear() {
	said := w.said
	w.said = nil
	for _, a := range said {
		switch {
		case a.at > w.now:
			w.said = append(w.said, a)
		case a.to.up && a.to.life == a.life:
			w.step(a.to, a.ev)
		}
	}
	for _, n := range w.nodes {
		for i := range n.heard {
			if both := n.up && w.linked(n.at, i) && w.linked(i, n.at); !both {
				n.heard[i] = 0
			} else if n.heard[i] == 0 {
				n.heard[i] = w.now
			}
		}
	}
}

// elect keeps a leader on one of the three disks that two of them reach.
func (w *bootWorld) elect() {
	serves := func(i int) bool {
		disks := 0
		for d := range 3 {
			if w.nodes[i].up && (d == i || w.linked(i, d) && w.linked(d, i)) {
				disks++
			}
		}
		return disks >= 2
	}
	if w.leader >= 0 && !serves(w.leader) {
		w.depose()
	}
	if i := w.rng.Intn(3); w.leader < 0 && serves(i) && w.now >= w.electAt {
		w.leader = i
		w.step(w.nodes[i], Leads{Record: w.record})
	}
}

// leases gives one to each member of a view that reaches most of its members.
func (w *bootWorld) leases() {
	for _, n := range w.nodes {
		reach := 0
		for o, life := range w.views[n.view] {
			if o.life == life && o.view == n.view && (o == n || w.linked(n.at, o.at) && w.linked(o.at, n.at)) {
				reach++
			}
		}
		if held := n.up && n.view > 0 && 2*reach > len(w.views[n.view]); held != n.held {
			n.held, n.heldSince = held, w.now
			if n.up {
				w.step(n, Lease{Held: held, Number: n.view})
			}
		}
	}
}

// lose tells nodes without a lease that the processes of so many members of their views have ended that the others are no majority.
func (w *bootWorld) lose() {
	for _, n := range w.nodes {
		members := w.views[n.view]
		live := len(members)
		for m := range members {
			if m != n && n.Ended(fmt.Sprint(m.at)) {
				live--
			}
		}
		if n.up && n.view > 0 && !n.held && 2*live <= len(members) {
			if n.view > n.lost {
				n.lost = n.view
				w.lost++
			}
			w.step(n, ViewLost{})
		}
	}
}

func (w *bootWorld) step(n *bootNode, ev BootEvent) {
	for _, e := range n.Step(w.now, ev) {
		switch e := e.(type) {
		case Ask:
			var at int
			if _, err := fmt.Sscan(e.Address, &at); err != nil {
				w.t.Fatal(err)
			}
			o, takes := w.nodes[at], time.Duration(w.rng.Intn(600))*time.Millisecond
			answer := bootSaid{to: n, life: n.life, at: w.now + takes}
			switch there, back := !w.cut[[2]int{n.at, at}], !w.cut[[2]int{at, n.at}]; {
			case !n.up || !there || !back || o.off: // it waits in vain
				continue
			case o.up:
				answer.ev = Heard{Address: e.Address, Standing: o.Standing()}
			default:
				answer.ev = NotListening(e)
			}
			w.said = append(w.said, answer)
		case Join:
			w.join(n, e.Address, e.Number)
		case EndIncarnation:
			if e.Number <= n.view {
				w.t.Errorf("node %d leaves view %d for %d", n.at, n.view, e.Number)
			}
			w.restart(n)
			return
		case RecordBoot:
			if w.leader != n.at || e.Record.Number <= w.record.Number {
				w.t.Errorf("node %d records %+v, the leader is %d, recorded is %+v", n.at, e.Record, w.leader, w.record)
			}
			for _, o := range w.nodes {
				const long = 2 * time.Second
				if o.held && o.view >= w.record.Number && w.now-o.heldSince >= long && n.heard[o.at] > 0 && w.now-n.heard[o.at] >= long {
					w.t.Errorf("node %d records %+v, and could hear of node %d, which has a lease", n.at, e.Record, o.at)
				}
			}
			if w.now-n.woke < 10*time.Second {
				w.early++
			}
			w.record = Record{Number: e.Record.Number, Node: e.Record.Node, Address: e.Record.Node}
			if w.healed || w.rng.Intn(3) > 0 {
				w.step(n, Recorded{Number: e.Record.Number})
			} else { // its tenure ends before it hears of it
				w.depose()
			}
		case BootView:
			if was, ok := w.booted[e.Number]; ok {
				w.t.Errorf("view %d is booted by %s and by %d", e.Number, was, n.at)
			}
			if w.record.Number != e.Number || w.record.Node != fmt.Sprint(n.at) {
				w.t.Errorf("node %d boots view %d, recorded is %+v", n.at, e.Number, w.record)
			}
			w.booted[e.Number] = fmt.Sprint(n.at)
			if n.view > 0 {
				w.restart(n)
			}
			n.view = e.Number
			w.views[n.view] = map[*bootNode]int{n: n.life}
			return
		}
	}
}

// join adds n to a view whose member has a lease, in the place of its earlier incarnation, unless it was in a view. If it
// joins another one already, of which it has got no lease, it turns to this one.
func (w *bootWorld) join(n *bootNode, address string, number uint64) {
	for _, o := range w.nodes {
		if fmt.Sprint(o.at) == address && o.held && o.view == number && (n.view == 0 || n.own == 0 && n.view != number) {
			for m, life := range w.views[number] { // the view removes those that are gone
				if m.life != life || m.view != number || !m.up {
					delete(w.views[number], m)
				}
			}
			n.view = number
			w.views[number][n] = n.life
		}
	}
}

func (w *bootWorld) quiet() {
	top := uint64(0)
	for n := range w.booted {
		top = max(top, n)
	}
	for _, n := range w.nodes {
		if n.view != top || !n.held {
			w.t.Errorf("node %d is in view %d, with a lease: %v; the last that was booted is %d", n.at, n.view, n.held, top)
		}
	}
}
