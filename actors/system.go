package actors

import (
	"context"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx/internal/logging"
)

// NewSystem returns the actor system of the node called name. The library logs
// to log, one level lower than it means to: this module expects and reports itself the
// events that the library calls errors, such as a lost connection. Its metrics
// are off, because it keeps a callback for each actor that ever lived.
func NewSystem(name string, log logrus.FieldLogger) *actor.ActorSystem {
	handler := demoted{logging.NewHandler(log.WithField(logging.Node, name))}
	return actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(handler) }),
		actor.WithDeadLetterThrottleInterval(100*time.Millisecond), // a goroutine sleeps as long after each
		actor.WithDeadLetterRequestLogging(false),
	)
}

// demoted is a slog.Handler that makes everything one level less severe.
type demoted struct{ slog.Handler }

const step = slog.LevelError - slog.LevelWarn

func (d demoted) Enabled(ctx context.Context, l slog.Level) bool {
	return d.Handler.Enabled(ctx, l-step)
}

func (d demoted) Handle(ctx context.Context, r slog.Record) error {
	r.Level -= step
	return d.Handler.Handle(ctx, r)
}

func (d demoted) WithAttrs(attrs []slog.Attr) slog.Handler {
	return demoted{d.Handler.WithAttrs(attrs)}
}

func (d demoted) WithGroup(name string) slog.Handler { return demoted{d.Handler.WithGroup(name)} }
