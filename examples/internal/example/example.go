// Package example is what the main functions of examples with processes have in common: a process is the example itself or
// one of its children, which are copies of the same program.
package example

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"
)

// most is how long an example may take.
const most = 5 * time.Minute

// Child runs be and ends the process if this process is such a child. The main function of an example calls it first, and so does the
// TestMain of its tests, which start children as well.
func Child(name string, is bool, be func() error) {
	if !is {
		return
	}
	if err := be(); err != nil {
		fmt.Fprintf(os.Stderr, "%s process: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Main runs an example until it is over, or until Ctrl-C, and ends the process if it fails. Without a folder the example has a temporary one.
func Main(name, dir string, run func(ctx context.Context, dir string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("it has taken %v", most))
	defer cancel()
	if err := inFolder(name, dir, func(dir string) error { return run(ctx, dir) }); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// inFolder calls run with dir, or with a temporary folder if that is "".
func inFolder(name, dir string, run func(dir string) error) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", name); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	return run(dir)
}

// Output returns w for several goroutines at once, such as the example and what tells of dead processes.
func Output(w io.Writer) io.Writer { return &output{w: w} }

type output struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}
