package dataplane

import (
	"slices"
	"time"
)

// A pool gives back memory that its node no longer needs: memory that has been idle for a whole
// minute. A steady load, even with shorter pauses, finds memory that was touched before.

const (
	idleLook  = 15 * time.Second // how often a pool with idle memory looks
	idleLooks = 4                // successive looks that must find it idle
)

// idleness measures the memory of a pool that no buffer has needed lately.
type idleness struct {
	least int64   // bytes that were idle all the time since the last look
	were  []int64 // the same for the looks before, at most idleLooks
	timer *time.Timer
}

// tendLocked starts the pool's looks while it has idle memory.
func (p *Pool) tendLocked() {
	if i := &p.idleness; i.timer == nil {
		i.least, i.were = 0, nil // all memory was in use until now
		i.timer = time.AfterFunc(idleLook, p.look)
	}
}

// look gives back memory that has been idle for idleLooks looks, except memory that Warm has
// touched.
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

// Close gives back all idle memory. From now on, released memory goes at once.
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
