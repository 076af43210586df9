package directory

import (
	"errors"
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/directory"
)

// lasts reports whether r goes on until it is answered or forgotten. A request that binds
// must not, unless it waits at the owner: once the tombstone has ended it would bind anew.
// Nor does a Delete, whose caller's deadline is sooner, or a report, for whose answer nobody waits.
func (r *request) lasts() bool {
	switch b := r.Body.(type) {
	case core.Locate, core.AwaitCopies, core.Final, core.Abort, core.Restart, core.Evict, core.Watch, core.Stat, core.List:
		return true
	case core.PutInline: // of a generation that was begun
		return !b.Gen.IsZero()
	}
	return false
}

// givenUpAt returns when r has gone on for too long.
func (r *request) givenUpAt() (at time.Duration, ok bool) {
	return r.began + giveUpAfter + 1, !r.lasts()
}

// giveUp ends a request that has gone on for too long. It needs mu, and returns a function
// that tells the callers, which is to be called without mu.
func (c *Client) giveUp(r *request, now time.Duration) func() {
	c.remove(r)
	switch r.Body.(type) {
	case core.Begin, core.PutInline: // it may have bound a generation that nobody would finish
		c.cancel(r)
	}
	owner, err := r.owner, c.unavailable(r, now-r.heard)
	return func() { deliver(r.answers, owner, core.Result{Kind: err.Kind, Text: err.Err.Error()}) }
}

// Impatient has silent called, from another goroutine, whenever the owner has not
// answered request num for some seconds: others may wait for it by then. The
// request goes on until it is forgotten.
func (c *Client) Impatient(num uint64, silent func(*phalanx.Error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.pending[num]; r != nil {
		r.silent = silent
		if !r.held {
			c.book(r, c.now())
		}
	}
}

// unavailable returns the error of a request whose owner is silent.
func (c *Client) unavailable(r *request, quiet time.Duration) *phalanx.Error {
	e := &phalanx.Error{Object: r.Object, Node: r.owner, Kind: phalanx.ErrUnavailable}
	switch r.owner {
	case "":
		e.Node, e.Err = c.self, errors.New("this node knows of no owner of the object's directory shard")
	case c.self:
		e.Err = fmt.Errorf("this node owns directory shard %d, but it cannot reach a majority of the voters or the shard's backup", r.shard)
	default:
		e.Err = fmt.Errorf("it owns directory shard %d, and has not answered for %v; the change may still take effect", r.shard, quiet.Round(100*time.Millisecond))
	}
	return e
}

// silence returns how long an owner may now say nothing.
func (c *Client) silence() time.Duration { return silentAfter + c.late() }

// complainsAt returns when the caller of r is to be told that its owner is silent, if the
// owner says nothing until then.
func (c *Client) complainsAt(r *request) (at time.Duration, ok bool) {
	if r.silent == nil || r.told() {
		return 0, false
	}
	silence := c.silence()
	at = max(r.heard+silence, min(r.heard+busyFor, c.spoke[r.owner]+silence))
	if r.complained != 0 {
		at = max(at, r.complained+silence)
	}
	return at + 1, true
}

// complain notes that the caller of r is told now that its owner is silent. It needs mu,
// and returns the function that tells it, which is to be called without mu.
func (c *Client) complain(r *request, now time.Duration) func() {
	r.complained = now
	silent, err := r.silent, c.unavailable(r, now-r.heard)
	return func() { silent(err) }
}
