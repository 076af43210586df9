package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
)

// process is a node that this program runs as a child.
type process struct {
	ready
	name string
	pid  int

	cmd   *exec.Cmd
	stdin io.Closer     // while it is open the child goes on
	over  chan struct{} // closed when the child has ended
	err   error         // how; after over
}

// startNode runs this program again as `phalanx node` with flags, and returns
// once that is ready. Its log goes to log, each line after its name. It ends
// with this process, however that ends.
func startNode(ctx context.Context, environ []string, log io.Writer, name string, flags ...string) (*process, error) {
	bad := func(err error) error {
		return &phalanx.Error{Op: "start", Node: phalanx.NodeID(name), Kind: phalanx.ErrUnavailable, Err: err}
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, bad(err)
	}
	p := &process{name: name, over: make(chan struct{})}
	p.cmd = exec.Command(exe, append([]string{"node", "--output=json", "--end-with-stdin", "--name=" + name}, flags...)...)
	p.cmd.Env = environ
	p.cmd.SysProcAttr = ownGroup()
	stderr := &prefixed{w: log, prefix: "[" + name + "] "}
	p.cmd.Stderr = stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, bad(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, bad(err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, bad(err)
	}
	p.pid = p.cmd.Process.Pid
	lines := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		lines <- line
		_, _ = io.Copy(io.Discard, out)
		p.err = p.cmd.Wait()
		stderr.flush()
		close(p.over)
	}()
	select {
	case <-ctx.Done():
		p.end(0)
		return nil, &phalanx.Error{Op: "start", Node: phalanx.NodeID(name), Kind: phalanx.ErrCanceled}
	case line := <-lines:
		if json.Unmarshal([]byte(line), &p.ready) == nil && p.Node != "" {
			return p, nil
		}
	}
	p.end(0)
	return nil, p.failure(stderr.last())
}

// failure is why a child that did not become ready ended: the error that it
// printed last, in JSON.
func (p *process) failure(last string) error {
	var told struct {
		Error struct{ Kind, Op, Message string }
	}
	if json.Unmarshal([]byte(last), &told) == nil && told.Error.Message != "" {
		return &phalanx.Error{Op: "start", Node: phalanx.NodeID(p.name), Kind: kindCalled(told.Error.Kind), Err: errors.New(told.Error.Message)}
	}
	return &phalanx.Error{Op: "start", Node: phalanx.NodeID(p.name), Kind: phalanx.ErrUnavailable, Err: fmt.Errorf("its process ended: %s", how(p.err))}
}

func kindCalled(name string) phalanx.Kind {
	for _, k := range phalanx.Kinds() {
		if k.Error() == name {
			return k
		}
	}
	return phalanx.ErrInternal
}

// how says how a process ended.
func how(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// leave asks the child to leave its cluster and to end.
func (p *process) leave() { _ = p.stdin.Close() }

// end asks the child to end and kills it after grace.
func (p *process) end(grace time.Duration) {
	p.leave()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.over:
		return
	case <-timer.C:
	}
	_ = p.cmd.Process.Kill() // it has ended, if this fails
	<-p.over
}

// prefixed writes whole lines, each after a prefix, and keeps the last.
type prefixed struct {
	prefix string

	mu   sync.Mutex
	w    io.Writer
	rest []byte
	line string
}

func (p *prefixed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest = append(p.rest, b...)
	for {
		line, rest, ok := strings.Cut(string(p.rest), "\n")
		if !ok {
			return len(b), nil
		}
		p.rest, p.line = []byte(rest), line
		_, _ = io.WriteString(p.w, p.prefix+line+"\n") // a log that cannot be written stops nobody
	}
}

// flush writes what is left without an end of line.
func (p *prefixed) flush() {
	p.mu.Lock()
	rest := len(p.rest)
	p.mu.Unlock()
	if rest > 0 {
		_, _ = p.Write([]byte("\n"))
	}
}

func (p *prefixed) last() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.line
}
