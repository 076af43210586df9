package ledger

import (
	"fmt"
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
