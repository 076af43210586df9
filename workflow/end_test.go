package workflow

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx/internal/durable"
)

// hangs is a ledger that does not end, as one on a disk that hangs.
type hangs struct {
	durable.Log
	until chan struct{}
}

func (h hangs) Run(context.Context, func(durable.Tenure)) error {
	<-h.until
	return nil
}

// A node that ends does not wait for its ledger for long: attempts are canceled.
func TestTheEndDoesNotWaitForTheLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := logrus.New()
		log.SetOutput(io.Discard)
		ledger := hangs{until: make(chan struct{})}
		o := &open{settings: Settings{Log: log}, log: ledger, life: &incarnation{cast: newCast("")}}
		o.life.ctx, o.life.stop = context.WithCancelCause(t.Context())
		o.begin(nil, nil)
		began := time.Now()
		o.end()
		if took := time.Since(began); took != attemptGrace || o.life.ctx.Err() == nil {
			t.Errorf("it ends after %v, and its attempts end with %v", took, o.life.ctx.Err())
		}
		close(ledger.until)
	})
}
