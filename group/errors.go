package group

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/group"
)

// Calls fail with these, in a phalanx.Error: of kind ErrInvalid, but for ErrUsed, of kind
// ErrExists, and ErrDiffers, of kind ErrMismatch.
var (
	// ErrNotMember says that the caller is not in the group: not in the list that it
	// forms it of, or not any more.
	ErrNotMember = errors.New("the caller is no member of the group")
	// ErrFormedWithout says that the others have formed the group without this member, which is
	// ErrNotMember too: it came too late, or its node was no member of the cluster yet.
	ErrFormedWithout = fmt.Errorf("the group was formed without this member: %w", ErrNotMember)
	// ErrAlone says that a group needs two members. A member that has lost all others still
	// has its group.
	ErrAlone = errors.New("a group needs two members or more")
	// ErrUsed says that members on this node are in a group of that name; or that the group
	// was formed after the call of this member had been given up. The name can be used again
	// when no member of that group is left.
	ErrUsed = errors.New("the name is in use: members of a group of that name are left")
	// ErrDiffers says that the members' calls do not fit together.
	ErrDiffers = errors.New("the calls of the members differ")
)

var (
	errClosed = errors.New("the member has left the group")
	errLeft   = errors.New("this node has left the cluster")
	errFenced = errors.New("the cluster has removed this node; the others count its members as failed")
)

// RevokedError names the member that has revoked a group, and the reason. Calls in the group
// fail with a phalanx.Error, of kind ErrRevoked, that contains it.
type RevokedError struct {
	Group  string
	By     Member
	Rank   int // of By
	Reason string
	At     time.Time // by the clock of By's node
}

func (e *RevokedError) Error() string {
	text := fmt.Sprintf("%s has revoked group %q", e.By, e.Group)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// MemberError names the members that have failed. Calls that need them fail with a
// phalanx.Error, of kind ErrFailed, that contains it.
type MemberError struct {
	Group   string
	Ranks   []int
	Members []Member // of Ranks
}

func (e *MemberError) Error() string {
	return fmt.Sprintf("members of group %q have failed or left: %s", e.Group, names(e.Members))
}

// AbsentError names the members that have not made a call that all have to make. A caller that
// gives up waiting gets it in a phalanx.Error, of kind ErrDeadline or ErrCanceled.
type AbsentError struct {
	Group  string
	Absent []string // the first of them; none: it is not known here
}

func (e *AbsentError) Error() string {
	if len(e.Absent) == 0 {
		return "the coordinator of the call has not answered yet"
	}
	return "absent members: " + strings.Join(e.Absent, ", ")
}

// RosterError names the mistake in a list of members, or in a rank.
type RosterError = core.RosterError

func names(all []Member) string {
	text := make([]string, len(all))
	for i, m := range all {
		text[i] = m.String()
	}
	return strings.Join(text, ", ")
}

func failure(op, group string, kind phalanx.Kind, err error) *phalanx.Error {
	return &phalanx.Error{Op: "group " + op, Object: phalanx.ObjectID(group), Kind: kind, Err: err}
}

// given is the error of a caller that gives up.
func given(op, group string, cause error, absent []string) *phalanx.Error {
	kind := phalanx.ErrDeadline
	if errors.Is(cause, context.Canceled) {
		kind = phalanx.ErrCanceled
	}
	return failure(op, group, kind, &AbsentError{Group: group, Absent: absent})
}

// outcome is the error of a call that has ended, or nil.
func outcome(op, group string, d core.Done) error {
	switch d.Outcome {
	case core.OK:
		return nil
	case core.Used:
		return failure(op, group, phalanx.ErrExists, ErrUsed)
	case core.LeftBehind:
		if op == "form" || op == "await" {
			return failure(op, group, phalanx.ErrInvalid, ErrFormedWithout)
		}
		return failure(op, group, phalanx.ErrInvalid, ErrNotMember)
	case core.NotMember:
		return failure(op, group, phalanx.ErrInvalid, ErrNotMember)
	case core.Removed:
		return failure(op, group, phalanx.ErrFenced, errFenced)
	}
	return failure(op, group, phalanx.ErrMismatch, fmt.Errorf("%w: %s", ErrDiffers, d.Decision.Mismatch))
}
