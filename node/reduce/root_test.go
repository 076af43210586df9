package reduce

import (
	"testing"

	"github.com/phalanx-go/phalanx/protocol/directory"
	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

// root is a command for the root, whose target has generation n, or none.
func root(n uint64) func(*core.State) {
	return func(c *core.State) {
		c.Place, c.Root, c.Parent = 0, true, core.Peer{}
		if n > 0 {
			c.TargetGen = gen(n)
		}
	}
}

func (s *seat) announces(want *directory.Announce) {
	s.t.Helper()
	found := 0
	for _, e := range s.out {
		if a, ok := e.(Announce); ok {
			if found++; want == nil || a.Announce.Gen != want.Gen || a.Announce.Begun != want.Begun || !a.Announce.Origin || !a.Announce.Meta.Equal(large) {
				s.t.Errorf("the place announces %+v, want %+v", a.Announce, want)
			}
		}
	}
	if found == 0 && want != nil {
		s.t.Errorf("the place does not announce %+v, but %v", *want, s.out)
	}
}

// The parent reads an output as soon as that has memory. The place announces nothing.
func TestAnOutputIsShownToTheParent(t *testing.T) {
	s := newSeat(t)
	s.command("c", nil)
	s.wants(ShowOutput{}, false)
	s.step(Roomy{core.PlaceGen{Attempt: 1, Seq: 3}})
	s.wants(ShowOutput{}, false)
	s.step(Roomy{label})
	s.wants(ShowOutput{}, true)
	s.announces(nil)
	s.step(PieceMade{label})
	s.announces(nil)
}

// The root shows the target once it has memory and a generation, whichever comes first. The
// owner hears first which node makes it, and then, once, that receivers can begin.
func TestTheTargetIsShown(t *testing.T) {
	for _, early := range []bool{true, false} {
		s := newSeat(t)
		if early {
			s.command("c", root(5))
			s.step(Roomy{label})
		} else {
			s.command("c", root(0))
			s.step(Roomy{label})
			s.wants(ShowTarget{gen(5), true}, false)
			s.command("c", func(c *core.State) { root(5)(c); c.Version = 2 })
		}
		s.wants(ShowTarget{gen(5), true}, true)
		s.announces(nil)
		s.step(PieceMade{core.PlaceGen{Attempt: 1, Seq: 3}})
		s.step(Shown{gen(5)})
		s.announces(&directory.Announce{Gen: gen(5)})
		s.step(PieceMade{label})
		s.announces(&directory.Announce{Gen: gen(5), Begun: true})
		s.step(PieceMade{label})
		s.announces(nil)
		s.step(Roomy{label})
		s.wants(ShowTarget{gen(5), true}, false)
	}
}

// A root with another label starts over: it hides its target, and shows it under the next
// generation.
func TestTheTargetStartsOver(t *testing.T) {
	s := newSeat(t)
	s.command("c", root(5))
	s.step(Roomy{label})
	s.step(Shown{gen(5)})
	s.step(PieceMade{label})
	next := core.PlaceGen{Attempt: 1, Seq: 6}
	s.command("c", func(c *core.State) { root(0)(c); c.Version, c.Gen = 2, next })
	s.wants(HideTarget{}, true)
	s.step(Roomy{label}) // late
	s.step(PieceMade{label})
	s.step(Roomy{next})
	s.wants(ShowTarget{gen(5), true}, false)
	s.command("c", func(c *core.State) { root(6)(c); c.Version, c.Gen = 3, next })
	s.wants(ShowTarget{gen(6), true}, true)
	s.step(Shown{gen(6)})
	s.announces(&directory.Announce{Gen: gen(6)})
}

// Every place of a ring makes the target. The root announces its own, once it is whole.
func TestTheTargetOfARing(t *testing.T) {
	for place, is := range map[int]bool{0: true, 1: false} {
		s := newSeat(t)
		s.command("c", func(c *core.State) {
			c.Ring, c.Place, c.Root, c.TargetGen, c.Children = 2, place, is, gen(5), []core.Child{{Place: 1 - place}}
		})
		s.step(Roomy{label})
		s.wants(ShowOutput{}, true)
		s.wants(ShowTarget{gen(5), is}, true)
		s.step(Shown{gen(5)})
		s.announces(nil)
		s.step(Happened{core.OutputDone{Gen: label, Size: large.Size}})
		if is {
			s.announces(&directory.Announce{Gen: gen(5), Begun: true})
		} else {
			s.announces(nil)
		}
	}
}
