package workflow

import (
	"fmt"
	"strings"

	"github.com/phalanx-go/phalanx"
)

// CheckError says why a graph is refused. It is a phalanx.ErrInvalid.
type CheckError struct {
	Rule Rule
	Path []string // the names of the tasks along which the rule is broken
	Why  string   // what happens along the path
	Fix  string   // every way out
}

// Rule is a rule that graphs obey (workflow specification 1.6).
type Rule string

// The rules.
const (
	Shape  Rule = "shape"  // tasks are there, come after what they read, and are as many as are allowed
	Cut    Rule = "cut"    // no effect below an output that can come out differently and is not saved
	Settle Rule = "settle" // an irreversible task waits until what is above it cannot change any more
	Catch  Rule = "catch"  // an error that is caught is saved before its consumer begins

	Compensate Rule = "compensate" // a compensation has an effect to make up for, and the output of its task

	Actors Rule = "actors" // a version of an actor is made once and has one writer, and its readers come before that

	Expand Rule = "expand" // what a graph may hold that a task returns

	Deterministic Rule = "deterministic" // an actor, a signal, and what shows in which order something arrives are not deterministic
)

func (e *CheckError) Error() string {
	text := string(e.Rule) + ": " + e.Why
	if len(e.Path) > 1 {
		text += " (" + strings.Join(e.Path, " → ") + ")"
	}
	if e.Fix != "" {
		text += ": " + e.Fix
	}
	return text
}

// Is reports whether target is phalanx.ErrInvalid.
func (e *CheckError) Is(target error) bool { return target == phalanx.ErrInvalid }

func (s shape) name(v int) string {
	if name := s.Tasks[v].Name; name != "" {
		return name
	}
	return fmt.Sprintf("task %d", v)
}

func (s shape) names(path []int) []string {
	out := make([]string, len(path))
	for i, v := range path {
		out[i] = s.name(v)
	}
	return out
}
