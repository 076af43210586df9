package phalanx

import (
	"context"
	"fmt"
	"strings"
)

// Kind classifies an error. The list is closed and append-only, and its values
// survive the wire. A Kind is itself an error, so that
// errors.Is(err, phalanx.ErrDeleted) asks for it.
type Kind uint8

// The kinds of errors.
const (
	ErrInternal    Kind = iota + 1 // a bug, or a peer that breaks the protocol
	ErrInvalid                     // an argument or a setting is invalid
	ErrNotFound                    // nobody has announced the object
	ErrExists                      // the id is bound to other bytes, or to another reduce
	ErrDeleted                     // the object was deleted
	ErrMismatch                    // the sources of a reduce differ in size, dtype or shape
	ErrNoSpace                     // the request does not fit into the memory cap
	ErrUnavailable                 // no majority, or no owner: the cluster cannot decide now
	ErrDeadline                    // the call's deadline passed; is context.DeadlineExceeded as well
	ErrCanceled                    // the caller went away; is context.Canceled as well
	ErrCorrupt                     // the bytes do not match their digest
	ErrAborted                     // the creator gave up or died while it was writing
	ErrReset                       // an object that was read while it was made starts over
	ErrUnknownOp                   // the op is not registered on a node
	ErrFenced                      // this node was removed from the cluster
	ErrClosed                      // this node has left the cluster
	ErrRefused                     // a peer does not speak to us
	ErrLost                        // the object was final, but every complete copy is gone
	ErrRevoked                     // the group of the call was revoked
	ErrFailed                      // a member of the group that takes part has failed
	ErrUnknown                     // all nodes that knew the outcome have died
)

var kinds = [...]string{
	ErrInternal: "internal", ErrInvalid: "invalid", ErrNotFound: "not found", ErrExists: "exists",
	ErrDeleted: "deleted", ErrMismatch: "mismatch", ErrNoSpace: "no space", ErrUnavailable: "unavailable",
	ErrDeadline: "deadline", ErrCanceled: "canceled", ErrCorrupt: "corrupt", ErrAborted: "aborted",
	ErrReset: "reset", ErrUnknownOp: "unknown op", ErrFenced: "fenced", ErrClosed: "closed",
	ErrRefused: "refused", ErrLost: "lost", ErrRevoked: "revoked", ErrFailed: "member failed", ErrUnknown: "unknown",
}

// Kinds returns every kind, in the order of their values.
func Kinds() []Kind {
	all := make([]Kind, 0, len(kinds)-1)
	for k := ErrInternal; int(k) < len(kinds); k++ {
		all = append(all, k)
	}
	return all
}

// Is reports whether target is the error of a context that stands for the same as k.
func (k Kind) Is(target error) bool {
	switch target {
	case context.DeadlineExceeded:
		return k == ErrDeadline
	case context.Canceled:
		return k == ErrCanceled
	}
	return false
}

// Error returns the name of k.
func (k Kind) Error() string {
	if k == 0 || int(k) >= len(kinds) {
		return fmt.Sprintf("error kind %d", uint8(k))
	}
	return kinds[k]
}

// Error is the error of every public call. Fields that do not apply are zero.
type Error struct {
	Op     string   // the call: "get", "put", "reduce" …
	Object ObjectID // the culprit, if an object is
	Node   NodeID   // the culprit, if a node is
	Kind   Kind
	Err    error // says what happened and, where possible, what to do
}

// Error returns, for example, `get "weights/7": deadline: nobody has announced it`.
func (e *Error) Error() string {
	var parts []string
	head := e.Op
	if e.Object != "" {
		head = strings.TrimLeft(fmt.Sprintf("%s %q", head, string(e.Object)), " ")
	}
	if e.Node != "" {
		head = strings.TrimLeft(fmt.Sprintf("%s (node %s)", head, e.Node), " ")
	}
	if head != "" {
		parts = append(parts, head)
	}
	parts = append(parts, e.Kind.Error())
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns what e wraps.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is e's Kind, or the error of a context that stands for it.
func (e *Error) Is(target error) bool { return target == e.Kind || e.Kind.Is(target) }
