package group

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/messages"
	core "github.com/phalanx-go/phalanx/protocol/group"
)

// Status is the state of a group.
type Status struct {
	Name    string         `json:"name"`
	Members []MemberStatus `json:"members"` // by rank
	Revoked *RevokeStatus  `json:"revoked,omitempty"`
	Sent    int            `json:"sent,omitempty"` // messages of its revoke that the nodes which answer have sent
}

// MemberStatus is the state of a member.
type MemberStatus struct {
	Node  phalanx.NodeID `json:"node"`
	Label string         `json:"label,omitempty"`
	State State          `json:"state"`
}

// Member returns the member.
func (m MemberStatus) Member() Member { return Member{Node: m.Node, Label: m.Label} }

// State says whether a member is still in its group.
type State string

// The states of members.
const (
	Live   State = "live"
	Failed State = "failed" // its node is no member of the cluster any more
	Left   State = "left"   // it has closed its group
)

// RevokeStatus names the member that has revoked a group, and its reason; of several, the first.
type RevokeStatus struct {
	By     Member    `json:"by"`
	Rank   int       `json:"rank"` // of By
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"` // by the clock of By's node
}

// List returns the groups that have members in the cluster, by name. Each node reports
// its groups: a member has failed, or left, if one node knows. Reports of nodes that do
// not answer are missing, and the error names these nodes.
func List(ctx context.Context, n *cluster.Node) ([]Status, error) {
	ctx, cancel := within(ctx)
	defer cancel()
	members := n.View().Members
	seen, errs := make([][]core.Seen, len(members)), make([]error, len(members))
	var wg sync.WaitGroup
	for i, m := range members {
		pid, ok := n.ServiceOn(m.ID, Name)
		if !ok {
			continue
		}
		wg.Go(func() {
			var err error
			if seen[i], err = seenOn(ctx, n, pid); err != nil {
				errs[i] = &phalanx.Error{Op: "group list", Node: m.ID, Kind: phalanx.ErrUnavailable, Err: err}
			}
		})
	}
	wg.Wait()
	return merge(slices.Concat(seen...)), errors.Join(errs...)
}

// merge makes one status of all reports of a group. Nodes that do not know of each
// other's groups can use a name twice: groups of one name and other members are different
// groups.
func merge(all []core.Seen) []Status {
	named := map[string][]*Status{}
	for _, s := range all {
		i := slices.IndexFunc(named[s.Name], func(st *Status) bool { return st.of(s.Roster) })
		if i < 0 {
			i = len(named[s.Name])
			named[s.Name] = append(named[s.Name], status(s))
		}
		named[s.Name][i].add(s)
	}
	out := []Status{}
	for _, same := range named {
		for _, st := range same {
			out = append(out, *st)
		}
	}
	slices.SortFunc(out, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), slices.CompareFunc(a.Members, b.Members, func(a, b MemberStatus) int {
			return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Label, b.Label))
		}))
	})
	return out
}

// status returns a status that only has the members.
func status(s core.Seen) *Status {
	st := &Status{Name: s.Name}
	for _, m := range s.Roster.Members() {
		st.Members = append(st.Members, MemberStatus{m.Node, m.Label, Live})
	}
	return st
}

// of reports whether the group has the members of r.
func (st *Status) of(r *core.Roster) bool {
	return slices.EqualFunc(st.Members, r.Members(), func(a MemberStatus, b Member) bool { return a.Member() == b })
}

// add adds another node's report. A member that has left stays so when its node goes.
func (st *Status) add(s core.Seen) {
	st.Sent += s.Sent
	for _, rank := range s.Failed {
		if rank < len(st.Members) && st.Members[rank].State == Live {
			st.Members[rank].State = Failed
		}
	}
	for _, rank := range s.Left {
		if rank < len(st.Members) {
			st.Members[rank].State = Left
		}
	}
	if r := s.Revoked; r != nil && r.By < len(st.Members) {
		said := &RevokeStatus{By: st.Members[r.By].Member(), Rank: r.By, Reason: r.Reason, At: time.Unix(0, r.At).UTC()}
		if st.Revoked == nil || cmp.Or(said.At.Compare(st.Revoked.At), cmp.Compare(said.Rank, st.Revoked.Rank)) < 0 {
			st.Revoked = said
		}
	}
}

// lookFor bounds how long one member may take to report its groups.
const lookFor = 2 * time.Second

// seenOn asks a member, or this node itself.
func seenOn(ctx context.Context, n *cluster.Node, pid *actor.PID) ([]core.Seen, error) {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	r, err := n.Request(ctx, pid, &messages.GroupLook{})
	if err != nil {
		return nil, err
	}
	m, ok := r.(*messages.GroupLooked)
	if !ok {
		return nil, fmt.Errorf("the node answers with a %T", r)
	}
	seen, more, err := messages.GroupsSeenFromProto(m)
	if err == nil && more > 0 {
		err = fmt.Errorf("the answer leaves out %d groups: it names at most %d members in all", more, core.MaxSeen)
	}
	return seen, err
}
