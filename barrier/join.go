package barrier

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx/cluster"
	core "github.com/phalanx-go/phalanx/protocol/barrier"
)

// ErrNotOpened says that a caller has joined a barrier of which nobody had given the Config when
// its context ended. It has not entered.
var ErrNotOpened = errors.New("no participant has given the barrier's configuration yet")

// Join returns the barrier called name, which goes by the Config that others give: somebody has
// to enter or watch it by Open. It fails if there can be no such name.
//
// Enter, Leave, Acquire and Watch wait until somebody does, for a minute if their context has no
// deadline, and fail with ErrNotOpened if nobody has. Then they do what they do for those who
// have opened it, from then on: an entry counts since the Config is known. What a Config can
// forbid, an entry that Config.Expect does not name or a Watch with a callback that it does not
// ask for, they refuse then.
//
// If the barrier has ended, and others have opened another one by the name, the next call goes
// by their Config.
func Join(n *cluster.Node, name string, opts ...Option) (*Barrier, error) {
	return named("join", n, name, opts, nil)
}

// Config returns the Config that the barrier goes by: the one that it was opened with, or that
// others have given. It waits for it as Enter does.
func (b *Barrier) Config(ctx context.Context) (Config, error) {
	cfg := b.known()
	if zero(cfg) {
		d, err := b.do(ctx, "config", core.CallConfig, Entry{}, nil, nil)
		if err != nil {
			return Config{}, err
		}
		cfg = d.Config
	}
	cfg.Expect = slices.Clone(cfg.Expect)
	return cfg, nil
}

// known returns the Config that the barrier goes by, or none.
func (b *Barrier) known() Config {
	if cfg := b.cfg.Load(); cfg != nil {
		return *cfg
	}
	return Config{}
}

// zero reports whether nobody has given cfg: its barrier is joined.
func zero(cfg Config) bool {
	_, same := cfg.Equal(Config{})
	return same
}

// lacksConfig reports whether a call has to know the Config first. A Release need not: it is of
// what this node holds.
func (a *asked) lacksConfig() bool {
	k := a.call.Kind
	return a.joins && zero(a.call.Config) && (k == core.CallEnter || k == core.CallLeave || k == core.CallWatch || k == core.CallConfig)
}

// next is what the core is asked for a call: its Config, if it lacks one.
func (a *asked) next() core.Call {
	if a.lacksConfig() {
		return core.Call{ID: a.id, Kind: core.CallConfig, Key: a.call.Key, Config: a.refused}
	}
	return a.call
}

// joined goes on with a call that joins, if the core has said by which Config, or that the one
// that it went by is of an earlier barrier. It reports whether the call goes on.
func (s *service) joined(c actor.Context, d core.Done) bool {
	a := s.open.calls[d.ID]
	switch {
	case a == nil || !a.joins:
		return false
	case a.lacksConfig() && d.Outcome == core.Forgotten:
		return false
	case a.lacksConfig():
		a.learn(d.Config, s.node.Now())
		if a.call.Kind == core.CallConfig {
			return false
		}
		if err := a.invalid(); err != nil {
			s.finish(c, d.ID, ending{bad: err})
			return true
		}
	case d.Verdict != core.Mismatch:
		return false
	case a.why != nil: // it has given up meanwhile
		s.finish(c, d.ID, ending{cause: a.why, given: core.GivenUp{Heard: true, Last: d.Last, Withdrawn: true}})
		return true
	default:
		a.refused, a.call.Config = a.call.Config, Config{}
	}
	s.begin(c, a)
	return true
}

// learn has a call go by a Config. A caller that did not say how long it waits waits for as long
// as the Config says, since it has called.
func (a *asked) learn(cfg Config, now time.Duration) {
	a.call.Config = cfg
	if !a.patient {
		return
	}
	a.call.Deadline = a.began + cfg.Patience()
	if a.timer.Stop() {
		a.timer.Reset(max(0, a.call.Deadline-now))
	}
}

// bound has a call's context end, if it has no deadline, when the call has taken as long as its
// Config says.
func (a *asked) bound(ctx context.Context, now time.Duration) (context.Context, context.CancelFunc) {
	a.began = now
	if at, ok := ctx.Deadline(); ok {
		a.call.Deadline = now + time.Until(at)
		return context.WithCancel(ctx)
	}
	ctx, end := context.WithCancelCause(ctx)
	patience := a.call.Config.Patience()
	a.patient, a.call.Deadline = true, now+patience
	a.timer = time.AfterFunc(patience, func() { end(context.DeadlineExceeded) })
	return ctx, func() {
		a.timer.Stop()
		end(nil)
	}
}

// causeOf returns why a context of bound has ended.
func causeOf(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}
