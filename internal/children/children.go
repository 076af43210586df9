// Package children runs child processes that never outlive their parent. Each child
// has a pipe for its standard input: a byte in it asks the child to end. The system
// closes the pipe when the parent ends in any way, and the child then knows that the
// parent is gone. The child's half is Lifetime. A parent can also Talk with a child: it
// gives orders on another pipe and gets lines of the child's standard output.
package children

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Children are child processes that were started together. They are safe for
// concurrent use.
type Children struct {
	all    []*Child
	failed chan error
	stop   sync.Once
	ending chan struct{}
}

// Start starts commands, as Run does. If one cannot be started, Start stops the
// others.
func Start(commands ...*exec.Cmd) (*Children, error) {
	c := &Children{failed: make(chan error, len(commands)), ending: make(chan struct{})}
	for _, cmd := range commands {
		one, err := Run(cmd)
		if err != nil {
			c.kill()
			return nil, err
		}
		c.all = append(c.all, one)
		go c.watch(one)
	}
	return c, nil
}

// watch reports a child that fails.
func (c *Children) watch(one *Child) {
	<-one.done
	if one.killed.Load() {
		return
	}
	select {
	case <-c.ending:
	default:
		c.failed <- fmt.Errorf("child process %d has ended: %s", one.PID(), How(one.err))
	}
}

// Kill ends a child at once (SIGKILL). Failed does not report it.
func (c *Children) Kill(pid int) error {
	for _, one := range c.all {
		if one.PID() == pid {
			return one.Kill()
		}
	}
	return fmt.Errorf("process %d is no child", pid)
}

// Failed reports children that end before Stop.
func (c *Children) Failed() <-chan error { return c.failed }

// PIDs returns the process ids, in the order of Start.
func (c *Children) PIDs() []int {
	pids := make([]int, len(c.all))
	for i, one := range c.all {
		pids[i] = one.PID()
	}
	return pids
}

// Stop asks the children to end, one after the other in the opposite order of
// Start, so that nodes hand over to earlier ones. It kills the children that have
// not ended when ctx ends. The error names all children that failed, now or before.
// Stopping twice is safe.
func (c *Children) Stop(ctx context.Context) error {
	c.stop.Do(func() { close(c.ending) })
	var errs []error
	for _, one := range slices.Backward(c.all) {
		one.Ask()
		if err := one.Wait(ctx); err != nil && !one.killed.Load() {
			errs = append(errs, fmt.Errorf("child process %d: %w", one.PID(), err))
		}
	}
	return errors.Join(errs...)
}

func (c *Children) kill() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = c.Stop(ctx)
}

// orphanGrace is how long a child whose parent is gone may take to end.
const orphanGrace = 3 * time.Second

// Lifetime is for a child process. It returns a context that ends when the parent
// asks the child to end; from then on the process has grace to end by itself. The
// context also ends when the parent is gone, with the cause ErrOrphan and a grace of
// at most 3 s. The child ignores an interrupt from the terminal, which reaches parent
// and children alike: the parent handles it.
func Lifetime(grace time.Duration) (context.Context, context.CancelFunc) {
	signal.Ignore(os.Interrupt)
	asked, release := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	ctx, end := context.WithCancelCause(asked)
	die := func(after time.Duration) { time.AfterFunc(after, func() { os.Exit(1) }) }
	context.AfterFunc(ctx, func() { die(grace) })
	go func() {
		var one [1]byte
		for {
			if _, err := os.Stdin.Read(one[:]); err != nil {
				end(ErrOrphan)
				die(min(grace, orphanGrace))
				return
			}
			end(context.Canceled)
		}
	}()
	return ctx, func() { end(context.Canceled); release() }
}
