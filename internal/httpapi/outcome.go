package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/phalanx-go/phalanx"
)

// StatusClosedRequest is the status that is logged and counted for a caller who
// went away. Nobody receives it.
const StatusClosedRequest = 499

// Outcome is what a kind of error is to HTTP and to a shell.
type Outcome struct {
	Kind    phalanx.Kind
	Status  int    // of the HTTP answer
	Exit    int    // of the program
	Meaning string // and what to do, in a line
}

// outcomes is the one place where this is decided. docs/http.md and `phalanx
// help exit-codes` are written from it. Exit codes are never given again.
var outcomes = []Outcome{
	{phalanx.ErrInternal, http.StatusInternalServerError, 1, "a bug, or a peer that breaks the protocol"},
	{phalanx.ErrInvalid, http.StatusBadRequest, 2, "an argument or a setting that cannot be; a file of the caller's that cannot be read or written; wrong usage"},
	{phalanx.ErrNotFound, http.StatusNotFound, 3, "nobody has announced the object"},
	{phalanx.ErrExists, http.StatusConflict, 4, "the id is bound to other bytes, or to another reduce"},
	{phalanx.ErrDeleted, http.StatusGone, 5, "the object was deleted; its id can be put again at once"},
	{phalanx.ErrMismatch, http.StatusUnprocessableEntity, 6, "sizes, element types or shapes that differ in one reduce"},
	{phalanx.ErrNoSpace, http.StatusInsufficientStorage, 7, "it does not fit into the node's memory cap"},
	{phalanx.ErrUnavailable, http.StatusServiceUnavailable, 8, "the cluster cannot decide now, or no node answers; try again, but for what the message says"},
	{phalanx.ErrDeadline, http.StatusGatewayTimeout, 9, "the deadline passed; the message says what was missing"},
	{phalanx.ErrCanceled, StatusClosedRequest, 130, "the caller went away, for example by Ctrl-C"},
	{phalanx.ErrCorrupt, http.StatusInternalServerError, 11, "bytes that do not match their digest"},
	{phalanx.ErrAborted, http.StatusBadGateway, 12, "the object's creator gave up or died while it was writing; or the upload broke off"},
	{phalanx.ErrReset, http.StatusServiceUnavailable, 13, "a stream that was read while it was made starts over; read it again"},
	{phalanx.ErrUnknownOp, http.StatusNotImplemented, 14, "an op that is not registered on the node that is named"},
	{phalanx.ErrFenced, http.StatusServiceUnavailable, 15, "this node was removed from the cluster and joins again"},
	{phalanx.ErrClosed, http.StatusServiceUnavailable, 16, "this node has left the cluster"},
	{phalanx.ErrRefused, http.StatusBadGateway, 17, "a peer does not speak to this node; or the cluster does not need what was asked (`recover`)"},
	{phalanx.ErrLost, http.StatusGone, 18, "the object was final, but every complete copy is gone; put it again"},
	{phalanx.ErrRevoked, http.StatusConflict, 19, "the group that it belongs to was revoked; go on in another one"},
	{phalanx.ErrFailed, http.StatusBadGateway, 20, "a member of the group that takes part has failed"},
	{phalanx.ErrUnknown, http.StatusServiceUnavailable, 21, "all who knew whether it has happened have died; go on under another name"},
}

// Outcomes returns the outcome of every kind, in the order of their values.
func Outcomes() []Outcome { return append([]Outcome(nil), outcomes...) }

// outcomeOf returns the outcome of k; one that is unknown is an internal error.
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

// ExitCode returns what a program exits with because of err.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	return outcomeOf(typed(err).Kind).Exit
}

// typed returns err as what every public call fails with.
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
