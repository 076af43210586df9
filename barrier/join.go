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

// ErrNotOpened says that no participant had given the barrier's Config when the context of a
// caller that joins ended. The caller has not entered.
var ErrNotOpened = errors.New("no participant has given the barrier's configuration yet")

// Join returns the barrier called name, which uses the Config that other participants give: one
// of them has to enter or watch it by Open. Join fails if the name is invalid.
//
// Enter, Leave, Acquire and Watch wait for the Config, for a minute if their context has no
// deadline, and then fail with ErrNotOpened. Once they have it they work as on an opened
// barrier: an entry counts since the Config is known. Then they also refuse calls that the Config
// forbids: an entry that Config.Expect does not name, or a Watch with a callback that it does not
// ask for.
//
// If the barrier has ended, and others have opened another one by the name, the next call uses
// their Config.
func Join(n *cluster.Node, name string, opts ...Option) (*Barrier, error) {
	return named("join", n, name, opts, nil)
}

// Config returns the barrier's Config, given to Open or by other participants. It waits for it
// as Enter does.
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

// known returns the barrier's Config, or the zero Config.
func (b *Barrier) known() Config {
	if cfg := b.cfg.Load(); cfg != nil {
		return *cfg
	}
	return Config{}
}

// zero reports whether cfg was not given: its barrier is joined.
func zero(cfg Config) bool {
	_, same := cfg.Equal(Config{})
	return same
}

// lacksConfig reports whether a call has to know the Config first. A Release need not: this node
// knows its own holders.
func (a *asked) lacksConfig() bool {
	k := a.call.Kind
	return a.joins && zero(a.call.Config) && (k == core.CallEnter || k == core.CallLeave || k == core.CallWatch || k == core.CallConfig)
}

// next returns the core's next call: the request for a Config, if the caller lacks one.
func (a *asked) next() core.Call {
	if a.lacksConfig() {
		return core.Call{ID: a.id, Kind: core.CallConfig, Key: a.call.Key, Config: a.refused}
	}
	return a.call
}

// joined continues a call that joins, if the core has returned its Config, or says that the call
// used the Config of an earlier barrier. It reports whether the call continues.
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

// learn gives a call its Config. A caller without a deadline waits for as long as the Config
// says, counted from its call.
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
