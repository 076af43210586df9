package disk

import (
	"fmt"

	"github.com/sirupsen/logrus"
)

// logger takes what pebble says. Pebble calls Fatalf when it cannot go on, above all when a sync has failed.
type logger struct {
	log    logrus.FieldLogger
	poison *poison
}

// Infof drops what pebble says of its work.
func (l *logger) Infof(string, ...any) {}

// Errorf logs what pebble tries again.
func (l *logger) Errorf(format string, args ...any) { l.log.Errorf(format, args...) }

// Fatalf marks the disk and never returns: pebble would go on as if it had succeeded. It keeps the locks
// that pebble holds, so that nothing else of pebble goes on either; a caller that had to end
// its goroutine would run pebble's deferred functions.
func (l *logger) Fatalf(format string, args ...any) {
	l.poison.mark(fatal(format, args))
	hang()
}

// fatal returns the error in the arguments of Fatalf, with the whole text.
func fatal(format string, args []any) error {
	for _, arg := range args {
		if err, ok := arg.(error); ok {
			return fmt.Errorf("pebble gave up: %w (%s)", err, fmt.Sprintf(format, args...))
		}
	}
	return fmt.Errorf("pebble gave up: %s", fmt.Sprintf(format, args...))
}

// hang keeps a goroutine of pebble from going on.
func hang() { select {} }
