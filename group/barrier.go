package group

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/barrier"
	rules "github.com/phalanx-go/phalanx/protocol/barrier"
	core "github.com/phalanx-go/phalanx/protocol/group"
)

// Barrier is a barrier.Barrier in a group.
type Barrier struct {
	g        *Group
	b        *barrier.Barrier
	patience time.Duration // of an Enter whose context has no deadline
	needs    core.Needs
}

// scopes makes the name of a group a prefix that no other group has.
var scopes = strings.NewReplacer("%", "%25", "/", "%2F")

// maxScope bounds the prefix: the names of barriers in a group need room too.
const maxScope = 128

// scopeOf returns the prefix of the barriers of a group. A longer one ends in a digest.
func scopeOf(group string) string {
	scope := scopes.Replace(group)
	if len(scope) <= maxScope {
		return scope
	}
	digest := fnv.New64a()
	fmt.Fprint(digest, group)
	end := fmt.Sprintf("%%h%016x", digest.Sum64())
	return strings.ToValidUTF8(scope[:maxScope-len(end)], "") + end
}

// Barrier opens a barrier of the group; other groups may use the same name for theirs. If
// cfg.Max is 0 it waits for as many units as the group has live members: after an Acknowledge
// it is another barrier, and the caller has to open it again.
func (g *Group) Barrier(name string, cfg barrier.Config, opts ...barrier.Option) (*Barrier, error) {
	waits := cfg.Semaphore == barrier.Semaphore{}
	key := scopeOf(g.name) + "/" + name
	if cfg.Max == 0 && waits {
		acknowledged := g.acknowledged()
		cfg.Max = g.Size() - len(acknowledged)
		key += without(acknowledged)
	}
	if room := rules.MaxLabel - len(key) + len(name); len(name) > room {
		return nil, failure("barrier", g.name, phalanx.ErrInvalid, &barrier.FieldError{Field: "Name",
			Text: fmt.Sprintf("%d bytes are more than the %d that are left beside the name of the group", len(name), room)})
	}
	b, err := barrier.Open(g.node, key, cfg, opts...)
	if err != nil {
		return nil, err
	}
	return &Barrier{g, b, cfg.Patience(), core.Needs{Parts: cfg.Least()}}, nil
}

// without is the end of the name of a barrier that waits for all but some ranks. Members that
// waited for these ranks too may still be entered in the earlier barrier.
func without(ranks []int) string {
	if len(ranks) == 0 {
		return ""
	}
	digest := fnv.New64a()
	fmt.Fprint(digest, ranks)
	return fmt.Sprintf("~%d-%016x", len(ranks), digest.Sum64())
}

// Enter is barrier.Barrier.Enter in the group. If e.Host is empty, the member enters. It
// also ends with phalanx.ErrFailed when a member has failed, and the members that are left are
// too few for the barrier to fire, by one unit each.
func (b *Barrier) Enter(ctx context.Context, e barrier.Entry) (barrier.Passage, error) {
	e = b.entry(e)
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.patience)
		defer cancel()
	}
	return in(ctx, b.g, "enter", b.needs, func(ctx context.Context) (barrier.Passage, error) { return b.enter(ctx, e) }, nil)
}

// enter enters. It does not wait for the withdrawal where the group has ended; where members
// have failed it does, since the barrier may have fired before.
func (b *Barrier) enter(ctx context.Context, as barrier.Entry) (barrier.Passage, error) {
	type ending struct {
		barrier.Passage
		err error
	}
	ended := make(chan ending, 1)
	b.b.EnterFunc(ctx, as, func(p barrier.Passage, err error) { ended <- ending{p, err} })
	select {
	case e := <-ended:
		return e.Passage, e.err
	case <-ctx.Done():
	}
	if b.g.ctx.Err() != nil {
		return barrier.Passage{}, ctx.Err()
	}
	e := <-ended
	return e.Passage, e.err
}

// Release is barrier.Barrier.Release. It works in a group that is revoked, too.
func (b *Barrier) Release(ctx context.Context, e barrier.Entry) error {
	return b.b.Release(ctx, b.entry(e))
}

// Leave is barrier.Barrier.Leave in the group. If e.Host is empty, the member leaves. Failures do
// not end it: it does not wait for members whose nodes are gone.
func (b *Barrier) Leave(ctx context.Context, e barrier.Entry) error {
	e = b.entry(e)
	_, err := in(ctx, b.g, "leave", nobody, func(ctx context.Context) (struct{}, error) { return struct{}{}, b.b.Leave(ctx, e) }, nil)
	return err
}

// Remove is barrier.Barrier.Remove. It works in a group that is revoked, too.
func (b *Barrier) Remove(ctx context.Context) error { return b.b.Remove(ctx) }

// Hosts is barrier.Barrier.Hosts in the group.
func (b *Barrier) Hosts(ctx context.Context) (map[string][]string, error) {
	return in(ctx, b.g, "hosts", nobody, b.b.Hosts, nil)
}

// Watch is barrier.Barrier.Watch.
func (b *Barrier) Watch(ctx context.Context, f barrier.Callbacks) (stop func(), err error) {
	return in(ctx, b.g, "watch", nobody, func(ctx context.Context) (func(), error) { return b.b.Watch(ctx, f) }, func(stop func()) { stop() })
}

// entry has the member enter where no host is named.
func (b *Barrier) entry(e barrier.Entry) barrier.Entry {
	e.Host = cmp.Or(e.Host, b.g.roster.Members()[b.g.rank].String())
	return e
}
