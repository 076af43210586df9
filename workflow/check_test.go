package workflow_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/workflow"
)

func TestCheckOfTheTrip(t *testing.T) {
	waits, err := workflow.Check(trip())
	if err != nil {
		t.Fatal(err)
	}
	want := []workflow.Waits{{"lock", []string{"begin"}}, {"lock#2", []string{"begin"}}, {"finish", []string{"begin", "lock", "lock#2"}}}
	if !reflect.DeepEqual(waits, want) {
		t.Errorf("%v, want %v", waits, want)
	}
}

func TestCheckRefuses(t *testing.T) {
	draw := workflow.Func0("draw", 1, func(workflow.Context) (int, error) { return 4, nil }).With(workflow.NoEffect, workflow.NoCheckpoint)
	report := workflow.Func1("report", 1, func(workflow.Context, int) (int, error) { return 0, nil }).With(workflow.NoEffect)
	commit := workflow.Do1("commit", 1, func(workflow.Context, []int) error { return nil })
	d := draw.Bind()
	c := commit.Bind(workflow.All[int](report.Bind(d), report.Bind(d)))
	last := workflow.After(report.Bind(d), c)
	_, err := workflow.Check(last)
	var refused *workflow.CheckError
	if !errors.As(err, &refused) || !errors.Is(err, phalanx.ErrInvalid) {
		t.Fatal(err)
	}
	want := "settle: commit waits for report#3, which depends on draw (no checkpoint) and comes after it (commit → report#3): checkpoint draw, or declare commit NoEffect, or declare draw Deterministic if that is so"
	if err.Error() != want {
		t.Errorf("\n got %v\nwant %s", err, want)
	}
}

// A step with more annotations is another step: the first one stays as it is.
func TestWithCopies(t *testing.T) {
	draw := workflow.Func0("draw", 1, func(workflow.Context) (int, error) { return 4, nil }).With(workflow.NoEffect)
	use := workflow.Func2("use", 1, func(_ workflow.Context, a, b int) (int, error) { return a + b, nil })
	saved := draw.Bind()
	if _, err := workflow.Check(use.Bind(saved, saved.With(workflow.NoCheckpoint))); err == nil || !strings.Contains(err.Error(), "use has an effect, and depends on draw#2") {
		t.Error(err)
	}
	if _, err := workflow.Check(use.Bind(saved, saved)); err != nil {
		t.Error(err)
	}
}

// A chain of a hundred thousand steps is checked without recursion.
func TestCheckOfALongChain(t *testing.T) {
	inc := workflow.Func1("inc", 1, func(_ workflow.Context, n int) (int, error) { return n + 1, nil }).With(workflow.NoEffect, workflow.Deterministic)
	s := inc.Bind(workflow.Value(0))
	for range 100_000 {
		s = inc.Bind(s)
	}
	if waits, err := workflow.Check(s); err != nil || waits != nil {
		t.Errorf("%v, %v", waits, err)
	}
}

func TestTypesThatNoCodecTakes(t *testing.T) {
	type hidden struct{ x int }
	_ = hidden{}.x
	for what, make := range map[string]func(){
		"a chan int":                       func() { workflow.Func0("f", 1, func(workflow.Context) (chan int, error) { return nil, nil }) },
		"its field x is not exported":      func() { workflow.Value(hidden{}) },
		"an interface does not say":        func() { workflow.Value[any](3) },
		"it needs a name":                  func() { workflow.Do0("", 1, func(workflow.Context) error { return nil }) },
		"f@1 has an undo and no effect":    func() { workflow.Do0("f", 1, nil).Undo(nil).With(workflow.NoEffect) },
		"JSON has no keys of type [2]int":  func() { workflow.Value(map[[2]int]int{}) },
		"use []byte, an array, a protobuf": func() { workflow.Value(func() {}) },
	} {
		func() {
			defer func() {
				if v := fmt.Sprint(recover()); !strings.Contains(v, strings.TrimPrefix(what, "a ")) {
					t.Errorf("%s: %s", what, v)
				}
			}()
			make()
		}()
	}
}
