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
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

// process is a node that this program runs as a child.
type process struct {
	ready
	*children.Child
	name string
	log  *prefixed
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
	p := &process{name: name, log: stderr, over: make(chan struct{})}
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
	return nil, p.failure()
}

// failure is why a child that did not become ready ended.
func (p *process) failure() error {
	e := &phalanx.Error{Op: "start", Node: phalanx.NodeID(p.name), Kind: phalanx.ErrUnavailable, Err: fmt.Errorf("its process ended: %s", children.How(p.Err()))}
	if told, ok := p.log.told(); ok {
		e.Kind, e.Err = told.Err().Kind, errors.New(told.Message)
	}
	return e
}

// cause says how the child ended, and why if it said so itself.
func (p *process) cause() string {
	how := children.How(p.Err())
	if told, ok := p.log.told(); ok {
		how += ": " + told.Err().Error()
	}
	return how
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

// prefixed writes whole lines, each after a prefix. The error, in JSON, with which
// a child ends it keeps: its parent tells it.
type prefixed struct {
	prefix string

	mu   sync.Mutex
	w    io.Writer
	rest []byte
	last httpapi.ErrorInfo
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
		p.rest = []byte(rest)
		var e struct{ Error httpapi.ErrorInfo }
		if strings.HasPrefix(line, `{"error":`) && json.Unmarshal([]byte(line), &e) == nil {
			p.last = e.Error
			continue
		}
		_, _ = io.WriteString(p.w, p.prefix+line+"\n") // a log that cannot be written stops no process
	}
}

// flush writes the rest, which has no end of line.
func (p *prefixed) flush() {
	p.mu.Lock()
	rest := len(p.rest)
	p.mu.Unlock()
	if rest > 0 {
		_, _ = p.Write([]byte("\n"))
	}
}

// told returns the child's own error, if it has told one.
func (p *prefixed) told() (httpapi.ErrorInfo, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last, p.last.Kind != ""
}
