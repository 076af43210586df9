package barrier

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/barrier/message"
	core "github.com/phalanx-go/phalanx/protocol/barrier"
)

// The messages of application actors.

func (s *service) entered(c actor.Context, m *message.Enter) {
	k := core.Key{Name: m.Name, Generation: m.Generation}
	to, root := c.Sender(), c.ActorSystem().Root
	s.asks(c, "enter", core.Call{Kind: core.CallEnter, Key: k, Config: m.Config, Entry: s.entry(m.Entry)}, m.Deadline, nil, func(e ending, err error) {
		r := &message.Entered{Err: err, Passage: Passage{Late: e.done.Verdict == core.LateFire || e.done.Verdict == core.Behind, Term: e.done.Term}}
		if err == nil && e.done.Verdict == core.Behind {
			r.Err = failure("enter", k, phalanx.ErrAborted, ErrCatchUp)
		}
		root.Send(to, r)
	})
}

func (s *service) released(c actor.Context, m *message.Release) {
	k := core.Key{Name: m.Name, Generation: m.Generation}
	to, root := c.Sender(), c.ActorSystem().Root
	s.asks(c, "release", core.Call{Kind: core.CallRelease, Key: k, Config: m.Config, Entry: s.entry(m.Entry)}, m.Deadline, nil, func(_ ending, err error) {
		root.Send(to, &message.Released{Err: err})
	})
}

func (s *service) leaving(c actor.Context, m *message.Leave) {
	k := core.Key{Name: m.Name, Generation: m.Generation}
	to, root := c.Sender(), c.ActorSystem().Root
	s.asks(c, "leave", core.Call{Kind: core.CallLeave, Key: k, Config: m.Config, Entry: s.entry(m.Entry)}, m.Deadline, nil, func(_ ending, err error) {
		root.Send(to, &message.Left{Err: err})
	})
}

func (s *service) removing(c actor.Context, m *message.Remove) {
	k := core.Key{Name: m.Name, Generation: m.Generation}
	to, root := c.Sender(), c.ActorSystem().Root
	s.asks(c, "remove", core.Call{Kind: core.CallRemove, Key: k, Config: Config{Max: 1}, Entry: s.entry(Entry{})}, m.Deadline, nil, func(_ ending, err error) {
		root.Send(to, &message.Removed{Err: err})
	})
}

func (s *service) hosts(c actor.Context, m *message.Hosts) {
	k := core.Key{Name: m.Name, Generation: m.Generation}
	to, root := c.Sender(), c.ActorSystem().Root
	s.asks(c, "hosts", core.Call{Kind: core.CallHosts, Key: k, Config: Config{Max: 1}, Entry: s.entry(Entry{})}, m.Deadline, nil, func(e ending, err error) {
		root.Send(to, &message.Passed{Hosts: e.done.Hosts, Err: err})
	})
}

func (s *service) watching(c actor.Context, m *message.Watch) {
	k := core.Key{Name: m.Name, Generation: m.Generation}
	to, root := c.Sender(), c.ActorSystem().Root
	target := m.To
	if target == nil {
		target = to
	}
	s.asks(c, "watch", core.Call{Kind: core.CallWatch, Key: k, Config: m.Config, Entry: s.entry(Entry{})}, m.Deadline, target, func(_ ending, err error) {
		root.Send(to, &message.Watching{Err: err})
	})
}

func (s *service) entry(e Entry) Entry {
	e.Host = cmp.Or(e.Host, s.self.Name())
	return e
}

// asks makes a call for an actor, and gives it up after within.
func (s *service) asks(c actor.Context, op string, call core.Call, within time.Duration, watcher *actor.PID, reply func(ending, error)) {
	a := &asked{call: call, joins: zero(call.Config), to: watcher, end: func(e ending) { reply(e, e.err(op, call.Key)) }}
	err := errors.Join(call.Key.Validate(), a.invalid())
	if !a.joins {
		err = errors.Join(err, call.Config.Validate())
	}
	if err != nil {
		reply(ending{}, failure(op, call.Key, phalanx.ErrInvalid, err))
		return
	}
	if a.patient = within <= 0; a.patient {
		within = call.Config.Patience()
	}
	a.began = s.node.Now()
	a.call.Deadline = a.began + within
	root, self := c.ActorSystem().Root, c.Self()
	a.timer = time.AfterFunc(within, func() { root.Send(self, &givenUp{a, context.DeadlineExceeded}) })
	s.ask(c, a)
}
