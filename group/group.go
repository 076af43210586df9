package group

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	core "github.com/phalanx-go/phalanx/protocol/group"
)

// Member is a member of a group: a node, or one of several on it, which labels tell apart.
type Member = core.Member

// Group is a group as one of its members sees it. It is safe for concurrent use; its
// member should Close it when it has no more use for it.
type Group struct {
	node   *cluster.Node
	pid    *actor.PID
	name   string
	rank   int
	roster *core.Roster

	ctx context.Context // of the work under way in the group; ends with an Error
	end context.CancelCauseFunc

	mu      sync.Mutex
	over    error // it was left, or this node was removed
	revoked *RevokedError
	failed  map[int]bool
	acked   map[int]bool // Invariant: these members have failed
	waits   map[*needing]struct{}

	nodesNeeds map[*nodesNeed]struct{} // calls that need some nodes
	rounds     rounds                  // of functions that Go has started
}

func newGroup(n *cluster.Node, pid *actor.PID, d core.Done) *Group {
	g := &Group{node: n, pid: pid, name: d.Group, rank: d.Rank, roster: d.Roster, failed: map[int]bool{}, acked: map[int]bool{}, waits: map[*needing]struct{}{}}
	g.ctx, g.end = context.WithCancelCause(context.Background())
	g.fail(d.Failed)
	return g
}

// Name returns the name of the group. No other group that has members left has this name.
func (g *Group) Name() string { return g.name }

// Rank returns which of the members this one is, from 0.
func (g *Group) Rank() int { return g.rank }

// Size returns how many members the group has, including failed ones.
func (g *Group) Size() int { return g.roster.Len() }

// Members returns the members, by rank.
func (g *Group) Members() []Member { return slices.Clone(g.roster.Members()) }

// Member returns the member with a rank; it fails with a RosterError.
func (g *Group) Member(rank int) (Member, error) {
	if rank < 0 || rank >= g.Size() {
		return Member{}, failure("member", g.name, phalanx.ErrInvalid, &RosterError{Rank: rank, Text: fmt.Sprintf("the group has ranks 0 to %d", g.Size()-1)})
	}
	return g.roster.Members()[rank], nil
}

// Context returns the context of the group: it ends when the group is revoked or left,
// with a cause that says why. The application can use it for its own work for the group.
func (g *Group) Context() context.Context { return g.ctx }

// Failed returns the ranks of the members that are known to have failed, or to have
// left the group.
func (g *Group) Failed() []int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Sorted(maps.Keys(g.failed))
}

// Acknowledge accepts the failures that are known, and returns their ranks: no later call
// fails because of them, and agreements do not report them as unacknowledged.
func (g *Group) Acknowledge() []int {
	g.mu.Lock()
	defer g.mu.Unlock()
	for rank := range g.failed {
		g.acked[rank] = true
	}
	return slices.Sorted(maps.Keys(g.acked))
}

// IsRevoked reports whether the group was revoked, as far as this member knows.
func (g *Group) IsRevoked() bool { return g.Revocation() != nil }

// Revocation returns the member that has revoked the group and its reason, or nil.
func (g *Group) Revocation() *RevokedError {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.revoked
}

// fail notes failures, and interrupts calls that can no longer end well.
func (g *Group) fail(ranks []int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, rank := range ranks {
		g.failed[rank] = true
	}
	for w := range g.waits {
		if g.lost(w.Needs) {
			w.end(g.failure())
		}
	}
	for n := range g.nodesNeeds {
		n.look()
	}
}

// lost reports whether a call can no longer end well without members that have failed and
// are not acknowledged. The caller holds mu.
func (g *Group) lost(n core.Needs) bool { return n.Lost(g.Size(), len(g.failed), len(g.acked)) }

// failure names the members that have failed and are not acknowledged. There are some, and
// the caller holds mu.
func (g *Group) failure() error {
	e := &MemberError{Group: g.name}
	for _, rank := range slices.Sorted(maps.Keys(g.failed)) {
		if !g.acked[rank] {
			e.Ranks, e.Members = append(e.Ranks, rank), append(e.Members, g.roster.Members()[rank])
		}
	}
	f := failure("member", g.name, phalanx.ErrFailed, e)
	f.Node = e.Members[0].Node
	return f
}

// revoke notes a revocation, and interrupts everything.
func (g *Group) revoke(r core.Revocation) {
	e := &RevokedError{Group: g.name, Rank: r.By, Reason: r.Reason, At: time.Unix(0, r.At)}
	if r.By >= 0 && r.By < g.Size() {
		e.By = g.roster.Members()[r.By]
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.revoked == nil {
		g.revoked = e
	}
	f := failure("revoke", g.name, phalanx.ErrRevoked, g.revoked)
	f.Node = e.By.Node
	g.end(f)
}

// leave ends the group here.
func (g *Group) leave(kind phalanx.Kind, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over == nil {
		g.over = failure("call", g.name, kind, err)
	}
	g.end(g.over)
}

// ended returns the cause, other than a revoke, for which members make no more calls through
// the group, or nil.
func (g *Group) ended() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.over
}
