package store

import (
	"context"
	"errors"
	"time"

	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

const (
	// busyFirst and busyLongest are the pauses before an edge is asked for again whose
	// sender is busy.
	busyFirst   = 10 * time.Millisecond
	busyLongest = 320 * time.Millisecond
	// busyPatience is how long that goes on. A sender is busy for an edge only as long as
	// it does not know the place: after this time the edge counts as one that has
	// ended, as where the sender says that there is no such place.
	busyPatience = 2 * copies.ShowPatience
)

// whileBusy pulls an edge, again while its sender says that it is busy, until one of the contexts ends.
func whileBusy(edge, output context.Context, pull func() error) error {
	began := time.Now()
	for pause := busyFirst; ; pause = min(2*pause, busyLongest) {
		err := pull()
		var end *dataplane.Ended
		if !errors.As(err, &end) || end.Reason != dataplane.Busy || time.Since(began) > busyPatience {
			return err
		}
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-edge.Done():
			t.Stop()
			return err
		case <-output.Done():
			t.Stop()
			return err
		}
	}
}
