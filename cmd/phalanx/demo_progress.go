package main

import (
	"time"

	"github.com/schollz/progressbar/v3"
)

// counter shows on a terminal how many of something are done.
type counter struct{ bar *progressbar.ProgressBar }

// count returns a counter up to n, which has to be ended.
func (a *app) count(what string, n int) *counter {
	if !a.terminal {
		return &counter{}
	}
	return &counter{progressbar.NewOptions(n,
		progressbar.OptionSetWriter(a.stderr),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionSetWidth(24),
		progressbar.OptionThrottle(50*time.Millisecond),
		progressbar.OptionClearOnFinish())}
}

// It only writes to the terminal: a failure there does not matter.

func (c *counter) set(n int) {
	if c.bar != nil {
		_ = c.bar.Set(n)
	}
}

// hide makes room for a line; the next set shows the bar again.
func (c *counter) hide() {
	if c.bar != nil {
		_ = c.bar.Clear()
	}
}

// end removes the bar. Ending twice is harmless.
func (c *counter) end() {
	if c.bar != nil {
		_ = c.bar.Clear()
		c.bar = nil
	}
}
