package ask

import (
	"errors"
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

const (
	giveUpAfter = 10 * time.Minute // half the life of a tombstone; not for requests that last

	// silentAfter is how long an owner may say nothing, while no other takes over,
	// before the node tells callers; longer by as much as this node is late to notice
	// that another one is silent. It outlasts a change of owners. An owner that answers
	// other requests has more time: busyFor.
	silentAfter = 3 * time.Second
	busyFor     = 15 * time.Second
)

// expect notes the caller that is to hear if the owner says nothing.
func (c *Requests) expect(ev Impatient) {
	if r := c.pending[ev.Num]; r != nil {
		r.impatient = ev.By
		if !r.held {
			c.book(r)
		}
	}
}

// givenUpAt returns when the node gives up r.
func (r *request) givenUpAt() (at time.Duration, ok bool) {
	return r.began + giveUpAfter + 1, !r.lasts()
}

// giveUp ends a request that has gone on for too long, and returns the answers to its callers.
func (c *Requests) giveUp(r *request) (tell []Effect) {
	c.remove(r)
	switch r.Body.(type) {
	case directory.Begin, directory.PutInline: // it may have bound a generation that no caller would finish
		c.cancel(r.Object, r.shard, r.Num)
	}
	err := c.unavailable(r)
	res := directory.Result{Kind: err.Kind, Text: err.Err.Error()}
	for _, by := range append([]any{r.by}, r.joined...) {
		if by != nil {
			tell = append(tell, Answer{By: by, From: r.owner, Result: res})
		}
	}
	return tell
}

// complainsAt returns when the node tells the caller of r that the owner is silent, if the
// owner says nothing until then.
func (c *Requests) complainsAt(r *request) (at time.Duration, ok bool) {
	if r.impatient == nil || r.content() {
		return 0, false
	}
	silence := silentAfter + c.cfg.Late()
	at = max(r.heard+silence, min(r.heard+busyFor, c.spoke[r.owner]+silence))
	if r.told != 0 {
		at = max(at, r.told+silence)
	}
	return at + 1, true
}

// unavailable returns the error of a request whose owner is silent.
func (c *Requests) unavailable(r *request) *phalanx.Error {
	e := &phalanx.Error{Object: r.Object, Node: r.owner, Kind: phalanx.ErrUnavailable}
	switch r.owner {
	case "":
		e.Node, e.Err = c.cfg.Self, errors.New("this node knows of no owner of the object's directory shard")
	case c.cfg.Self:
		e.Err = fmt.Errorf("this node owns directory shard %d, but it cannot reach a majority of the voters or the shard's backup", r.shard)
	default:
		e.Err = fmt.Errorf("the node owns directory shard %d, and has not answered for %v; the change may still take effect",
			r.shard, (c.now - r.heard).Round(100*time.Millisecond))
	}
	return e
}
