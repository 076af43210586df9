package messages

import (
	"context"
	"errors"

	"github.com/phalanx-go/phalanx"
)

// ErrorToProto returns err for another node: the first phalanx.Error in it, or
// one of the kind that err stands for, which is ErrInternal if nothing is known
// of it. Nil stays nil.
func ErrorToProto(err error) *Error {
	if err == nil {
		return nil
	}
	var e *phalanx.Error
	if !errors.As(err, &e) {
		e = &phalanx.Error{Kind: kindOf(err), Err: err}
		if _, bare := err.(phalanx.Kind); bare {
			e.Err = nil
		}
	}
	m := &Error{Kind: Kind(e.Kind), Op: fromText(e.Op), Object: fromText(string(e.Object)), Node: fromText(string(e.Node))}
	if e.Err != nil {
		m.Text = fromText(e.Err.Error())
	}
	return m
}

func kindOf(err error) phalanx.Kind {
	var k phalanx.Kind
	switch {
	case errors.As(err, &k):
		return k
	case errors.Is(err, context.DeadlineExceeded):
		return phalanx.ErrDeadline
	case errors.Is(err, context.Canceled):
		return phalanx.ErrCanceled
	}
	return phalanx.ErrInternal
}

// ErrorFromProto is the inverse of ErrorToProto: it returns nil or a
// *phalanx.Error. A kind that this version does not know becomes ErrInternal,
// so that an error stays one.
func ErrorFromProto(m *Error) error {
	if m == nil {
		return nil
	}
	return errorFromProto(m)
}

func errorFromProto(m *Error) *phalanx.Error {
	e := &phalanx.Error{Op: m.GetOp(), Object: phalanx.ObjectID(m.GetObject()), Node: phalanx.NodeID(m.GetNode()),
		Kind: phalanx.ErrInternal}
	if k := m.GetKind(); k > 0 && k <= Kind(phalanx.ErrUnknown) {
		e.Kind = phalanx.Kind(k)
	}
	if m.GetText() != "" {
		e.Err = errors.New(m.GetText())
	}
	return e
}
