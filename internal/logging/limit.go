package logging

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	limitFor   = time.Minute
	limitLines = 10   // of one cause in limitFor
	maxCauses  = 1000 // that are told apart
)

// Omitted is the field that says how many lines were left out.
const Omitted = "omitted"

// Limit returns a logger that hands lines on to l, but only the first ten lines of one cause
// in a minute; after that minute it says how many more there were. A cause is a level and a
// text, regardless of numbers in the text, and the node at the other side. A peer's mistake
// that comes a thousand times a second fills no disk, and hides nothing.
//
// A line below l's level costs as much as a logged one, except the writing.
func Limit(l logrus.FieldLogger) *logrus.Logger {
	inner := logrus.New()
	inner.SetOutput(io.Discard)
	inner.SetFormatter(nothing{})
	inner.SetLevel(logrus.TraceLevel)
	inner.AddHook(&limit{to: l.WithFields(nil), lines: map[cause]int{}})
	return inner
}

// nothing writes nothing.
type nothing struct{}

func (nothing) Format(*logrus.Entry) ([]byte, error) { return nil, nil }

type cause struct {
	level      logrus.Level
	text, peer string
}

// limit is the hook by which the logger hands lines on.
type limit struct {
	to *logrus.Entry

	mu    sync.Mutex
	lines map[cause]int // in this minute of each
}

func (*limit) Levels() []logrus.Level { return logrus.AllLevels }

func (h *limit) Fire(e *logrus.Entry) error {
	if h.to.Logger.IsLevelEnabled(e.Level) && h.counts(e) {
		h.to.WithContext(e.Context).WithTime(e.Time).WithFields(e.Data).Log(e.Level, e.Message)
	}
	return nil
}

// counts counts a line, and reports whether it is handed on.
func (h *limit) counts(e *logrus.Entry) bool {
	c, first := cause{e.Level, strings.Map(noDigit, e.Message), fmt.Sprint(e.Data[Peer])}, *e
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lines[c] == 0 && len(h.lines) >= maxCauses {
		c, first = cause{level: e.Level}, logrus.Entry{Message: "lines of too many causes"}
	}
	if h.lines[c]++; h.lines[c] == 1 {
		time.AfterFunc(limitFor, func() { h.over(c, first.Message, first.Data) })
	}
	return h.lines[c] <= limitLines
}

// over ends the minute of a cause, whose first line had text and data.
func (h *limit) over(c cause, text string, data logrus.Fields) {
	h.mu.Lock()
	more := h.lines[c] - limitLines
	delete(h.lines, c)
	h.mu.Unlock()
	if more > 0 {
		h.to.WithFields(data).WithField(Omitted, more).Logf(c.level, "%s: more of them were left out in the last minute", text)
	}
}

func noDigit(r rune) rune {
	if r >= '0' && r <= '9' {
		return -1
	}
	return r
}
