package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows on a terminal how many bytes of size (-1: unknown) were
// written to it. done ends it.
func (a *app) progress(what string, size int64) (w io.Writer, done func()) {
	if !a.terminal {
		return io.Discard, func() {}
	}
	bar := progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(a.stderr),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowBytes(true),
		progressbar.OptionUseIECUnits(true),
		progressbar.OptionShowTotalBytes(true),
		progressbar.OptionSetWidth(24),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSpinnerType(14))
	return bar, func() {
		_ = bar.Exit() // it only writes to the terminal
		fmt.Fprintln(a.stderr)
	}
}
