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
		case SendCopy:
			got = append(got, fmt.Sprint("copy ", e.Copy.Object, " to ", e.To))
		case Granted:
			got = append(got, fmt.Sprint("granted ", e.Err))
			if e.Gone {
				got = append(got, "gone")
			}
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

// A checkpoint is gone once each disk that was named has said that it has lost it, whatever others say, and the members have been the
// same for a while: a Copier may have made a copy on a disk that is not named.
func TestRestorerFindsOutThatACheckpointIsGone(t *testing.T) {
	s := restoresOf(t)
	lost := func(from phalanx.NodeID, disk string) Answered {
		return Answered{from, Restored{Number: 1, Disk: disk, Lost: true}}
	}
	s.now = time.Second
	s.does(Wish{Number: 1, Object: "x", Disks: []string{"da", "db"}}, "ask a for x")
	s.does(lost("a", "da"), "ask b for x")
	s.does(lost("b", "db"), "ask c for x")
	s.does(lost("c", "dc"))
	s.does(Around{Self: "a", Nodes: []phalanx.NodeID{"a", "c"}})
	for s.now < time.Second+strayMost {
		s.due("ask a for x")
		s.does(lost("a", "da"), "ask c for x")
		if s.now < time.Second+strayMost {
			s.does(lost("c", "dc"))
		}
	}
	s.does(lost("c", "dc"), `granted workflow "x": lost: no node has it or its checkpoint any more`, "gone")
}

// A node that comes and goes all the time does not keep a checkpoint that is gone from being made again for ever, nor do views of the same members.
func TestRestorerWithMembersThatChange(t *testing.T) {
	for _, changes := range []bool{false, true} {
		s := restoresOf(t)
		s.r.Step(0, Wish{Number: 1, Object: "x", Disks: []string{"da"}})
		gone := false
		for ; !gone && s.now < 2*awayMost; s.now += time.Second {
			nodes := []phalanx.NodeID{"a", "b", "c"}
			if s.now/(5*time.Second)%2 == 1 && changes {
				nodes = nodes[:2]
			}
			out := s.r.Step(s.now, Around{Self: "a", Nodes: nodes})
			for len(out) > 0 && !gone {
				switch e := out[0].(type) {
				case AskFor:
					out = append(out, s.r.Step(s.now, Answered{e.To, Restored{Number: 1, Disk: "d" + string(e.To), Lost: true}})...)
				case Granted:
					gone = e.Gone
				}
				out = out[1:]
			}
		}
		if most := map[bool]time.Duration{false: strayMost, true: awayMost}[changes] + 10*time.Second; !gone || s.now > most {
			t.Errorf("with members that change (%v) it is gone (%v) after %v", changes, gone, s.now)
		}
	}
}

// A disk that is not named may come with a copy.
func TestRestorerFindsACopyOnAnotherDisk(t *testing.T) {
	s := restoresOf(t)
	s.does(Around{Self: "a", Nodes: []phalanx.NodeID{"a"}})
	s.does(Wish{Number: 1, Object: "x", Disks: []string{"da"}}, "ask a for x")
	s.does(Answered{"a", Restored{Number: 1, Disk: "da", Lost: true}})
	s.does(Around{Self: "a", Nodes: []phalanx.NodeID{"a", "b"}}, "ask b for x")
	s.does(Answered{"b", Restored{Number: 1, Disk: "db", Done: true}}, "copy x to a", "granted <nil>")
}

// A disk whose node is away, or that fails otherwise, may come back with the checkpoint: for as long as the ledger does not
// replace it.
func TestRestorerWaitsForADisk(t *testing.T) {
	for _, back := range []bool{true, false} {
		s := restoresOf(t)
		s.does(Wish{Number: 1, Object: "x", Size: 7, Disks: []string{"da", "dd"}}, "ask a for x")
		s.does(Answered{"a", Restored{Number: 1, Disk: "da", Lost: true}}, "ask b for x")
		s.does(answer("b", false, ""), "ask c for x")
		s.does(Answered{"c", Restored{Number: 1, Disk: "dc", Lost: true}}) // it was not named
		if back {
			s.does(Around{Self: "a", Nodes: []phalanx.NodeID{"a", "b", "c", "d"}}, "ask d for x")
			s.does(Answered{"d", Restored{Number: 1, Disk: "dd", Done: true}}, "copy x to a", "granted <nil>") // a has lost its copy
			continue
		}
		asked := 0
		for s.now < awayMost {
			at, ok := s.r.Due()
			if !ok {
				t.Fatal("nothing is due")
			}
			s.now = at
			for ev := RestorerEvent(Tick{}); ev != nil; {
				effects := s.r.Step(s.now, ev)
				ev = nil
				for _, e := range effects {
					switch e := e.(type) {
					case AskFor:
						asked++
						ev = answer(e.To, false, "the disk is poisoned")
					case Granted:
						if s.now != awayMost || !e.Gone || e.Err == nil {
							t.Errorf("at %v: %+v", s.now, e)
						}
					}
				}
			}
		}
		if len(s.r.wishes) > 0 || asked < 100 || asked > 300 {
			t.Errorf("%d wishes are left, members were asked %d times", len(s.r.wishes), asked)
		}
	}
}

// A copy is not asked of a node that has left.
func TestRestorerSendsNoCopyToANodeThatHasLeft(t *testing.T) {
	s := restoresOf(t)
	s.does(Wish{Number: 1, Object: "x", Disks: []string{"da", "db"}}, "ask a for x")
	s.does(Answered{"a", Restored{Number: 1, Disk: "da", Lost: true}}, "ask b for x")
	s.does(Around{Self: "c", Nodes: []phalanx.NodeID{"b", "c"}})
	s.does(Answered{"b", Restored{Number: 1, Disk: "db", Done: true}}, "granted <nil>")
}
