package store

import (
	"context"
	"errors"
	"time"

	rnode "github.com/phalanx-go/phalanx/node/reduce"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// whileBusy pulls an edge, again while its sender says that it is busy, until one of the contexts ends.
func whileBusy(edge, output context.Context, pull func() error) error {
	began, busy := time.Now(), rnode.Busy{}
	for {
		err := pull()
		var end *dataplane.Ended
		if !errors.As(err, &end) || end.Reason != dataplane.Busy {
			return err
		}
		pause, ok := busy.Again(time.Since(began))
		if !ok {
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
