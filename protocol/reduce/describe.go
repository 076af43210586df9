package reduce

import (
	"errors"
	"fmt"
	"strings"

	"github.com/phalanx-go/phalanx"
)

// describe returns the type and shape of an array, for errors.
func describe(m phalanx.Meta) string {
	if m.Shape == nil {
		return fmt.Sprintf("%d bytes of %v", m.Size, m.DType)
	}
	return fmt.Sprintf("%d bytes of %v in shape %v", m.Size, m.DType, m.Shape)
}

// String returns n on one line, without fields that do not apply.
func (n Notify) String() string {
	var b strings.Builder
	b.WriteString(n.What.String())
	switch n.What {
	case NoteCleared:
		fmt.Fprintf(&b, " %v", n.Places)
	case NotePlaced, NoteLost, NoteHeld, NoteEmptied, NoteReplaced, NoteMoved:
		fmt.Fprintf(&b, " place %d: %s at %s, gen %v", n.Place, n.Source, n.Node, n.Gen)
	}
	if n.Reason != 0 {
		fmt.Fprintf(&b, ", %v", n.Reason)
	}
	if n.Text != "" {
		fmt.Fprintf(&b, ": %s", n.Text)
	}
	return b.String()
}

// culprit returns the object that err names, in a form that can be shown.
func culprit(err error) phalanx.ObjectID {
	var e *phalanx.Error
	if errors.As(err, &e) {
		return e.Object
	}
	return ""
}

// cause returns the error that a phalanx.Error wraps, to be wrapped in another of that kind.
func cause(err error) error {
	var e *phalanx.Error
	if errors.As(err, &e) && e.Err != nil {
		return e.Err
	}
	return err
}
