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
	// tooLate is how late a beat may be. A node that says nothing for 500 ms is
	// suspected: one of which that is longer could not be told from a dead one.
	tooLate = 400 * time.Millisecond
	// A removal is excused by what stood still so long before its node told of it, or
	// so soon after.
	excuseBefore = 5 * time.Second
	excuseAfter  = time.Second
)

// pulse finds out whether a process stood still: its ticker came late.
type pulse struct{ last time.Duration }

// beat returns for how long it did, up to now; 0 if it did not.
func (p *pulse) beat(now time.Duration) time.Duration {
	d := now - p.last
	p.last = now
	if d <= pulseEvery+tooLate {
		return 0
	}
	return d
}

// feel tells, until ctx ends, of each time for which this process stood still.
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

// driver is in the place of a process for what is told of the driver.
const driver = ""

// mistake is a removal of a node to which nothing had been done.
type mistake struct {
	process string
	at      time.Duration // when its node told of it
}

// stills is when the machine stood still, as the driver and the processes have felt
// it, and who was removed by mistake. It is safe for concurrent use.
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

// mistaken notes that a node told just now that it was removed.
func (s *stills) mistaken(process string, now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mistakes = append(s.mistakes, mistake{process, now})
}

// judge returns the mistakes that cannot be put down to the machine, and forgets all.
// Of one that was just made that is not known yet: it is called once all is at rest.
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

// judgeMistakes finds it wrong that a node was removed to which nothing had been done,
// unless the machine stood still.
func (s *soak) judgeMistakes() {
	for _, m := range s.stills.judge() {
		s.mu.Lock()
		s.res.Mistaken++
		s.mu.Unlock()
		s.fail(fmt.Errorf("%s was removed before %.3f, nothing had been done to it, and neither it nor the driver stood still", m.process, m.at.Seconds()))
	}
}
