package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode"
)

const (
	viewLag  = time.Second // within which this node learns of members that have joined before
	viewLook = 5 * time.Millisecond
	mostSaid = 8 // members, in an error
)

// short returns an error if there are fewer members that can keep a copy than p asks for. A
// node that is about to leave, or was removed, has the store say so. No Put asks for none.
func (l *life) short(p *storenode.Put) *phalanx.Error {
	if p == nil || p.Copies < 2 {
		return nil
	}
	there := l.stayingIDs()
	if len(there) >= p.Copies || !slices.Contains(there, l.id) {
		return nil
	}
	var names []string
	for _, m := range there[:min(len(there), mostSaid)] {
		names = append(names, string(m))
	}
	if len(there) > mostSaid {
		names = append(names, "…")
	}
	return &phalanx.Error{Op: "put", Object: p.Object, Kind: phalanx.ErrUnavailable,
		Err: fmt.Errorf("%d copies need as many nodes, and the cluster has %d members (%s): ask for fewer, or put the object when more nodes have joined", p.Copies, len(there), strings.Join(names, ", "))}
}

// enough returns nil once there are as many members as p asks copies of. It gives up as soon
// as this node would have learned of members that had joined before the Put: it could
// otherwise wait for further members to its deadline, without saying why.
func (l *life) enough(ctx context.Context, p *storenode.Put) error {
	err := l.short(p)
	if err == nil {
		return nil
	}
	look, late := time.NewTicker(viewLook), time.NewTimer(viewLag)
	defer look.Stop()
	defer late.Stop()
	for err != nil {
		select {
		case <-look.C:
			err = l.short(p)
		case <-late.C:
			return err
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil // the store says so
			}
			err.Kind = phalanx.ErrDeadline
			return err
		case <-l.done:
			return nil // likewise
		}
	}
	return nil
}
