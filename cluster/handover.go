package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
)

const (
	// handOverPatience is how long a node that leaves goes on trying after it could
	// not get rid of anything for the first time.
	handOverPatience = 2 * time.Second
	handOverAgain    = 20 * time.Millisecond
	handOverAtOnce   = 8 // objects: each is asked about, and fetched, on its own
)

// heirs is who has taken over what: node ids by object ids.
type heirs = sync.Map

// handOver has members that stay pin each object that is here, unless one of them
// has it pinned: a copy that is not could be evicted, as long as the one that leaves
// counts as another. It looks again until it finds none: others who leave may
// have handed something over to this node before they knew that it leaves too.
func (l *life) handOver(ctx context.Context) error {
	var stuck time.Time // since then it has got rid of nothing; zero: it has, or has not tried
	taken := &heirs{}
	for pass := 0; ; pass++ {
		moved, err := l.handOverOnce(ctx, pass, taken)
		switch {
		case moved > 0:
			stuck = time.Time{}
			continue
		case err == nil || ctx.Err() != nil || !stuck.IsZero() && time.Since(stuck) > handOverPatience:
			return err
		case stuck.IsZero(): // one try can take longer than the patience
			stuck = time.Now()
		}
		select {
		case <-time.After(handOverAgain):
		case <-ctx.Done():
		}
	}
}

// handOverOnce tries for each object once and returns how many were taken over. It
// notes by whom: an heir has pinned what it says that it has.
func (l *life) handOverOnce(ctx context.Context, pass int, taken *heirs) (moved int, err error) {
	var stay []phalanx.NodeID
	for _, m := range l.view.Load().Members {
		if m.ID != l.id && !m.Leaving {
			stay = append(stay, m.ID)
		}
	}
	if len(stay) == 0 {
		return 0, nil
	}
	var group errgroup.Group
	group.SetLimit(handOverAtOnce)
	var mu sync.Mutex
	var errs []error
	for i, id := range l.store.Table.Complete() {
		if ctx.Err() != nil {
			mu.Lock()
			errs = append(errs, fmt.Errorf("there was no time to hand over %q: %w", string(id), ctx.Err()))
			mu.Unlock()
			break
		}
		group.Go(func() error {
			did, err := l.handOverObject(ctx, id, func(st directory.ObjectStat) phalanx.NodeID { return heirOf(st, stay, i, pass) }, stay, taken)
			mu.Lock()
			defer mu.Unlock()
			if did {
				moved++
			}
			if err != nil {
				errs = append(errs, err)
			}
			return nil
		})
	}
	_ = group.Wait()
	return moved, errors.Join(errs...)
}

// handOverObject has one of those who stay take over an object, unless one keeps it
// already.
func (l *life) handOverObject(ctx context.Context, id phalanx.ObjectID, choose func(directory.ObjectStat) phalanx.NodeID, stay []phalanx.NodeID, taken *heirs) (did bool, err error) {
	st, err := l.n.Stat(ctx, id)
	before, _ := taken.Load(id)
	has, _ := before.(phalanx.NodeID)
	switch {
	case errors.Is(err, phalanx.ErrNotFound) || errors.Is(err, phalanx.ErrDeleted):
		return false, nil
	case err != nil:
		return false, err
	case st.Inline || keptBy(st, stay, has):
		return false, nil
	}
	heir := choose(st)
	if _, err := storenode.Call(ctx, l.store, "hand over", id, func(d time.Duration, done func(struct{}, error)) {
		l.store.HandOver(ctx, id, heir, d, func(err error) { done(struct{}{}, err) })
	}); err != nil {
		return false, err
	}
	taken.Store(id, heir)
	return true, nil
}

// keptBy reports whether one of those who stay keeps the object: it is known to have
// pinned it, or has taken it over.
func keptBy(st directory.ObjectStat, stay []phalanx.NodeID, heir phalanx.NodeID) bool {
	return slices.ContainsFunc(st.Holders, func(h directory.HolderStat) bool {
		return h.Complete && slices.Contains(stay, h.Node) && (h.Pinned || h.Node == heir)
	})
}

// heirOf returns who is to keep the object with index i: first somebody who has it
// already, in each pass another one.
func heirOf(st directory.ObjectStat, stay []phalanx.NodeID, i, pass int) phalanx.NodeID {
	var have, others []phalanx.NodeID
	for k := range stay {
		n := stay[(i+k)%len(stay)]
		if slices.ContainsFunc(st.Holders, func(h directory.HolderStat) bool { return h.Complete && h.Node == n }) {
			have = append(have, n)
		} else {
			others = append(others, n)
		}
	}
	return append(have, others...)[pass%len(stay)]
}
