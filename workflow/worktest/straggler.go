package worktest

import (
	"reflect"

	"github.com/phalanx-go/phalanx/workflow"
)

// Straggler tests an undo: it takes the effect of its attempts back, also if it is called again; after it none of them takes
// effect any more, however late it comes; and it leaves those with a higher fence alone. The task takes effect under keys that
// begin with "worktest".
func Straggler(t T, step workflow.AnyStep, effects Effects) {
	t.Helper()
	s := &straggler{t: t, step: step, effects: effects, trial: trial("worktest-undone")}
	first, err := s.trial.Do(t.Context(), step, try(1))
	if err != nil {
		t.Fatalf("%s fails: %v", first.Task, err)
		return
	}
	s.task, s.key, s.one = first.Task, first.Key, effects(first.Key)
	if s.none = effects("worktest-unused"); reflect.DeepEqual(s.none, s.one) {
		t.Fatalf("%s has no effect: there is nothing to undo", s.task)
		return
	}
	s.undo(1, s.none, "the undo leaves the effect")
	s.undo(1, s.none, "the undo that is repeated changes something")
	s.late(1, "an attempt takes effect after its undo")
	if again, err := s.trial.Do(t.Context(), step, try(2)); err != nil {
		t.Errorf("%s fails after an undo of the attempt before: %v", again.Task, err)
	}
	s.expect(s.one, "an attempt with a higher fence has not its effect")
	s.undo(1, s.one, "the undo of an earlier attempt, which comes late, undoes a later one")
	s.undo(2, s.none, "the undo leaves the effect of the second attempt")

	s.trial = trial("worktest-overtaken")
	s.key = ""
	s.overtaken()
}

type straggler struct {
	t         T
	step      workflow.AnyStep
	effects   Effects
	trial     *workflow.Trial
	task, key string
	none, one any // effects without an attempt, and of one
}

func (s *straggler) expect(want any, otherwise string) {
	s.t.Helper()
	if now := s.effects(s.key); !reflect.DeepEqual(now, want) {
		s.t.Errorf("%s: %s: it is %v, not %v", s.task, otherwise, now, want)
	}
}

// undo undoes the attempts up to a fence.
func (s *straggler) undo(upTo uint64, want any, otherwise string) {
	s.t.Helper()
	if err := s.trial.Undo(s.t.Context(), s.step, try(upTo)); err != nil {
		s.t.Errorf("the undo of %s fails: %v", s.task, err)
	}
	s.expect(want, otherwise)
}

// late runs an attempt that was undone. It may fail.
func (s *straggler) late(n uint64, otherwise string) {
	s.t.Helper()
	late, err := s.trial.Do(s.t.Context(), s.step, try(n))
	if err == nil || late.Key != "" {
		s.key = late.Key
	}
	s.expect(s.none, otherwise)
}

// overtaken undoes an attempt before it takes effect: its node hung.
func (s *straggler) overtaken() {
	s.t.Helper()
	if err := s.trial.Undo(s.t.Context(), s.step, try(5)); err != nil {
		s.t.Errorf("the undo of %s fails where nothing took effect: %v", s.task, err)
	}
	s.late(5, "an attempt takes effect although its undo came before")
	s.late(4, "an attempt takes effect although the undo of a later one came before")
}
