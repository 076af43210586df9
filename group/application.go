package group

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/barrier/message"
	core "github.com/phalanx-go/phalanx/protocol/group"
	"github.com/phalanx-go/phalanx/storenode"
)

// application takes the messages of application actors.
func (s *service) application(c actor.Context) {
	if missesGroup(c.Message()) {
		c.Respond(failure("call", "", phalanx.ErrInvalid, errors.New("the message has no group")))
		return
	}
	if _, ok := c.Message().(*RevokeGroup); c.Sender() == nil && !ok {
		return // the message has no sender to answer
	}
	switch m := c.Message().(type) {
	case *FormGroup:
		call, err := formCall(s.node, m.Name, m.Members, identity{rank: m.Rank, some: m.AtLeast != 0 || m.JoinTimeout != 0, quorum: core.Quorum{AtLeast: m.AtLeast, JoinTimeout: m.JoinTimeout}})
		if err != nil {
			c.Respond(&Formed{Err: failure("form", m.Name, phalanx.ErrInvalid, err)})
			return
		}
		s.forming(c, "form", call, m.Members, m.Deadline)
	case *AwaitGroup:
		s.forming(c, "await", core.Call{Kind: core.CallAwait, Label: m.Label}, nil, m.Deadline)
	case *ShrinkGroup:
		s.forming(c, "shrink", m.Group.call(core.Contribution{For: core.ForShrink}), nil, m.Deadline)
	case *GrowGroup:
		if err := m.Group.validNewcomers(m.Newcomers); err != nil {
			c.Respond(&Formed{Err: err})
			return
		}
		s.forming(c, "grow", m.Group.call(core.Contribution{For: core.ForGrow, Newcomers: m.Newcomers}), m.Newcomers, m.Deadline)
	case *AgreeOn:
		if !m.Op.Valid() {
			c.Respond(&Agreed{Group: m.Group, Err: failure("agree", m.Group.name, phalanx.ErrInvalid, fmt.Errorf("there is no op %d", m.Op))})
			return
		}
		to, root := c.Sender(), c.ActorSystem().Root
		s.asks(c, "agree", m.Group.call(core.Contribution{For: core.ForAgree, Value: m.Value, Op: m.Op}), nil, m.Deadline, func(e ending, err error) {
			root.Send(to, &Agreed{Group: m.Group, Agreement: agreement(e), Err: err})
		})
	case *RevokeGroup:
		if err := validReason(m.Reason); err != nil {
			c.Respond(failure("revoke", m.Group.name, phalanx.ErrInvalid, err))
			return
		}
		if m.Group.IsRevoked() {
			c.Respond(&Interrupted{Group: m.Group, Revocation: m.Group.Revocation()})
			return
		}
		if err := m.Group.ended(); err != nil {
			c.Respond(named(err, "revoke"))
			return
		}
		s.step(c, core.Call{Kind: core.CallRevoke, Group: m.Group.name, Rank: m.Group.rank, Revocation: revocation(m.Group.rank, m.Reason)})
	case *Do:
		s.do(c, m)
	default:
		actors.Unknown(c, "service of groups")
	}
}

func missesGroup(message any) bool {
	switch m := message.(type) {
	case *ShrinkGroup:
		return m.Group == nil
	case *GrowGroup:
		return m.Group == nil
	case *AgreeOn:
		return m.Group == nil
	case *RevokeGroup:
		return m.Group == nil
	case *Do:
		return m.Group == nil
	}
	return false
}

// forming makes a call that ends in a new group, with the sender as its member.
func (s *service) forming(c actor.Context, op string, call core.Call, members []Member, deadline time.Duration) {
	to, root := c.Sender(), c.ActorSystem().Root
	s.asks(c, op, call, members, deadline, func(e ending, err error) { root.Send(to, &Formed{Group: e.group, Err: err}) })
}

// asks makes a call for the sender, when this node knows members, and gives it up after
// a while.
func (s *service) asks(c actor.Context, op string, call core.Call, members []Member, deadline time.Duration, reply func(ending, error)) {
	if deadline <= 0 {
		deadline = defaultDeadline
	}
	a := &asked{call: call, since: time.Now(), actor: c.Sender(), end: func(e ending) { reply(e, e.err(op, call.Group)) }}
	root, self := c.ActorSystem().Root, c.Self()
	a.timer = time.AfterFunc(deadline, func() { root.Send(self, &givenUp{a, context.DeadlineExceeded}) })
	node := s.node
	if knows(node, members) {
		s.ask(c, a)
		return
	}
	go func() {
		known(context.Background(), node, members)
		root.Send(self, a)
	}()
}

// needs returns the members that a request to the store needs.
func needs(request any) core.Needs {
	switch r := request.(type) {
	case *storenode.Reduce:
		if r != nil {
			return sources(*r)
		}
	case *storenode.AllReduce:
		if r != nil {
			return sources(storenode.Reduce(*r))
		}
	case *storenode.Gather:
		if r != nil {
			return core.NeedsSources(r.Num, len(r.Sources))
		}
	}
	return nobody
}

// do has the store, or the barriers, do a request in a group. It answers a failure as the
// request would be answered.
func (s *service) do(c actor.Context, m *Do) {
	if p, ok := m.Request.(*storenode.Prefetch); ok && p != nil {
		prefetch(c, m.Group, *p)
		return
	}
	enter, ok := m.Request.(*message.Enter)
	if !ok || enter == nil {
		in := m.Group.scope(context.Background(), needs(m.Request))
		c.RequestWithCustomSender(s.node.Store(), &storenode.Within{Context: in, Request: m.Request, Over: in.end}, c.Sender())
		return
	}
	to, root := c.Sender(), c.ActorSystem().Root
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(max(0, enter.Deadline), enter.Config.Patience()))
		defer cancel()
		var p barrier.Passage
		b, err := m.Group.Barrier(enter.Name, enter.Config, barrier.WithGeneration(enter.Generation))
		if err == nil {
			p, err = b.Enter(ctx, enter.Entry)
		}
		root.Send(to, &message.Entered{Passage: p, Err: err})
	}()
}
