package group

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	core "github.com/phalanx-go/phalanx/protocol/group"
)

// The package's own messages to the service's actor.
type (
	// asked is a call that waits.
	asked struct {
		call  core.Call
		since time.Time
		actor *actor.PID // the caller, if it is an actor
		why   error      // it is given up
		end   func(ending)
		taken atomic.Bool // by its end, or by a caller that has gone
		timer *time.Timer
	}
	givenUp struct {
		*asked
		cause error
	}
	revoke struct {
		g      *Group
		reason string
	}
	closing struct{ g *Group }
)

// ending is the end of a call: the core's answer, or the cause for giving up.
type ending struct {
	done   core.Done
	group  *Group // that it has made
	absent []string
	cause  error
}

// finish gives the caller the end of its call; it reports whether it was still there.
func (a *asked) finish(e ending) bool {
	if a.timer != nil {
		a.timer.Stop()
	}
	if !a.taken.CompareAndSwap(false, true) {
		return false
	}
	a.end(e)
	return true
}

// inside reports whether the call makes no group: it is an Agree.
func (a *asked) inside() bool { return a.call.Contribution.For == core.ForAgree }

// of returns the group from which the new group is made.
func (a *asked) of() string {
	if a.call.Kind == core.CallAgree {
		return a.call.Group
	}
	return ""
}

// err returns what the end of a call is to its caller.
func (e ending) err(op, group string) error {
	switch {
	case errors.Is(e.cause, errLeft):
		return failure(op, group, phalanx.ErrClosed, errLeft)
	case e.cause != nil:
		return given(op, group, e.cause, e.absent)
	}
	return outcome(op, group, e.done)
}

// answerWithin bounds how long after its deadline a call may return.
const answerWithin = time.Second

// do makes a call and waits for its end; ctx has a deadline.
func do(ctx context.Context, n *cluster.Node, pid *actor.PID, op string, c core.Call) (ending, error) {
	ended := make(chan ending, 1)
	a := &asked{call: c, since: time.Now(), end: func(e ending) { ended <- e }}
	root := n.System().Root
	root.Send(pid, a)
	left := func() (ending, error) { return ending{}, failure(op, c.Group, phalanx.ErrClosed, errLeft) }
	select {
	case e := <-ended:
		return e, e.err(op, c.Group)
	case <-n.Done():
		return left()
	case <-ctx.Done():
	}
	root.Send(pid, &givenUp{a, ctx.Err()})
	select {
	case e := <-ended:
		return e, e.err(op, c.Group)
	case <-n.Done():
		return left()
	case <-time.After(answerWithin): // the actor is not there: it is restarted
		if a.taken.CompareAndSwap(false, true) {
			return ending{}, given(op, c.Group, ctx.Err(), nil)
		}
		e := <-ended
		return e, e.err(op, c.Group)
	}
}
