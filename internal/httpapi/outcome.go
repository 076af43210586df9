package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/phalanx-go/phalanx"
)

// StatusClosedRequest is the status that the node logs and counts for a caller that
// went away. No client receives it.
const StatusClosedRequest = 499

// Outcome is the HTTP status and the exit code of a kind of error.
type Outcome struct {
	Kind    phalanx.Kind
	Status  int    // of the HTTP answer
	Exit    int    // of the program
	Meaning string // and what to do, in a line
}

// outcomes is the only list of them: docs/http.md and `phalanx help exit-codes` are
// written from it. An exit code keeps its meaning.
var outcomes = []Outcome{
	{phalanx.ErrInternal, http.StatusInternalServerError, 1, "a bug, or a peer that breaks the protocol"},
	{phalanx.ErrInvalid, http.StatusBadRequest, 2, "an argument or a setting is invalid, a file of the caller's cannot be read or written, or the usage is wrong"},
	{phalanx.ErrNotFound, http.StatusNotFound, 3, "nobody has announced the object; or there is no such run of a workflow"},
	{phalanx.ErrExists, http.StatusConflict, 4, "the id is bound to other bytes, or to another reduce; or another signal of that name has come"},
	{phalanx.ErrDeleted, http.StatusGone, 5, "the object was deleted; its id can be put again at once; or the run was forgotten less than 20 minutes ago"},
	{phalanx.ErrMismatch, http.StatusUnprocessableEntity, 6, "the sources of a reduce differ in size, element type or shape"},
	{phalanx.ErrNoSpace, http.StatusInsufficientStorage, 7, "the request does not fit into the node's memory cap"},
	{phalanx.ErrUnavailable, http.StatusServiceUnavailable, 8, "the cluster cannot decide now, or no node answers; try again, but for what the message says"},
	{phalanx.ErrDeadline, http.StatusGatewayTimeout, 9, "the deadline passed; the message says what was missing"},
	{phalanx.ErrCanceled, StatusClosedRequest, 130, "the caller went away, for example by Ctrl-C"},
	{phalanx.ErrCorrupt, http.StatusInternalServerError, 11, "the bytes do not match their digest"},
	{phalanx.ErrAborted, http.StatusBadGateway, 12, "the object's creator gave up or died while it was writing; or the upload broke off"},
	{phalanx.ErrReset, http.StatusServiceUnavailable, 13, "an object that was read while it was made starts over; read it again"},
	{phalanx.ErrUnknownOp, http.StatusNotImplemented, 14, "the op is not registered on the named node"},
	{phalanx.ErrFenced, http.StatusServiceUnavailable, 15, "this node was removed from the cluster and joins again"},
	{phalanx.ErrClosed, http.StatusServiceUnavailable, 16, "this node has left the cluster; or the run of a workflow has ended"},
	{phalanx.ErrRefused, http.StatusBadGateway, 17, "a peer does not speak to this node; or the cluster does not need the request (`recover`)"},
	{phalanx.ErrLost, http.StatusGone, 18, "the object was final, but every complete copy is gone; put it again"},
	{phalanx.ErrRevoked, http.StatusConflict, 19, "the group of the call was revoked; go on in another one"},
	{phalanx.ErrFailed, http.StatusBadGateway, 20, "a member of the group that takes part has failed; or the run of a workflow has, and the message says why"},
	{phalanx.ErrUnknown, http.StatusServiceUnavailable, 21, "all nodes that knew the outcome have died; go on under another name"},
}

// Outcomes returns the outcome of every kind, in the order of their values.
func Outcomes() []Outcome { return append([]Outcome(nil), outcomes...) }

// outcomeOf returns the outcome of k; an unknown kind is an internal error.
func outcomeOf(k phalanx.Kind) Outcome {
	for _, o := range outcomes {
		if o.Kind == k {
			return o
		}
	}
	return outcomes[0]
}

// StatusOf returns the HTTP status of err, which is not nil.
func StatusOf(err error) int { return outcomeOf(typed(err).Kind).Status }

// ExitCode returns the exit code of a program that fails with err.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	return outcomeOf(typed(err).Kind).Exit
}

// typed returns err in the type of all public calls' errors.
func typed(err error) *phalanx.Error {
	var e *phalanx.Error
	var k phalanx.Kind
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &k):
		return &phalanx.Error{Kind: k}
	case errors.Is(err, context.DeadlineExceeded):
		return &phalanx.Error{Kind: phalanx.ErrDeadline}
	case errors.Is(err, context.Canceled):
		return &phalanx.Error{Kind: phalanx.ErrCanceled}
	}
	return &phalanx.Error{Kind: phalanx.ErrInternal, Err: err}
}

// Markdown returns the outcomes as the table of docs/http.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| kind | HTTP status | exit code | meaning |\n|---|---|---|---|\n")
	for _, o := range outcomes {
		fmt.Fprintf(&b, "| `%v` | %d | %d | %s |\n", o.Kind, o.Status, o.Exit, o.Meaning)
	}
	return b.String()
}

func invalid(op string, id phalanx.ObjectID, format string, args ...any) *phalanx.Error {
	return &phalanx.Error{Op: op, Object: id, Kind: phalanx.ErrInvalid, Err: fmt.Errorf(format, args...)}
}
