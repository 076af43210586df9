package children

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
)

// Child is a running child process. It is safe for concurrent use.
type Child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the child has ended
	err  error         // how it ended; set before done is closed

	killed atomic.Bool // by Kill
	mu     sync.Mutex
	stdin  io.WriteCloser // closed by Abandon, or when the child has ended
	orders *os.File       // nil without Talk; closed as stdin is
}

// Run starts cmd and takes over its standard input. Callers take its output with
// writers in cmd: its pipes cannot be used.
func Run(cmd *exec.Cmd) (*Child, error) { return run(cmd, nil) }

func run(cmd *exec.Cmd, orders *os.File) (*Child, error) {
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmd.Path, err)
	}
	c := &Child{cmd: cmd, done: make(chan struct{}), stdin: stdin, orders: orders}
	go func() {
		c.err = cmd.Wait()
		_ = orders.Close()
		close(c.done)
	}()
	return c, nil
}

// PID returns the process id.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Done returns a channel that is closed when the child has ended and all its output
// has arrived.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err returns how the child ended, once it has: nil for exit status 0.
func (c *Child) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// Ask asks the child to end in good order.
func (c *Child) Ask() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.stdin.Write([]byte{'\n'}) // an error means that the child has ended
}

// Abandon lets the child go as if this process had ended: it ends without
// handing over. It gets no more orders. Abandoning twice is safe.
func (c *Child) Abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.stdin.Close()
	_ = c.orders.Close()
}

// Signal sends a signal to the child.
func (c *Child) Signal(s os.Signal) error { return c.cmd.Process.Signal(s) }

// Kill ends the child at once (SIGKILL).
func (c *Child) Kill() error {
	c.killed.Store(true)
	err := c.cmd.Process.Kill()
	<-c.done
	return err
}

// Wait waits for the end of the child and returns how it ended. When ctx ends first
// it kills the child, and says so.
func (c *Child) Wait(ctx context.Context) error {
	select {
	case <-c.done:
		return c.err
	default:
	}
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
	}
	_ = c.cmd.Process.Kill() // fails if the child has ended
	<-c.done
	return fmt.Errorf("the child did not end and was killed: %w", ctx.Err())
}

// How describes the end of a process; err comes from Child.Err.
func How(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// ErrOrphan is the cause of the end of a Lifetime whose parent is gone, or has
// abandoned the child: no process is left to hand over to.
var ErrOrphan = errors.New("the parent process is gone")
