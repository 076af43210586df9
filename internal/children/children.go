// Package children runs child processes that never outlive their parent. Each
// has a pipe for its standard input: a byte in it asks the child to end, and the
// end of the pipe, which the system sees to whatever becomes of the parent,
// means that the parent is gone. The child's half is Lifetime.
package children

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Children are running child processes. They are safe for concurrent use.
type Children struct {
	all    []*child
	failed chan error
	stop   sync.Once
	ending chan struct{}
}

type child struct {
	cmd   *exec.Cmd
	stdin io.Writer     // closed by Wait
	done  chan struct{} // closed when it has ended
	err   error         // why; after done

	killed atomic.Bool
}

// Start starts commands, whose standard input it takes over. If one cannot be
// started, those that were are stopped.
func Start(commands ...*exec.Cmd) (*Children, error) {
	c := &Children{failed: make(chan error, len(commands)), ending: make(chan struct{})}
	for _, cmd := range commands {
		stdin, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			c.kill()
			return nil, fmt.Errorf("%s: %w", cmd.Path, err)
		}
		one := &child{cmd: cmd, stdin: stdin, done: make(chan struct{})}
		c.all = append(c.all, one)
		go c.wait(one)
	}
	return c, nil
}

func (c *Children) wait(one *child) {
	err := one.cmd.Wait()
	if one.killed.Load() {
		close(one.done)
		return
	}
	one.err = err
	close(one.done)
	select {
	case <-c.ending:
	default:
		c.failed <- fmt.Errorf("child process %d has ended: %w", one.cmd.Process.Pid, outcome(one.err))
	}
}

func outcome(err error) error {
	if err == nil {
		return errors.New("without an error")
	}
	return err
}

// Kill ends a child at once (SIGKILL). It is not told of as failed.
func (c *Children) Kill(pid int) error {
	for _, one := range c.all {
		if one.cmd.Process.Pid == pid {
			one.killed.Store(true)
			err := one.cmd.Process.Kill()
			<-one.done
			return err
		}
	}
	return fmt.Errorf("process %d is no child", pid)
}

// Failed tells of children that end before they are stopped.
func (c *Children) Failed() <-chan error { return c.failed }

// PIDs returns the process ids, in the order of Start.
func (c *Children) PIDs() []int {
	pids := make([]int, len(c.all))
	for i, one := range c.all {
		pids[i] = one.cmd.Process.Pid
	}
	return pids
}

// Stop asks the children to end, one after the other in the opposite order of
// Start, so that nodes hand over to those that stay; those that have not ended
// when ctx ends are killed. The error tells of those that failed, by then or
// before. Stopping twice is safe.
func (c *Children) Stop(ctx context.Context) error {
	c.stop.Do(func() { close(c.ending) })
	var errs []error
	for _, one := range slices.Backward(c.all) {
		_, _ = one.stdin.Write([]byte{'\n'}) // one that has ended cannot be asked
		pid := one.cmd.Process.Pid
		select {
		case <-one.done:
		case <-ctx.Done():
			_ = one.cmd.Process.Kill()
			<-one.done
			errs = append(errs, fmt.Errorf("child process %d did not end and was killed: %w", pid, ctx.Err()))
			continue
		}
		if one.err != nil {
			errs = append(errs, fmt.Errorf("child process %d: %w", pid, one.err))
		}
	}
	return errors.Join(errs...)
}

func (c *Children) kill() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = c.Stop(ctx)
}

// Lifetime is called by a child process. It returns a context that ends when
// the parent asks the child to end; from then on the process has grace to end by
// itself. If the parent is gone the process ends at once. An interrupt from the
// terminal, which reaches parent and children alike, is left to the parent.
func Lifetime(grace time.Duration) (context.Context, context.CancelFunc) {
	signal.Ignore(os.Interrupt)
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	context.AfterFunc(ctx, func() { time.AfterFunc(grace, func() { os.Exit(1) }) })
	go func() {
		var one [1]byte
		for {
			if _, err := os.Stdin.Read(one[:]); err != nil {
				os.Exit(1)
			}
			cancel()
		}
	}()
	return ctx, cancel
}
