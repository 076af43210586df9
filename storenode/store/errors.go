package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// ContextError returns the error of a call whose context has ended, with the reason for
// its wait. If the context's cause is an Error, it returns that.
func ContextError(op string, id phalanx.ObjectID, cause error, node phalanx.NodeID, reason string) *phalanx.Error {
	var e *phalanx.Error
	if errors.As(cause, &e) {
		out := *e
		out.Op, out.Object = op, id
		return &out
	}
	kind := phalanx.ErrDeadline
	if errors.Is(cause, context.Canceled) {
		kind, node = phalanx.ErrCanceled, "" // no node is to blame
	}
	return &phalanx.Error{Op: op, Object: id, Node: node, Kind: kind, Err: errors.New(reason)}
}

// kindOf returns the kind of err, if it has one.
func kindOf(err error) (phalanx.Kind, bool) {
	var e *phalanx.Error
	if errors.As(err, &e) {
		return e.Kind, true
	}
	var end *dataplane.Ended
	if errors.As(err, &end) && end.Kind != 0 {
		return end.Kind, true
	}
	var k phalanx.Kind
	if errors.As(err, &k) {
		return k, true
	}
	return 0, false
}

// withOp returns err as the error of call op on id.
func withOp(op string, id phalanx.ObjectID, err error) error {
	if err == nil {
		return nil
	}
	var e *phalanx.Error
	if !errors.As(err, &e) {
		return &phalanx.Error{Op: op, Object: id, Kind: phalanx.ErrInternal, Err: err}
	}
	out := *e
	out.Op = op
	if out.Object == "" {
		out.Object = id
	}
	return &out
}

func invalid(op string, id phalanx.ObjectID, format string, args ...any) *phalanx.Error {
	return &phalanx.Error{Op: op, Object: id, Kind: phalanx.ErrInvalid, Err: fmt.Errorf(format, args...)}
}
