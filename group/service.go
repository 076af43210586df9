package group

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/node/member"
	core "github.com/phalanx-go/phalanx/protocol/group"
)

// Name is the name of the service's actor, and of the feature that members have in the
// view.
const Name = "groups"

// Service has a node take part in groups: it belongs into cluster.Config.Services.
func Service() cluster.Service {
	return cluster.Service{Name: Name, Actor: func(n *cluster.Node) *actor.Props {
		o := &open{core: core.NewCore(core.Config{}), calls: map[uint64]*asked{}, groups: map[string]map[int]*Group{}, actors: map[seat]*actor.PID{}, seats: map[string]map[seat]struct{}{}}
		// The other mailbox never gives back the memory of its longest queue.
		return actor.PropsFromProducer(func() actor.Actor { return &service{node: n, open: o} }, actor.WithMailbox(actor.UnboundedLockfree()))
	}}
}

// open is the state that outlives the actor's instance, which another one follows after a
// panic: no other node knows this node's promises.
type open struct {
	core   *core.Core
	ids    uint64
	calls  map[uint64]*asked
	groups map[string]map[int]*Group    // of members here that have not left, by name and rank
	actors map[seat]*actor.PID          // the members that are actors
	seats  map[string]map[seat]struct{} // of an actor, by its id
	said   int64                        // bytes that the node counts against its memory cap
	most   int                          // the most groups or calls since the maps were made
}

// maxRoom bounds the groups and calls for which empty maps keep memory.
const maxRoom = 256

// fit gives back the memory of groups and calls when none is left: maps do not shrink.
func (o *open) fit() {
	o.most = max(o.most, len(o.groups), len(o.calls), len(o.actors))
	if o.most > maxRoom && len(o.groups)+len(o.calls)+len(o.actors) == 0 {
		o.calls, o.groups, o.actors, o.seats, o.most = map[uint64]*asked{}, map[string]map[int]*Group{}, map[seat]*actor.PID{}, map[string]map[seat]struct{}{}, 0
	}
}

// enter adds a member, which may be an actor.
func (o *open) enter(g *Group, member *actor.PID) {
	if o.groups[g.name] == nil {
		o.groups[g.name] = map[int]*Group{}
	}
	o.groups[g.name][g.rank] = g
	if member == nil {
		return
	}
	at := seat{g.name, g.rank}
	o.actors[at] = member
	if o.seats[member.String()] == nil {
		o.seats[member.String()] = map[seat]struct{}{}
	}
	o.seats[member.String()][at] = struct{}{}
}

// leave removes a member; it reports whether it was there.
func (o *open) leave(g *Group) bool {
	if o.groups[g.name][g.rank] != g {
		return false
	}
	if delete(o.groups[g.name], g.rank); len(o.groups[g.name]) == 0 {
		delete(o.groups, g.name)
	}
	at := seat{g.name, g.rank}
	if pid := o.actors[at]; pid != nil {
		delete(o.actors, at)
		if delete(o.seats[pid.String()], at); len(o.seats[pid.String()]) == 0 {
			delete(o.seats, pid.String())
		}
	}
	return true
}

// seat is a member's place in a group.
type seat struct {
	group string
	rank  int
}

// service is the actor. It owns the node's core.
type service struct {
	node   *cluster.Node
	open   *open
	wakeup actors.Wakeup
	self   phalanx.NodeID
}

// Receive turns messages into events.
func (s *service) Receive(c actor.Context) {
	if s.wakeup.Due(c) {
		s.step(c, core.Tick{})
		return
	}
	switch m := c.Message().(type) {
	case *actor.Started:
		s.start(c)
	case *actor.Stopping:
		s.end()
	case *actor.Terminated:
		s.ended(c, m.Who)
	case cluster.Viewed:
		s.self = m.Self
		s.step(c, member.ForGroups(Name, m.Self, m.View))
		for _, members := range s.open.groups { // a node may go whose member had left before
			for _, g := range members {
				g.viewed()
			}
		}
	case *messages.GroupLetter:
		from, to, letter, err := messages.GroupFromProto(m)
		if err == nil && to == s.self {
			s.step(c, core.Heard{From: from, Message: letter})
		}
	case *messages.GroupLook:
		c.Respond(messages.GroupsSeenToProto(s.open.core.Seen()))
	case *asked:
		s.ask(c, m)
	case *givenUp:
		s.giveUp(c, m)
	case *revoke:
		s.step(c, core.Call{Kind: core.CallRevoke, Group: m.g.name, Rank: m.g.rank, Revocation: revocation(m.g.rank, m.reason)})
	case *closing:
		s.closing(c, m.g)
	case actors.Crash:
		panic(m)
	default:
		s.application(c)
	}
}

// start goes on with the members that are here: it watches their actors, and takes the view.
func (s *service) start(c actor.Context) {
	for _, pid := range s.open.actors {
		c.Watch(pid)
	}
	s.view(c)
}

// view takes the node's view, which the actor may not have received yet.
func (s *service) view(c actor.Context) {
	if v := s.node.View(); v.Has(s.node.ID()) {
		s.self = s.node.ID()
		s.step(c, member.ForGroups(Name, s.self, v))
	}
}

// end fails waiting callers, and work under way: the node leaves.
func (s *service) end() {
	for id, a := range s.open.calls {
		delete(s.open.calls, id)
		a.finish(ending{cause: errLeft})
	}
	for _, here := range s.open.groups {
		for _, g := range here {
			s.open.leave(g)
			g.leave(phalanx.ErrClosed, errLeft)
		}
	}
}

// ask takes a call.
func (s *service) ask(c actor.Context, a *asked) {
	if a.why != nil { // it was given up before
		a.finish(ending{cause: a.why})
		return
	}
	s.open.ids++
	a.call.ID = s.open.ids
	s.open.calls[a.call.ID] = a
	if a.call.Kind == core.CallForm || a.call.For == core.ForGrow { // it has waited for members to be in that view
		s.view(c)
	}
	s.step(c, a.call)
}

func (s *service) giveUp(c actor.Context, g *givenUp) {
	g.why = g.cause
	if s.open.calls[g.call.ID] == g.asked {
		s.step(c, core.GiveUp{ID: g.call.ID})
	}
}

// finish ends a call. A call that has made a group has a member in it from now on.
func (s *service) finish(c actor.Context, id uint64, e ending) {
	a := s.open.calls[id]
	if a == nil {
		return
	}
	delete(s.open.calls, id)
	if made := e.done.Outcome == core.OK && e.cause == nil && e.done.Group != "" && !a.inside(); made {
		e.group = newGroup(s.node, c.Self(), e.done)
		s.open.enter(e.group, a.actor)
		if a.actor != nil {
			c.Watch(a.actor)
		}
		s.publish(actors.GroupFormed{Group: e.group.name, Of: a.of(), Members: e.group.Size(), Took: time.Since(a.since)})
	}
	if !a.finish(e) && e.group != nil { // its caller has gone
		s.closing(c, e.group)
	}
}

// closing has a member leave.
func (s *service) closing(c actor.Context, g *Group) {
	if !s.open.leave(g) {
		return
	}
	g.leave(phalanx.ErrClosed, errClosed)
	s.step(c, core.Call{Kind: core.CallClose, Group: g.name, Rank: g.rank})
}

// ended has the members leave that were an actor.
func (s *service) ended(c actor.Context, who *actor.PID) {
	for at := range s.open.seats[who.String()] {
		s.closing(c, s.open.groups[at.group][at.rank])
	}
}

// step gives the core an event, and carries out its effects.
func (s *service) step(c actor.Context, e core.Event) {
	for _, o := range s.open.core.Step(s.node.Now(), e) {
		switch o := o.(type) {
		case core.Send:
			if pid, ok := s.node.ServiceOn(o.To, Name); ok {
				c.Send(pid, messages.GroupToProto(s.self, o.To, o.Message))
			}
		case core.Done:
			s.finish(c, o.ID, ending{done: o})
		case core.GivenUp:
			if a := s.open.calls[o.ID]; a != nil {
				s.finish(c, o.ID, ending{cause: a.why, absent: o.Absent})
			}
		case core.Revoked:
			s.revoked(c, o)
		case core.Failed:
			s.failed(c, o)
		case core.Ended:
			s.removed(o.Group)
		}
	}
	s.open.fit()
	s.hold(s.open.core.Bytes())
	s.wake(c)
}

// minMore is by how many bytes the core's memory has to change before the node counts it anew.
const minMore = 4 << 10

// hold has the node count the core's memory against its memory cap, if that has changed by
// more than a sixteenth, or is zero now.
func (s *service) hold(bytes int64) {
	more := max(bytes-s.open.said, s.open.said-bytes)
	if more <= max(minMore, s.open.said/16) && (bytes > 0 || more == 0) {
		return
	}
	s.open.said = bytes
	s.node.Holds(Name, bytes)
}

// wake has the core ticked when it wants to be.
func (s *service) wake(c actor.Context) {
	at, ok := s.open.core.Due()
	s.wakeup.Set(c, s.node.Now(), at, ok)
}

// revoked interrupts the calls of members here.
func (s *service) revoked(c actor.Context, o core.Revoked) {
	var told *Group
	for _, rank := range o.Ranks {
		if g := s.open.groups[o.Group][rank]; g != nil {
			told = g
			g.revoke(o.Revocation)
			if pid := s.open.actors[seat{o.Group, rank}]; pid != nil {
				c.Send(pid, &Interrupted{Group: g, Revocation: g.Revocation()})
			}
		}
	}
	if told != nil {
		r := told.Revocation()
		s.publish(actors.GroupRevoked{Group: o.Group, By: r.By.String(), Reason: r.Reason, Took: max(0, time.Since(r.At))})
	}
}

// failed tells members here of failures.
func (s *service) failed(c actor.Context, o core.Failed) {
	var told *Group
	for rank, g := range s.open.groups[o.Group] {
		told = g
		g.fail(o.Ranks)
		if pid := s.open.actors[seat{o.Group, rank}]; pid != nil {
			c.Send(pid, &MembersFailed{Group: g, Ranks: o.Ranks, Left: o.Left})
		}
	}
	if told != nil {
		s.publish(actors.GroupMemberFailed{Group: o.Group, Members: told.roster.Names(o.Ranks), Left: o.Left})
	}
}

// removed ends a group that goes on without this node.
func (s *service) removed(group string) {
	for _, g := range s.open.groups[group] {
		s.open.leave(g)
		g.leave(phalanx.ErrFenced, errFenced)
	}
}

func (s *service) publish(e actors.Event) { s.node.System().EventStream.Publish(e) }
