package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
)

const (
	// handOverPatience is how long a node that leaves goes on trying without
	// getting rid of anything.
	handOverPatience = 2 * time.Second
	handOverAgain    = 20 * time.Millisecond
)

// handOver has members that stay fetch and pin each object of which they have
// no complete copy. It looks again until it finds none: others who leave may
// have handed something over to this node before they knew that it leaves too.
func (l *life) handOver(ctx context.Context) error {
	progress := time.Now()
	for pass := 0; ; pass++ {
		moved, err := l.handOverOnce(ctx, pass)
		switch {
		case moved > 0:
			progress = time.Now()
			continue
		case err == nil || ctx.Err() != nil || time.Since(progress) > handOverPatience:
			return err
		}
		select {
		case <-time.After(handOverAgain):
		case <-ctx.Done():
		}
	}
}

// handOverOnce tries for each object once and returns how many were taken over.
func (l *life) handOverOnce(ctx context.Context, pass int) (moved int, err error) {
	var stay []phalanx.NodeID
	for _, m := range l.view.Load().Members {
		if m.ID != l.id && !m.Leaving {
			stay = append(stay, m.ID)
		}
	}
	if len(stay) == 0 {
		return 0, nil
	}
	var errs []error
	for i, id := range l.store.Table.Complete() {
		if ctx.Err() != nil {
			errs = append(errs, fmt.Errorf("there was no time to hand over %q: %w", string(id), ctx.Err()))
			break
		}
		switch st, err := l.n.Stat(ctx, id); {
		case errors.Is(err, phalanx.ErrNotFound) || errors.Is(err, phalanx.ErrDeleted):
			continue
		case err != nil:
			errs = append(errs, err)
			continue
		case st.Inline || heldBy(st, stay):
			continue
		}
		heir := stay[(i+pass)%len(stay)] // another one the next time
		if _, err := storenode.Call(ctx, l.store, "hand over", id, func(d time.Duration, done func(struct{}, error)) {
			l.store.HandOver(ctx, id, heir, d, func(err error) { done(struct{}{}, err) })
		}); err != nil {
			errs = append(errs, err)
			continue
		}
		moved++
	}
	return moved, errors.Join(errs...)
}

func heldBy(st directory.ObjectStat, nodes []phalanx.NodeID) bool {
	return slices.ContainsFunc(st.Holders, func(h directory.HolderStat) bool { return h.Complete && slices.Contains(nodes, h.Node) })
}
