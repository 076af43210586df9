package dataplane

import (
	"slices"
	"time"
)

// A pool gives back what a node does not need any more. Memory counts as unneeded
// once it has been idle for a whole minute: a steady load, also one that pauses for
// shorter than that, finds what it has touched before.

const (
	idleLook  = 15 * time.Second // how often a pool with idle memory looks
	idleLooks = 4                // how many looks in a row have to find it idle
)

// idleness is how much of a pool's memory nobody has needed lately.
type idleness struct {
	least int64   // bytes that were idle at all times since the last look
	were  []int64 // the same of the looks before, at most idleLooks
	timer *time.Timer
}

// tendLocked has the pool looked after while it has idle memory.
func (p *Pool) tendLocked() {
	if i := &p.idleness; i.timer == nil {
		i.least, i.were = 0, nil // it was all in use until now
		i.timer = time.AfterFunc(idleLook, p.look)
	}
}

// look gives back what has been idle at all times for as many looks as it takes, but
// for what Warm has touched.
func (p *Pool) look() {
	i := &p.idleness
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	if len(i.were) == idleLooks {
		i.were = i.were[1:]
	}
	i.were = append(i.were, i.least)
	over := int64(0)
	if len(i.were) == idleLooks {
		over = max(0, min(slices.Min(i.were), p.kept+p.held-p.warm))
	}
	for k := range i.were {
		i.were[k] -= over
	}
	i.least = p.kept - over
	if over > 0 {
		p.recent = max(p.held+i.least, p.warm)
	}
	if p.kept > 0 {
		i.timer.Reset(idleLook)
	} else {
		i.timer = nil
	}
	p.mu.Unlock()
	if over > 0 {
		p.drop(over, 0)
	}
}

// Close gives back all idle memory, and from now on what is released at once.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	if i := &p.idleness; i.timer != nil {
		i.timer.Stop()
		i.timer = nil
	}
	kept := p.kept
	p.mu.Unlock()
	p.reclaim(kept)
}
