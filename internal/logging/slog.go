package logging

import (
	"context"
	"log/slog"

	"github.com/sirupsen/logrus"
)

// Handler is a slog.Handler that writes to logrus. The attributes of a group
// become fields "group.key". It is safe for concurrent use, as its logger is.
type Handler struct {
	entry  *logrus.Entry // with all attributes so far
	prefix string        // of the open groups, with a dot at the end
}

var _ slog.Handler = (*Handler)(nil)

// NewHandler returns a Handler that writes to l, for example
//
//	actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
//		return slog.New(logging.NewHandler(log))
//	})
func NewHandler(l logrus.FieldLogger) *Handler {
	return &Handler{entry: l.WithFields(nil)}
}

// Enabled reports whether the logger writes entries of that level.
func (h *Handler) Enabled(_ context.Context, level slog.Level) bool {
	return h.entry.Logger.IsLevelEnabled(severity(level))
}

// Handle writes r.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	fields := make(logrus.Fields, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		add(fields, h.prefix, a)
		return true
	})
	entry := h.entry.WithContext(ctx).WithFields(fields)
	entry.Time = r.Time // logrus takes the current time for a zero one
	entry.Log(severity(r.Level), r.Message)
	return nil
}

// WithAttrs returns a Handler that adds attrs to each record.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	fields := make(logrus.Fields, len(attrs))
	for _, a := range attrs {
		add(fields, h.prefix, a)
	}
	return &Handler{entry: h.entry.WithFields(fields), prefix: h.prefix}
}

// WithGroup returns a Handler that puts later attributes into the group name.
func (h *Handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &Handler{entry: h.entry, prefix: h.prefix + name + "."}
}

// add puts a into fields; empty attributes and groups are left out, and a group
// without a name is dissolved, as slog asks.
func add(fields logrus.Fields, prefix string, a slog.Attr) {
	v := a.Value.Resolve()
	if v.Kind() != slog.KindGroup {
		if a.Key != "" {
			fields[prefix+a.Key] = v.Any()
		}
		return
	}
	if a.Key != "" {
		prefix += a.Key + "."
	}
	for _, member := range v.Group() {
		add(fields, prefix, member)
	}
}

// severity returns the level of logrus that is not above level.
func severity(level slog.Level) logrus.Level {
	switch {
	case level >= slog.LevelError:
		return logrus.ErrorLevel
	case level >= slog.LevelWarn:
		return logrus.WarnLevel
	case level >= slog.LevelInfo:
		return logrus.InfoLevel
	case level >= slog.LevelDebug:
		return logrus.DebugLevel
	}
	return logrus.TraceLevel
}
