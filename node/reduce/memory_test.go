package reduce

import (
	"testing"

	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

// inner is a command for a place with a child.
func inner(c *core.State) { c.Children = []core.Child{{Order: 0, Place: 3, Node: "b", Gen: label}} }

func TestRoomOfAnOutput(t *testing.T) {
	ring := func(c *core.State) { inner(c); c.Ring = 2 }
	for _, c := range []struct {
		change func(*core.State)
		want   Room
	}{{nil, NoRoom}, {inner, AnyRoom}, {root(0), WholeRoom}, {ring, WholeRoom}} {
		s := newSeat(t)
		if s.command("c", c.change); s.p.Room() != c.want {
			t.Errorf("room %v, want %v", s.p.Room(), c.want)
		}
	}
}

// When memory is short, an inner place makes its output again in a window. An output that the
// parent has is given up, and not shown again. The target, and outputs without memory, stay.
func TestAnOutputIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*core.State)
		roomy   bool
		arrived bool // everything of the child is here
		ev      Shrink
		given   bool
		again   bool
	}{
		"large":                  {inner, true, false, Shrink{Large: true}, false, true},
		"in a window":            {inner, true, false, Shrink{}, false, false},
		"without memory":         {inner, false, false, Shrink{Large: true}, false, false},
		"delivered":              {inner, true, true, Shrink{Delivered: true, Large: true}, true, false},
		"delivered from a child": {inner, true, false, Shrink{Delivered: true, Large: true}, false, true}, // which was replaced
		"a leaf":                 {nil, true, false, Shrink{Delivered: true, Large: true}, false, false},
		"the target":             {func(s *core.State) { inner(s); root(5)(s) }, true, true, Shrink{Delivered: true, Large: true}, false, false},
	} {
		s := newSeat(t)
		s.command("c", c.change)
		if c.roomy {
			s.step(Roomy{label})
		}
		if c.arrived {
			s.step(Happened{core.EdgeEnded{Child: 3, Gen: label, Stream: 1, Complete: true}})
		}
		s.step(c.ev)
		if s.has(GiveOutput{}) != c.given || s.has(Carry{core.ResetOutput{Gen: label}}) != c.again || (s.p.Room() == SmallRoom) != c.again {
			t.Errorf("%s: %+v", name, s.out)
		}
		if c.given {
			s.step(c.ev)
			s.wants(GiveOutput{}, false)
			s.command("c", func(s *core.State) { c.change(s); s.Version, s.Parent.Node = 2, "d" })
			s.wants(ShowOutput{}, false)
		}
		if c.again {
			s.step(Roomy{label})
			s.wants(ShowOutput{}, true)
		}
	}
}
