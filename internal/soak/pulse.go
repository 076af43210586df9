package soak

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	pulseEvery = 50 * time.Millisecond
	// tooLate is how late a beat may be. Others suspect a node that is silent for
	// 500 ms: they cannot tell a node that stands still for longer from a dead one.
	tooLate = 400 * time.Millisecond
	// A standstill excuses a removal if it was so long before the node told of the
	// removal, or so soon after.
	excuseBefore = 5 * time.Second
	excuseAfter  = time.Second
)

// pulse finds out whether a process stood still: then its ticker comes late.
type pulse struct{ last time.Duration }

// beat returns for how long the process stood still until now; 0 if it did not.
func (p *pulse) beat(now time.Duration) time.Duration {
	d := now - p.last
	p.last = now
	if d <= pulseEvery+tooLate {
		return 0
	}
	return d
}

// feel reports each standstill of this process until ctx ends.
func feel(ctx context.Context, stood func(time.Duration)) {
	t := time.NewTicker(pulseEvery)
	defer t.Stop()
	began := time.Now()
	for p := (pulse{}); ; {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		if d := p.beat(time.Since(began)); d > 0 {
			stood(d)
		}
	}
}

// driver stands for the driver in place of a process's name.
const driver = ""

// mistake is the removal of a node without a fault of its own.
type mistake struct {
	process string
	at      time.Duration // when its node told of it
}

// stills has the standstills of the machine, as the driver and the processes felt them,
// and the removals by mistake. It is safe for concurrent use.
type stills struct {
	mu       sync.Mutex
	all      []window
	mistakes []mistake
}

// stood notes that a process, or the driver, stood still until now.
func (s *stills) stood(process string, d, now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, window{process: process, from: now - d, to: now})
}

// mistaken notes that a node has just told of its removal.
func (s *stills) mistaken(process string, now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mistakes = append(s.mistakes, mistake{process, now})
}

// judge returns the mistakes that no standstill excuses, and forgets all. The driver calls
// it at rest: the excuse of a recent mistake may not be known yet.
func (s *stills) judge() []mistake {
	s.mu.Lock()
	defer s.mu.Unlock()
	wrong := slices.DeleteFunc(s.mistakes, func(m mistake) bool {
		return slices.ContainsFunc(s.all, func(w window) bool {
			return (w.process == driver || w.process == m.process) && w.from <= m.at+excuseAfter && w.to >= m.at-excuseBefore
		})
	})
	s.all, s.mistakes = nil, nil
	return wrong
}

// judgeMistakes fails the run for each removal without a fault, unless the machine stood
// still.
func (s *soak) judgeMistakes() {
	for _, m := range s.stills.judge() {
		s.mu.Lock()
		s.res.Mistaken++
		s.mu.Unlock()
		s.fail(fmt.Errorf("%s was removed before %.3f without a fault, and neither it nor the driver stood still", m.process, m.at.Seconds()))
	}
}
