package main

import (
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
	"github.com/phalanx-go/phalanx/internal/children"
)

// process is a node that this program runs as a child.
type process struct {
	ready
	*children.Child
	name string
	over chan struct{} // closed when it has ended and its log is written
}

// startNode runs this program again as `phalanx node` with flags, and returns
// once that is ready. Its log goes to log, each line after its name. It ends
// with this process, however that ends.
func startNode(ctx context.Context, environ []string, log io.Writer, name string, flags ...string) (*process, error) {
	bad := func(kind phalanx.Kind, err error) error {
		return &phalanx.Error{Op: "start", Node: phalanx.NodeID(name), Kind: kind, Err: err}
	}
	if ctx.Err() != nil {
		return nil, bad(phalanx.ErrCanceled, errors.New("interrupted"))
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, bad(phalanx.ErrUnavailable, err)
	}
	cmd := exec.Command(exe, append([]string{"node", "--output=json", "--child", "--name=" + name}, flags...)...)
	stderr, stdout := &prefixed{w: log, prefix: "[" + name + "] "}, &firstLine{line: make(chan string, 1)}
	cmd.Env, cmd.Stderr, cmd.Stdout = environ, stderr, stdout
	p := &process{name: name, over: make(chan struct{})}
	if p.Child, err = children.Run(cmd); err != nil {
		return nil, bad(phalanx.ErrUnavailable, err)
	}
	go func() {
		<-p.Done()
		stderr.flush()
		close(p.over)
	}()
	select {
	case <-ctx.Done():
		p.end(0)
		return nil, bad(phalanx.ErrCanceled, errors.New("interrupted"))
	case line := <-stdout.line:
		if json.Unmarshal([]byte(line), &p.ready) == nil && p.Node != "" {
			return p, nil
		}
	case <-p.over:
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
	return &phalanx.Error{Op: "start", Node: phalanx.NodeID(p.name), Kind: phalanx.ErrUnavailable, Err: fmt.Errorf("its process ended: %s", children.How(p.Err()))}
}

func kindCalled(name string) phalanx.Kind {
	for _, k := range phalanx.Kinds() {
		if k.Error() == name {
			return k
		}
	}
	return phalanx.ErrInternal
}

// end ends the child without handing over, and kills it after grace.
func (p *process) end(grace time.Duration) {
	p.Abandon()
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	_ = p.Wait(ctx) // how it ended does not matter any more
	<-p.over
}

// firstLine hands over the first line that is written to it.
type firstLine struct {
	line chan string // capacity 1
	text []byte
	over bool
}

// Write takes everything, so that the writer is never held up.
func (f *firstLine) Write(b []byte) (int, error) {
	if !f.over {
		f.text = append(f.text, b...)
		line, _, whole := strings.Cut(string(f.text), "\n")
		if f.over = whole; whole {
			f.line <- line
		}
	}
	return len(b), nil
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
