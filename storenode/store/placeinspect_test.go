package store

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// inspected is a node with places of one Reduce that do nothing but say so, and a
// coordinator that asks.
type inspected struct {
	*Places
	self    *actor.PID
	asked   []int // how often, by place
	silent  map[int]bool
	answers []reduce.Inspected
}

func (s *inspected) inspect(from int) {
	s.Inspect(s.self, reduce.Inspect{Node: "me", Target: "sum", Reduce: first, Attempt: 2, From: from})
}

// told returns the one answer that has come since the last call, as text.
func (s *inspected) told() string {
	synctest.Wait()
	var out []string
	for _, in := range s.answers {
		text := fmt.Sprintf("from %d:", in.From)
		for _, h := range in.Places {
			text += fmt.Sprint(" ", h.State.Place)
		}
		if in.Next != 0 {
			text += fmt.Sprint(", next ", in.Next)
		}
		out = append(out, text)
	}
	s.answers = nil
	return strings.Join(out, "; ")
}

func inspectBubble(t *testing.T, places int, source phalanx.ObjectID, f func(t *testing.T, s *inspected)) {
	storeBubble(t, func(t *testing.T, e *Env, _ *scripted) {
		s := &inspected{Places: NewPlaces(e, nil), asked: make([]int, places), silent: map[int]bool{}}
		root := e.System.Root
		s.self = root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if m, ok := c.Message().(*messages.PlaceReport); ok {
				r, err := messages.ReportFromProto(m)
				if err != nil {
					t.Error(err)
				}
				s.answers = append(s.answers, r.Event.(reduce.Inspected))
			}
		}))
		for i := range places {
			s.actors[placeKey{Target: "sum", Reduce: first, Place: i}] = root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				if m, ok := c.Message().(inspectPlace); ok {
					s.asked[i]++
					if !s.silent[i] {
						m.answer <- []reduce.Held{{State: reduce.State{Target: "sum", Reduce: first, Place: i, Source: source, SourceGen: first,
							Gen: label, Attempt: 1, Version: 1, Op: phalanx.Sum}}}
					}
				}
			}))
		}
		f(t, s)
		s.Close()
	})
}

// The node does not report a slow place as one that has ended: its coordinator would start
// another one for the same source.
func TestASlowPlaceIsNotKnown(t *testing.T) {
	inspectBubble(t, 5, "x", func(t *testing.T, s *inspected) {
		s.silent[2] = true
		s.inspect(0)
		time.Sleep(inspectPatience)
		if got := s.told(); got != "from 0: 0 1, next 2" {
			t.Error(got)
		}
		s.inspect(2)
		time.Sleep(inspectPatience)
		if got := s.told(); got != "" {
			t.Errorf("it is not known what place 2 does, and told is %s", got)
		}
		s.silent[2] = false
		s.inspect(2)
		if got := s.told(); got != "from 2: 2 3 4" {
			t.Error(got)
		}
	})
}

func TestAPlaceThatEndsMeanwhileIsLeftOut(t *testing.T) {
	inspectBubble(t, 3, "x", func(t *testing.T, s *inspected) {
		s.silent[1] = true
		s.inspect(0)
		synctest.Wait()
		key := placeKey{Target: "sum", Reduce: first, Place: 1}
		pid := s.find(key)
		s.forget(key, pid)
		s.env.System.Root.Stop(pid)
		time.Sleep(inspectPatience)
		if got := s.told(); got != "from 0: 0 2" {
			t.Error(got)
		}
	})
}

// A coordinator repeats its question before a slow place has answered. That is no
// reason to ask all places again.
func TestPassesDoNotOverlap(t *testing.T) {
	inspectBubble(t, 3, "x", func(t *testing.T, s *inspected) {
		s.silent[2] = true
		for range 20 {
			s.inspect(0)
		}
		synctest.Wait()
		if s.asked[0] != 1 {
			t.Errorf("place 0 was asked %d times at once", s.asked[0])
		}
		s.Inspect(s.self, reduce.Inspect{Node: "me", Target: "sum", Reduce: first, Attempt: 1}) // of an earlier attempt
		s.Inspect(s.self, reduce.Inspect{Node: "me", Target: "sum", Reduce: first, Attempt: 3})
		time.Sleep(2 * inspectPatience)
		if got := s.told(); got != "from 0: 0 1, next 2; from 0: 0 1, next 2" || s.asked[0] != 2 {
			t.Errorf("%s, and place 0 was asked %d times", got, s.asked[0])
		}
		if n := len(s.passes); n != 0 {
			t.Errorf("%d passes are remembered", n)
		}
	})
}

// An answer has room for some thousand places. The node asks the others after the next
// question.
func TestAPassStopsWhereItsAnswerIsFull(t *testing.T) {
	const all = 6000
	inspectBubble(t, all, phalanx.ObjectID(strings.Repeat("x", phalanx.MaxIDBytes)), func(t *testing.T, s *inspected) {
		sum := 0
		for from := 0; ; {
			s.inspect(from)
			synctest.Wait()
			if len(s.answers) != 1 {
				t.Fatalf("%d answers from %d on", len(s.answers), from)
			}
			in := s.answers[0]
			s.answers = nil
			for i, h := range in.Places {
				if h.State.Place != from+i {
					t.Fatalf("place %d is told instead of %d", h.State.Place, from+i)
				}
			}
			sum += len(in.Places)
			if from = in.Next; from == 0 {
				break
			}
		}
		if sum != all {
			t.Errorf("%d places of %d are told", sum, all)
		}
		asked := 0
		for _, n := range s.asked {
			asked += n
		}
		if asked > all+10*inspectAtOnce {
			t.Errorf("%d places were asked %d times", all, asked)
		}
	})
}
