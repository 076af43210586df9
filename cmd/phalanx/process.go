package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
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
	p := &process{name: name, log: &prefixed{w: log, prefix: "[" + name + "] "}, over: make(chan struct{})}
	stderr := children.NewLines(p.log.write)
	stdout, first := children.FirstLine()
	cmd.Env, cmd.Stderr, cmd.Stdout = environ, stderr, stdout
	if p.Child, err = children.Run(cmd); err != nil {
		return nil, bad(phalanx.ErrUnavailable, err)
	}
	go func() {
		<-p.Done()
		stderr.End()
		close(p.over)
	}()
	select {
	case <-ctx.Done():
		p.end(0)
		return nil, bad(phalanx.ErrCanceled, errors.New("interrupted"))
	case line := <-first:
		if json.Unmarshal(line, &p.ready) == nil && p.Node != "" {
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

// prefixed writes lines, each after a prefix. The error, in JSON, with which a child ends
// it keeps: its parent tells it.
type prefixed struct {
	prefix string

	mu   sync.Mutex
	w    io.Writer
	last httpapi.ErrorInfo
}

func (p *prefixed) write(line []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var e struct{ Error httpapi.ErrorInfo }
	if bytes.HasPrefix(line, []byte(`{"error":`)) && json.Unmarshal(line, &e) == nil {
		p.last = e.Error
		return
	}
	_, _ = fmt.Fprintf(p.w, "%s%s\n", p.prefix, line) // a log that cannot be written stops no process
}

// told returns the child's own error, if it has told one.
func (p *prefixed) told() (httpapi.ErrorInfo, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last, p.last.Kind != ""
}
