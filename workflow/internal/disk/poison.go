package disk

import (
	"errors"
	"fmt"
	"sync"

	"github.com/phalanx-go/phalanx/internal/durable"
)

// poison is the mark of a disk that must not be used any more. It is never taken off.
type poison struct {
	once   sync.Once
	marked chan struct{}
	cause  error // set before marked is closed
}

func newPoison() *poison { return &poison{marked: make(chan struct{})} }

// mark marks the disk; the first cause stays.
func (p *poison) mark(cause error) {
	p.once.Do(func() {
		p.cause = fmt.Errorf("%w: %w", durable.ErrPoisoned, cause)
		close(p.marked)
	})
}

// err returns why the disk is marked, or nil.
func (p *poison) err() error {
	select {
	case <-p.marked:
		return p.cause
	default:
		return nil
	}
}

// guard runs f, which may call pebble, and waits until it has returned or the disk is marked: then pebble
// may hold locks forever. A panic of f marks the disk: pebble panics when it cannot make a new log.
func (p *poison) guard(f func() error) error {
	done := make(chan error, 1)
	go func() {
		defer p.recover()
		done <- f()
	}()
	select {
	case err := <-done:
		return err
	case <-p.marked:
		return p.cause
	}
}

// recover is deferred around calls of pebble.
func (p *poison) recover() {
	switch r := recover().(type) {
	case nil:
	case error:
		p.mark(fmt.Errorf("pebble gave up: %w", r))
	default:
		p.mark(fmt.Errorf("pebble gave up: %v", r))
	}
}

// corrupt gives an error of pebble the kind it has here.
func corrupt(err error) error {
	if err == nil || errors.Is(err, durable.ErrCorrupt) {
		return err
	}
	return fmt.Errorf("%w: %w", durable.ErrCorrupt, err)
}
