package group

import "time"

// Application actors send these to the actor node.Service(Name). It answers the
// actors of its node only, and takes pointers to these. Deadline bounds the call's
// duration; 0: a minute.
//
// An actor that forms a group is its member: it is sent Interrupted and MembersFailed,
// and has left the group when it ends.
type (
	// FormGroup is Form; it is answered by Formed. Rank is -1 for the only member on
	// this node. AtLeast and JoinTimeout are the options of that name; an AtLeast of 0 says
	// all live members.
	FormGroup struct {
		Name        string
		Members     []Member
		Rank        int
		AtLeast     int
		JoinTimeout time.Duration
		Deadline    time.Duration
	}

	// AwaitGroup is Await; it is answered by Formed.
	AwaitGroup struct {
		Label    string
		Deadline time.Duration
	}

	// Do makes a request in a group: a *storenode.Get, Open, Put, Reduce, AllReduce, Gather
	// or Prefetch, or a *message.Enter, whose name is the group's own. It is answered as the
	// request is, and with an error of kind phalanx.ErrRevoked when the group is
	// revoked.
	Do struct {
		Group   *Group
		Request any
	}

	// RevokeGroup is Group.Revoke; it is answered by Interrupted, as the revoke of
	// another member is told, or by a *phalanx.Error if the member has
	// left, or the reason is too long.
	RevokeGroup struct {
		Group  *Group
		Reason string
	}

	// AgreeOn is Group.Agree; it is answered by Agreed.
	AgreeOn struct {
		Group    *Group
		Value    int64
		Op       Op
		Deadline time.Duration
	}

	// ShrinkGroup is Group.Shrink; it is answered by Formed.
	ShrinkGroup struct {
		Group    *Group
		Deadline time.Duration
	}

	// GrowGroup is Group.Grow; it is answered by Formed.
	GrowGroup struct {
		Group     *Group
		Newcomers []Member
		Deadline  time.Duration
	}
)

// The answers, and notices to members.
type (
	Formed struct {
		Group *Group
		Err   error
	}
	Agreed struct {
		Group *Group
		Agreement
		Err error
	}

	// Interrupted tells a member that its group is revoked.
	Interrupted struct {
		Group      *Group
		Revocation *RevokedError
	}

	// MembersFailed tells a member that others have failed, or have left.
	MembersFailed struct {
		Group *Group
		Ranks []int
		Left  bool
	}
)
