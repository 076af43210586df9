package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows on a terminal how many bytes of size (-1: unknown) were
// written to it. done ends it.
func (a *app) progress(what string, size int64) (w io.Writer, done func()) {
	w, _, done = a.progressWaits(what, size)
	return w, done
}

// progressWaits is progress, which shows besides that the node waits for memory: after
// each call of waits, until more is written.
func (a *app) progressWaits(what string, size int64) (w io.Writer, waits, done func()) {
	if !a.terminal {
		return io.Discard, nil, func() {}
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
	b := &waitingBar{ProgressBar: bar, what: what}
	return b, b.waits, func() {
		_ = bar.Exit() // it only writes to the terminal
		fmt.Fprintln(a.stderr)
	}
}

// waitingBar is a bar that says so while the node waits for memory.
type waitingBar struct {
	*progressbar.ProgressBar
	what    string
	waiting atomic.Bool
}

// waits says that the node waits. Bytes may be on their way to it already.
func (b *waitingBar) waits() {
	b.waiting.Store(true)
	b.Describe(b.what + " (the node waits for memory)")
}

func (b *waitingBar) Write(p []byte) (int, error) {
	if b.waiting.CompareAndSwap(true, false) {
		b.Describe(b.what)
	}
	return b.ProgressBar.Write(p)
}
