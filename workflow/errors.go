package workflow

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Attempts and calls in them fail with these, in a phalanx.Error of the kind that is named.
var (
	// ErrEnded says that the attempt of a Context has ended, so that nothing may be done for it; ErrClosed.
	ErrEnded = errors.New("the attempt has ended: a task does everything before it returns")
	// ErrStrangeRef says that a task returns or reads a Ref that it was neither given nor has made; ErrInvalid. The run would not
	// know that the object is needed.
	ErrStrangeRef = errors.New("the task was not given this Ref and has not made it: pass it to the task as an argument")
	// ErrNotRegistered says that no function of a name and version is in a node's Registry; ErrNotFound.
	ErrNotRegistered = errors.New("the task is not registered on this node")
	// ErrNotDeterministic says that a task that is annotated Deterministic has made other bytes than an attempt
	// before; ErrMismatch.
	ErrNotDeterministic = errors.New("the task is annotated Deterministic and makes other bytes than before")
	// ErrNotUTF8 says that an output or a constant has a text that JSON would change; ErrInvalid.
	ErrNotUTF8 = errors.New("a text in it is not UTF-8, which JSON cannot carry: use []byte")
	// ErrTooLarge says that the workflow that a task has returned is larger, as it is recorded, than a run takes in its middle: 2 MB; ErrInvalid.
	ErrTooLarge = errors.New("the workflow that the task has returned is too large: pass large constants as Refs, or have tasks of it return workflows of their own")
	// ErrOutstanding says that a task has returned before actors had answered it; ErrInvalid.
	ErrOutstanding = errors.New("the task has returned before actors had answered: wait for all calls")
	// ErrReadOnly says that a task writes an actor, or returns one, that it was given by Read; ErrInvalid.
	ErrReadOnly = errors.New("the task was given the actor by Read: call methods that are ReadOnly, or bind the step without Read")
	// ErrStrangeActor says that a task uses or returns an ActorRef that it was neither given nor has made; ErrInvalid.
	ErrStrangeActor = errors.New("the task was not given this ActorRef and has not made it: pass it to the task as an argument")
	// ErrSilent says that an attempt has not called Beat for longer than its Heartbeat; ErrDeadline.
	ErrSilent = errors.New("the attempt has not called Beat for longer than its Heartbeat")
)

// Permanent returns an error with which a task says that another attempt would fail as well: the task is not repeated. Nil
// stays nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// IsPermanent reports whether a task said by Permanent that another attempt would fail with err.
func IsPermanent(err error) bool {
	var p *permanentError
	return errors.As(err, &p)
}

// PanicError says that a task panicked.
type PanicError struct {
	Value string // what it panicked with, as text
	Stack string // of its goroutine, shortened to 8 KB
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("the task panicked: %s\n%s", e.Value, e.Stack)
}

// maxErrorText bounds the text of an error of a task, in bytes: it is recorded.
const maxErrorText = 16 << 10

// sound returns an error that can be recorded, and looked at without a panic. A task may return one that cannot: a nil
// pointer that is not a nil error panics in its methods. Then sound panics, where the task is called.
func sound(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	_ = errors.Is(err, ErrEnded) // calls all Unwrap and Is
	_ = IsPermanent(err)         // and all As
	if short := shorten(text, maxErrorText); short != text {
		return &shortError{short, err}
	}
	return err
}

// shortError is an error with another text.
type shortError struct {
	text string
	err  error
}

func (e *shortError) Error() string { return e.text }
func (e *shortError) Unwrap() error { return e.err }

// maxStack bounds what is kept of a stack, in bytes.
const maxStack = 8 << 10

func panicError(v any, stack []byte) *PanicError {
	return &PanicError{Value: shorten(fmt.Sprint(v), maxStack), Stack: shorten(string(stack), maxStack)}
}

// shorten returns at most so many bytes of a text, as UTF-8.
func shorten(s string, most int) string {
	if len(s) <= most && utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s[:min(len(s), most)], "\uFFFD")
}
