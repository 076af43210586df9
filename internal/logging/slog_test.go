package logging_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/slogtest"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/phalanx-go/phalanx/internal/logging"
)

// The standard library's own rules for handlers.
func TestHandlerObeysSlog(t *testing.T) {
	var hook *test.Hook
	slogtest.Run(t, func(*testing.T) slog.Handler {
		var log *logrus.Logger
		log, hook = test.NewNullLogger()
		return logging.NewHandler(log)
	}, func(t *testing.T) map[string]any {
		e := hook.LastEntry()
		got := map[string]any{slog.MessageKey: e.Message, slog.LevelKey: e.Level}
		if !strings.HasSuffix(t.Name(), "zero-time") { // logrus gives every entry a time
			got[slog.TimeKey] = e.Time
		}
		for key, value := range e.Data {
			nest(got, key, value)
		}
		return got
	})
}

// nest turns "group.key" back into a map in a map.
func nest(m map[string]any, key string, value any) {
	group, rest, ok := strings.Cut(key, ".")
	if !ok {
		m[key] = value
		return
	}
	if m[group] == nil {
		m[group] = map[string]any{}
	}
	nest(m[group].(map[string]any), rest, value)
}

func TestHandlerKeepsLevelsAndFields(t *testing.T) {
	log, hook := test.NewNullLogger()
	log.SetLevel(logrus.TraceLevel)
	bridge := slog.New(logging.NewHandler(log.WithField(logging.Node, "a#1")))
	for level, want := range map[slog.Level]logrus.Level{
		slog.LevelDebug - 4: logrus.TraceLevel, slog.LevelDebug: logrus.DebugLevel, slog.LevelInfo: logrus.InfoLevel,
		slog.LevelInfo + 1: logrus.InfoLevel, slog.LevelWarn: logrus.WarnLevel, slog.LevelError: logrus.ErrorLevel, slog.LevelError + 4: logrus.ErrorLevel,
	} {
		culprit := errors.New("refused")
		bridge.Log(t.Context(), level, "dial", logging.Error, culprit)
		e := hook.LastEntry()
		if e.Level != want || e.Data[logging.Node] != "a#1" || e.Data[logging.Error] != culprit {
			t.Errorf("level %v became %v with %v, want %v with node and error", level, e.Level, e.Data, want)
		}
	}
}

func TestHandlerIsEnabledAsItsLogger(t *testing.T) {
	log, hook := test.NewNullLogger()
	log.SetLevel(logrus.WarnLevel)
	h := logging.NewHandler(log)
	if h.Enabled(t.Context(), slog.LevelInfo) || !h.Enabled(t.Context(), slog.LevelWarn) {
		t.Error("a logger at level warn: want info disabled and warn enabled")
	}
	slog.New(h).Info("nobody reads this")
	if n := len(hook.AllEntries()); n != 0 {
		t.Errorf("%d entries at level info were written, want none", n)
	}
}

func TestErrorIsTheFieldOfLogrus(t *testing.T) {
	log, hook := test.NewNullLogger()
	culprit := errors.New("refused")
	log.WithError(culprit).Error("dial")
	if got := hook.LastEntry().Data[logging.Error]; got != culprit {
		t.Errorf("the field %q is %v, want %v", logging.Error, got, culprit)
	}
}

func ExampleNewHandler() {
	log := logrus.New()
	actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(logging.NewHandler(log.WithField(logging.Node, "a#1")))
	}))
}
