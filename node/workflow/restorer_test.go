package workflow

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// restores is a Restorer on a cluster of a, b and c, and what it does.
type restores struct {
	t   *testing.T
	r   *Restorer
	now time.Duration
}

func restoresOf(t *testing.T) *restores {
	s := &restores{t: t, r: NewRestorer()}
	s.r.Step(0, Around{Self: "a", Nodes: []phalanx.NodeID{"a", "b", "c"}})
	return s
}

// does has an event happen, and checks the effects.
func (s *restores) does(ev RestorerEvent, want ...string) {
	s.t.Helper()
	var got []string
	for _, e := range s.r.Step(s.now, ev) {
		switch e := e.(type) {
		case AskFor:
			got = append(got, fmt.Sprint("ask ", e.To, " for ", e.Restore.Object))
		case Granted:
			got = append(got, fmt.Sprint("granted ", e.Err))
		}
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		s.t.Errorf("at %v: %q, want %q", s.now, got, want)
	}
}

// due lets time pass until the Restorer is due.
func (s *restores) due(want ...string) {
	s.t.Helper()
	at, ok := s.r.Due()
	if !ok {
		s.t.Fatal("nothing is due")
	}
	s.now = at
	s.does(Tick{}, want...)
}

func answer(from phalanx.NodeID, done bool, failed string) Answered {
	return Answered{from, Restored{Number: 1, Done: done, Failed: failed}}
}

// The members are asked one after the other, and the first that has the checkpoint puts the object.
func TestRestorerAsksOneAfterTheOther(t *testing.T) {
	s := restoresOf(t)
	s.does(Wish{Number: 1, Object: "x"}, "ask a for x")
	s.does(answer("a", false, ""), "ask b for x")
	s.does(answer("b", true, ""), "granted <nil>")
	s.does(answer("b", true, "")) // once more
	if at, ok := s.r.Due(); ok {
		t.Errorf("something is due at %v", at)
	}
}

// A member that is silent holds nothing up, and is asked again when all others were.
func TestRestorerPassesASilentMember(t *testing.T) {
	s := restoresOf(t)
	s.does(Wish{Number: 1, Object: "x"}, "ask a for x")
	s.due("ask b for x")
	s.does(answer("b", false, ""), "ask c for x")
	s.does(answer("c", false, "the disk is poisoned"))
	s.due("ask a for x")
	s.does(Around{Self: "b", Nodes: []phalanx.NodeID{"b", "c"}}, `granted workflow "x": lost: no node has it or its checkpoint any more; node c: the disk is poisoned; node a has left`)
}

// A wish that nobody waits for any more asks nobody, and members that left before they were asked are not asked.
func TestRestorerForgets(t *testing.T) {
	s := restoresOf(t)
	s.does(Wish{Number: 1, Object: "x"}, "ask a for x")
	s.does(Unwished{Number: 1})
	s.does(answer("a", false, ""))
	s.does(Wish{Number: 2, Object: "y"}, "ask a for y")
	s.does(Around{Self: "a", Nodes: []phalanx.NodeID{"a", "c"}})
	s.does(Answered{"a", Restored{Number: 2}}, "ask c for y")
	s.does(Answered{"c", Restored{Number: 2, Done: true}}, "granted <nil>")
}
