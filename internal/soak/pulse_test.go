package soak

import (
	"testing"
	"time"
)

func TestPulse(t *testing.T) {
	for beat, want := range map[time.Duration]time.Duration{
		pulseEvery:                              0,
		pulseEvery + tooLate:                    0,
		pulseEvery + tooLate + time.Millisecond: pulseEvery + tooLate + time.Millisecond,
		10 * time.Second:                        10 * time.Second,
	} {
		p := pulse{last: time.Minute}
		if got := p.beat(time.Minute + beat); got != want {
			t.Errorf("a beat after %v: %v, want %v", beat, got, want)
		}
		if got := p.beat(time.Minute + beat + pulseEvery); got != 0 {
			t.Errorf("the beat after that: %v", got)
		}
	}
}

// A removal by mistake is wrong, unless the node or the driver stood still then.
func TestMistakes(t *testing.T) {
	const at = time.Minute
	for name, c := range map[string]struct {
		who     string
		d, till time.Duration
		wrong   bool
	}{
		"nobody stood still": {"", 0, 0, true},
		"the driver did":     {driver, time.Second, at, false},
		"it did itself":      {"n1", time.Second, at, false},
		"another one did":    {"n2", time.Second, at, true},
		"shortly before":     {driver, time.Second, at - excuseBefore, false},
		"long before":        {driver, time.Second, at - excuseBefore - 1, true},
		"it tells later":     {"n1", time.Second, at + excuseAfter + time.Second, false},
		"long after":         {"n1", time.Second, at + excuseAfter + time.Second + 1, true},
	} {
		var s stills
		if c.d > 0 {
			s.stood(c.who, c.d, c.till)
		}
		s.mistaken("n1", at)
		if wrong := s.judge(); (len(wrong) == 1) != c.wrong {
			t.Errorf("%s: %v is wrong", name, wrong)
		}
		if again := s.judge(); len(again) > 0 {
			t.Errorf("%s: %v is judged twice", name, again)
		}
	}
}

// The result counts a removal by mistake, and the run is wrong.
func TestMistakesAreCounted(t *testing.T) {
	for _, excused := range []bool{false, true} {
		s := newSoak(t.Context(), Config{})
		s.removed(&process{name: "n1"}, false)
		if excused {
			s.stills.stood(driver, time.Second, s.clock())
		}
		s.judgeMistakes()
		if s.broken() == excused || (s.res.Mistaken == 0) != excused || s.faults.counts[mistaken] != 1 {
			t.Errorf("excused %v: %v, %d counted, %v", excused, s.wrong, s.res.Mistaken, s.faults.counts)
		}
		s.cancel()
	}
}

func TestGrown(t *testing.T) {
	was := Figures{Goroutines: 100, Descriptors: 50, Heap: 20 << 20}
	for _, c := range []struct {
		is    Figures
		grown bool
	}{
		{was, false},
		{Figures{}, false}, // nobody asked for the heap
		{Figures{Goroutines: 100 + moreGoroutines, Descriptors: 50 + moreDescriptors, Heap: 20<<20 + moreHeap}, false},
		{Figures{Goroutines: 101 + moreGoroutines}, true},
		{Figures{Descriptors: 51 + moreDescriptors}, true},
		{Figures{Heap: 20<<20 + moreHeap + 1}, heapIsApart},
	} {
		if got := grown(c.is, was); (got != "") != c.grown {
			t.Errorf("%+v after %+v: %q", c.is, was, got)
		}
	}
}

// A standstill of the machine disturbs all processes.
func TestStandstillDisturbs(t *testing.T) {
	s := newSoak(t.Context(), Config{})
	defer s.cancel()
	if s.faults.any(0, s.clock()) {
		t.Fatal("disturbed from the beginning")
	}
	s.stood("n1", time.Second)
	if now := s.clock(); !s.faults.on("n1", now, now) || s.faults.on("n2", now, now) {
		t.Error("the standstill of n1 does not disturb n1, or disturbs another process")
	}
	s.stood(driver, time.Second)
	now := s.clock()
	if !s.faults.on("n2", now, now) || s.faults.on("n2", now, now, killed) || s.faults.counts[still] != 2 {
		t.Errorf("the driver stood still, and n2 was not disturbed: %v", s.faults.counts)
	}
}
