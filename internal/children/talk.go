package children

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// ordersFD is the descriptor on which a child reads orders.
const ordersFD = 3

// Talk starts cmd as Run does. The child takes orders from Child.Tell with Orders. It
// answers with Say: heard gets each line of its standard output that is JSON, one after
// the other. The child's end waits until heard has returned from the last line.
func Talk[A any](cmd *exec.Cmd, heard func(A)) (*Child, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmd.Path, err)
	}
	defer read.Close()
	cmd.ExtraFiles = []*os.File{read} // ordersFD
	cmd.Stdout = NewLines(func(line []byte) {
		var a A
		if json.Unmarshal(line, &a) == nil { // a test binary itself writes, too
			heard(a)
		}
	})
	c, err := run(cmd, write)
	if err != nil {
		_ = write.Close()
	}
	return c, err
}

// Tell gives an order to a child that Talk has started.
func (c *Child) Tell(order any) error {
	b, err := json.Marshal(order)
	if err == nil {
		_, err = c.orders.Write(append(b, '\n'))
	}
	return err
}

// Orders is for a child. It passes the orders of the parent to take, one after the
// other, and returns when the parent has abandoned the child or is gone.
func Orders[O any](take func(O)) error {
	in := json.NewDecoder(os.NewFile(ordersFD, "orders"))
	for {
		var o O
		if err := in.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("an order: %w", err)
		}
		take(o)
	}
}

// Say is for a child. It writes v, which JSON can represent, as a line of standard output.
// It is safe for concurrent use.
func Say(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	_, _ = os.Stdout.Write(append(b, '\n')) // fails if the parent is gone
}

// FirstLine returns a writer and a channel that gets the first line written to it.
func FirstLine() (io.Writer, <-chan []byte) {
	first, over := make(chan []byte, 1), false
	return NewLines(func(line []byte) {
		if !over {
			first <- bytes.Clone(line)
		}
		over = true
	}), first
}

// Lines is a writer that passes on whole lines. It is not safe for concurrent use.
type Lines struct {
	take func(line []byte)
	rest []byte
}

// NewLines returns a writer that calls take for each line, without its end. The line
// is valid until take returns.
func NewLines(take func(line []byte)) *Lines { return &Lines{take: take} }

// Write never fails.
func (l *Lines) Write(b []byte) (int, error) {
	n := len(b)
	for {
		line, rest, whole := bytes.Cut(b, []byte{'\n'})
		if l.rest = append(l.rest, line...); !whole {
			return n, nil
		}
		l.take(l.rest)
		l.rest, b = l.rest[:0], rest
	}
}

// End passes on what was written after the last whole line.
func (l *Lines) End() {
	if len(l.rest) > 0 {
		l.take(l.rest)
		l.rest = nil
	}
}
