package directory_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/phalanx-go/phalanx/directory"
	core "github.com/phalanx-go/phalanx/protocol/directory"
)

// Holdings tell of what was reported before they were listed, and not of what is reported
// meanwhile.
func TestHoldingsSayBeforeWhatTheyWereListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{start: time.Now()}
		next := uint64(7)
		r := directory.NewReporter("me", w, func() time.Duration { return time.Since(w.start) }, func() uint64 { return next }, func(of []bool) [][]core.Holding {
			next++ // somebody reports
			return make([][]core.Holding, len(of))
		})
		r.Learn(owned(1, "a"))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { r.Run(ctx); close(done) }()
		pass(time.Millisecond)
		cancel()
		<-done
		if len(w.sent) != 1 || w.sent[0].v.(core.Holdings).Before != 7 {
			t.Errorf("%+v", w.sent)
		}
	})
}
