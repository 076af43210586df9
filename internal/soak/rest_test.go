package soak

import (
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/internal/history"
)

// A reader may hear that an object is lost which only a removed node has.
func TestHides(t *testing.T) {
	for _, c := range []struct {
		durable bool
		homes   []string
		want    bool
	}{{false, []string{"a"}, true}, {false, []string{"a", anywhere}, true}, {false, []string{"a", "b"}, false}, {true, []string{"a"}, false}} {
		o := &object{homes: map[string]bool{}}
		for _, home := range c.homes {
			o.put(home, 1, 1, 1, c.durable)
		}
		if got := o.hides("a"); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// A node can be removed, with the only copy, before its process reports the success of the
// put.
func TestPutOfARemovedNode(t *testing.T) {
	for _, c := range []struct {
		name    string
		home    string
		removed bool
		begin   time.Duration
		lost    int
	}{
		{"it was removed meanwhile", "a", true, 5, 1}, {"only hung", "a", false, 5, 0}, {"it was back before", "a", true, 50, 0},
		{"another was removed", "b", true, 5, 0}, {"nobody knows where the copy is", anywhere, true, 5, 1},
	} {
		s := &soak{driving: &driving{began: time.Now(), faults: newFaults()}, ledger: &ledger{}}
		o := s.ledger.add(&object{id: "o"})
		w := s.faults.begin("a", stopped, 10)
		if c.removed {
			s.faults.remove(w)
		}
		s.faults.end(w, 20)
		s.acked(o, c.home, c.begin, 1, false)
		if got := len(s.record.take()); got != c.lost {
			t.Errorf("%s: %d losses, want %d", c.name, got, c.lost)
		}
	}
}

// A stopped node is removed, and another node puts other bytes under the id of its only copy,
// before it can tell of its removal.
func TestPutInThePlaceOfWhatIsHidden(t *testing.T) {
	for _, home := range []string{"a", "c"} {
		s := &soak{driving: &driving{began: time.Now(), faults: newFaults()}, ledger: &ledger{}}
		o := s.ledger.add(&object{id: "o"})
		s.acked(o, home, 1, 1, false)
		s.faults.begin("a", stopped, 10)
		s.acked(o, "b", 15, 1, false)
		s.removed(&process{name: "a"}, false)
		if got, want := len(s.record.take()), map[string]int{"a": 1, "c": 0}[home]; got != want {
			t.Errorf("the first copy was on %s: %d losses, want %d", home, got, want)
		}
	}
}

// A reduce with several right outcomes has made one of them, also if nobody has read it.
func TestOutcomes(t *testing.T) {
	o := &object{id: "o", sums: []string{"a", "b", "c"}}
	if got := o.outcomes([]string{"a"}); got != nil {
		t.Errorf("an object that no such reduce has made has the outcomes %v", got)
	}
	o.made = history.Op{Object: "o"}
	for _, c := range []struct{ seen, want []string }{{nil, []string{"a"}}, {[]string{"c", "x"}, []string{"c"}}, {[]string{"b", "a"}, []string{"a", "b"}}} {
		if got := o.outcomes(c.seen); !slices.Equal(got, c.want) {
			t.Errorf("seen %v: %v, want %v", c.seen, got, c.want)
		}
	}
}
