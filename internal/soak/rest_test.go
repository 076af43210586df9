package soak

import (
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx/internal/history"
)

// What only a node has that is removed may be told to be lost.
func TestHides(t *testing.T) {
	for _, c := range []struct {
		durable bool
		homes   []string
		want    bool
	}{{false, []string{"a"}, true}, {false, []string{"a", anywhere}, true}, {false, []string{"a", "b"}, false}, {true, []string{"a"}, false}} {
		o := &object{homes: map[string]bool{}}
		for _, home := range c.homes {
			o.put(home, 1, 1, c.durable)
		}
		if got := o.hides("a"); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// A reduce of which several outcomes are right has made one of them, also if nobody has
// read it.
func TestOutcomes(t *testing.T) {
	o := &object{id: "o", sums: []string{"a", "b", "c"}}
	if got := o.outcomes([]string{"a"}); got != nil {
		t.Errorf("what no such reduce has made has the outcomes %v", got)
	}
	o.made = history.Op{Object: "o"}
	for _, c := range []struct{ seen, want []string }{{nil, []string{"a"}}, {[]string{"c", "x"}, []string{"c"}}, {[]string{"b", "a"}, []string{"a", "b"}}} {
		if got := o.outcomes(c.seen); !slices.Equal(got, c.want) {
			t.Errorf("seen %v: %v, want %v", c.seen, got, c.want)
		}
	}
}
