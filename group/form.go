package group

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	core "github.com/phalanx-go/phalanx/protocol/group"
)

// Everyone returns a member on each node of the cluster that has groups, in the order
// of their ids; with labels, one for each label on each node.
func Everyone(n *cluster.Node, labels ...string) []Member {
	if len(labels) == 0 {
		labels = []string{""}
	}
	var all []Member
	for _, m := range n.View().Members {
		if m.Has(Name) {
			for _, l := range labels {
				all = append(all, Member{Node: m.ID, Label: l})
			}
		}
	}
	slices.SortFunc(all, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Label, b.Label))
	})
	return all
}

// Option is an optional argument of Form and Await.
type Option func(*identity)

// identity is the calling member, with its options.
type identity struct {
	rank   int // -1: the only one of this node
	label  string
	some   bool // it does not wait for all
	quorum core.Quorum
}

// AtRank says which of the members calls Form: it is needed if several are on this
// node.
func AtRank(rank int) Option { return func(i *identity) { i.rank = rank } }

// Labeled says which member on this node calls Await.
func Labeled(label string) Option { return func(i *identity) { i.label = label } }

// AtLeast has Form go on without members that do not come: the group is formed once at least n have
// called Form, and either all live ones have, or the JoinTimeout has passed. Callers whose
// context has ended do not count. Absent members count as failed in the group, as Failed says,
// and nothing waits for them: after Acknowledge calls in the group need only the present members.
// All members give the same numbers, else all calls fail with ErrDiffers.
//
// A member that comes later fails with ErrFormedWithout, for as long as the group has members.
// These can take it in, if they name it as a newcomer in Grow and it calls Await.
//
// All live nodes of the list agree to it, also nodes of absent members. A node that hangs
// holds Form up until it is out of the view. A node that still has members in an earlier group of
// that name does so until they leave it: where members may hang in a group, the survivors
// need another name.
func AtLeast(n int) Option { return func(i *identity) { i.some, i.quorum.AtLeast = true, n } }

// JoinTimeout is for how long members can come to a Form with AtLeast, from the first call of
// one of them; without it, the group is formed when enough have called. When the node that
// gathers the calls fails, another one waits anew.
func JoinTimeout(d time.Duration) Option {
	return func(i *identity) { i.some, i.quorum.JoinTimeout = true, d }
}

// Form forms a group: all members call it, with the same name and the same members in
// the same order, and it returns when all live ones have. Members whose nodes are no
// members of the cluster count as failed. A name can be used again when no member of the
// group of that name is left: a Form of members that have left it waits for the others to
// leave, and names the remaining ones as absent. A Form of other members waits for
// that too, but for some two seconds only if no member of the other group has left it or failed:
// then it fails with ErrDiffers, which names them.
//
// It fails with a phalanx.Error of kind ErrInvalid (ErrNotMember, ErrAlone, a
// RosterError), ErrExists (ErrUsed), ErrMismatch (ErrDiffers: others give other
// members), ErrInvalid (ErrFormedWithout: the others have formed it without this member),
// ErrDeadline or ErrCanceled (an AbsentError names the absent members).
func Form(ctx context.Context, n *cluster.Node, name string, members []Member, opts ...Option) (*Group, error) {
	id := identity{rank: -1}
	for _, o := range opts {
		o(&id)
	}
	pid, err := serviceOf(n, "form", name)
	if err != nil {
		return nil, err
	}
	call, err := formCall(n, name, members, id)
	if err != nil {
		return nil, failure("form", name, phalanx.ErrInvalid, err)
	}
	ctx, cancel := within(ctx)
	defer cancel()
	known(ctx, n, members)
	e, err := do(ctx, n, pid, "form", call)
	return e.group, err
}

// Await returns the group to which a Grow invites this node, or its member with a label:
// now, or when its members call Grow.
func Await(ctx context.Context, n *cluster.Node, opts ...Option) (*Group, error) {
	id := identity{rank: -1}
	for _, o := range opts {
		o(&id)
	}
	pid, err := serviceOf(n, "await", "")
	if err != nil {
		return nil, err
	}
	ctx, cancel := within(ctx)
	defer cancel()
	e, err := do(ctx, n, pid, "await", core.Call{Kind: core.CallAwait, Label: id.label})
	return e.group, err
}

func serviceOf(n *cluster.Node, op, name string) (*actor.PID, error) {
	pid, ok := n.Service(Name)
	if !ok {
		return nil, failure(op, name, phalanx.ErrInvalid, errors.New("this node has no groups: add group.Service() to cluster.Config.Services"))
	}
	return pid, nil
}

// formCall returns the call of a Form.
func formCall(n *cluster.Node, name string, members []Member, id identity) (core.Call, error) {
	c := core.Call{Kind: core.CallForm, Group: name}
	if text := core.ValidName(name); text != "" {
		return c, fmt.Errorf("the name %s", text)
	}
	r, err := core.NewRoster(members)
	if err != nil {
		return c, err
	}
	if len(members) < 2 {
		return c, ErrAlone
	}
	if text := id.quorum.Valid(len(members)); id.some && text != "" {
		return c, errors.New(text)
	}
	c.Quorum = id.quorum
	c.Roster = r
	c.Rank, err = rankOf(r, n.ID(), id)
	return c, err
}

// rankOf returns which of the members on a node calls.
func rankOf(r *core.Roster, self phalanx.NodeID, id identity) (int, error) {
	mine := r.RanksOn(self)
	switch {
	case id.rank >= r.Len() || id.rank < -1:
		return 0, &RosterError{Rank: id.rank, Text: fmt.Sprintf("there are ranks 0 to %d", r.Len()-1)}
	case id.rank >= 0 && !slices.Contains(mine, id.rank):
		return 0, fmt.Errorf("%w: rank %d is %s, and this is %s", ErrNotMember, id.rank, r.Members()[id.rank], self)
	case id.rank >= 0:
		return id.rank, nil
	case len(mine) == 0:
		return 0, fmt.Errorf("%w: %s is not in the list", ErrNotMember, self)
	case len(mine) > 1:
		return 0, fmt.Errorf("%d members are on %s: say which one calls, by AtRank", len(mine), self)
	}
	return mine[0], nil
}

// knownFor bounds how long a Form waits for this node's view to have the members.
const knownFor = time.Second

// known waits until this node's view has the nodes of members. Nodes that it does
// not have after a while are no members of the cluster.
func known(ctx context.Context, n *cluster.Node, members []Member) {
	ctx, cancel := context.WithTimeout(ctx, knownFor)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !knows(n, members) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func knows(n *cluster.Node, members []Member) bool {
	v := n.View()
	return !slices.ContainsFunc(members, func(m Member) bool { return !v.Has(m.Node) })
}
