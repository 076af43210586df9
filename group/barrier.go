package group

import (
	"context"
	"errors"
	"strings"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/barrier"
)

// Barrier is a barrier.Barrier in a group.
type Barrier struct {
	g   *Group
	b   *barrier.Barrier
	all bool // it waits for every member
}

// scopes makes the name of a group a prefix that no other one has.
var scopes = strings.NewReplacer("%", "%25", "/", "%2F")

// Barrier opens a barrier of the group, whose name others may have in theirs. If
// cfg.Max is 0 it waits for as many as the group has live members.
func (g *Group) Barrier(name string, cfg barrier.Config, opts ...barrier.Option) (*Barrier, error) {
	waits := cfg.Semaphore == barrier.Semaphore{}
	if cfg.Max == 0 && waits {
		cfg.Max = g.Size() - len(g.acknowledged())
	}
	b, err := barrier.Open(g.node, scopes.Replace(g.name)+"/"+name, cfg, opts...)
	if err != nil {
		return nil, err
	}
	return &Barrier{g, b, waits && cfg.Timeout == 0 && cfg.Percent == 0 && cfg.Knee == barrier.Knee{} && !cfg.Ask}, nil
}

// Enter is barrier.Barrier.Enter in the group. If host is empty, the member enters. A
// barrier that waits for all also ends with phalanx.ErrFailed when a member fails.
func (b *Barrier) Enter(ctx context.Context, label, host string) (barrier.Passage, error) {
	host = b.host(host)
	return in(ctx, b.g, "enter", b.all, func(ctx context.Context) (barrier.Passage, error) { return b.enter(ctx, label, host) }, nil)
}

// enter enters, and does not wait for the withdrawal where the group has ended.
func (b *Barrier) enter(ctx context.Context, label, host string) (barrier.Passage, error) {
	type ending struct {
		barrier.Passage
		err error
	}
	ended := make(chan ending, 1)
	b.b.EnterFunc(ctx, label, host, func(p barrier.Passage, err error) { ended <- ending{p, err} })
	select {
	case e := <-ended:
		return e.Passage, e.err
	case <-ctx.Done():
	}
	var group *phalanx.Error
	if errors.As(context.Cause(ctx), &group) {
		return barrier.Passage{}, ctx.Err()
	}
	e := <-ended
	return e.Passage, e.err
}

// Release is barrier.Barrier.Release. It works in a group that is revoked, too.
func (b *Barrier) Release(ctx context.Context, label, host string) error {
	return b.b.Release(ctx, label, b.host(host))
}

// Hosts is barrier.Barrier.Hosts in the group.
func (b *Barrier) Hosts(ctx context.Context) (map[string][]string, error) {
	return in(ctx, b.g, "hosts", false, b.b.Hosts, nil)
}

// Watch is barrier.Barrier.Watch.
func (b *Barrier) Watch(ctx context.Context, f barrier.Callbacks) (stop func(), err error) {
	return in(ctx, b.g, "watch", false, func(ctx context.Context) (func(), error) { return b.b.Watch(ctx, f) }, func(stop func()) { stop() })
}

func (b *Barrier) host(host string) string {
	if host == "" {
		return b.g.roster.Members()[b.g.rank].String()
	}
	return host
}
