package workflow

import (
	"slices"
	"strings"
	"testing"

	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// An actor goes from version to version, each made by one attempt; a version that was moved away can be used by nobody.
func TestActors(t *testing.T) {
	u := core.UID{Ledger: 1, Epoch: 2, Index: 3}
	by := func(task string, n uint64) string {
		return Prefix(u.String(), task, 0, core.Attempt{Epoch: 2, Number: n}, false)
	}
	s := NewActors()
	first := ActorAt{Node: "n1", ID: ActorID(by("0", 1), "a/b"), By: by("0", 1), Version: 1}
	if s.Reads(first) {
		t.Error("a node has an actor that nobody has made")
	}
	if _, ok := s.Writes(first, by("1", 2)); ok {
		t.Error("an actor is written that nobody has made")
	}
	s.Made(first)
	second, ok := s.Writes(first, by("1", 2))
	if !ok || !s.Reads(second) || s.Reads(first) || second.Version != 2 || second.ID != first.ID {
		t.Errorf("%+v, %v", second, ok)
	}
	if again, ok := s.Writes(first, by("1", 2)); !ok || again != second { // the attempt calls once more
		t.Errorf("%+v, %v", again, ok)
	}
	if _, ok := s.Writes(first, by("1", 3)); ok {
		t.Error("a version is written twice")
	}
	if _, ok := s.Writes(second, strings.Replace(by("2", 4), "0002", "0009", 1)); ok {
		t.Error("another run writes the actor")
	}
	other := core.UID{Ledger: 1, Epoch: 2, Index: 4}
	if s.Free([]core.Released{{Run: other}}) != nil || !slices.Equal(s.Runs(), []core.UID{u}) {
		t.Error("the actor went with another run")
	}
	if ids := s.Free([]core.Released{{Run: u}}); !slices.Equal(ids, []string{first.ID}) || s.Runs() != nil || s.Reads(second) {
		t.Error(ids)
	}
}
