package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Who gives up a Join hears just that, also in the moment between the view that
// has the node and its being learned.
func TestAJoinThatEnds(t *testing.T) {
	l := &life{id: "n1#1", joined: make(chan struct{})}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	for ctx, want := range map[context.Context]phalanx.Kind{canceled: phalanx.ErrCanceled, late: phalanx.ErrDeadline} {
		var e *phalanx.Error
		if err := l.entered(ctx); !errors.As(err, &e) || e.Kind != want || e.Node != l.id {
			t.Errorf("got %v, want %v of %s", err, want, l.id)
		}
	}
}
