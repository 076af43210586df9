package store

import (
	"context"
	"sync"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// confirmsAtOnce bounds how many copies Confirm asks one owner about at a time.
const confirmsAtOnce = 1000

// Confirm asks the owners of all complete copies whether these are still what
// they should be, and drops those that are not. It returns when all have
// answered, or ctx ends: the rest is asked and answered later.
func (e *Env) Confirm(ctx context.Context) {
	c := &confirmation{env: e, all: make(chan struct{}), of: map[phalanx.NodeID][]directory.Holding{}}
	for _, h := range e.Table.Everything() {
		if h.Complete {
			owner := e.Directory.Owner(h.Object)
			c.of[owner] = append(c.of[owner], h)
			c.left++
		}
	}
	if c.left == 0 {
		return
	}
	owners := make([]phalanx.NodeID, 0, len(c.of))
	for owner := range c.of {
		owners = append(owners, owner)
	}
	for range confirmsAtOnce {
		for _, owner := range owners {
			c.ask(owner)
		}
	}
	select {
	case <-c.all:
	case <-ctx.Done():
	}
}

// confirmation is one call of Confirm. An owner that does not answer holds up only the
// questions to itself.
type confirmation struct {
	env *Env
	all chan struct{} // closed when all have answered

	mu   sync.Mutex
	of   map[phalanx.NodeID][]directory.Holding // by owner: not asked yet
	left int                                    // copies about which no answer has come yet
}

// ask asks an owner about one more copy, and about the next when that is answered. A
// copy that has gone since, or that leave to evict is asked for, is passed over: what
// has become of it is told by an earlier number than this question would have.
func (c *confirmation) ask(owner phalanx.NodeID) {
	d := c.env.Directory
	for {
		h, ok := c.next(owner)
		if !ok {
			return
		}
		num, pinned, whole := c.env.Table.ifWhole(h.Object, h.Gen, func() uint64 { return d.Nums(1) })
		if !whole {
			c.over()
			continue
		}
		d.Request(h.Object, num, directory.Announce{Gen: h.Gen, Complete: true, Pinned: pinned}, func(_ phalanx.NodeID, r directory.Result) {
			if r.Waiting {
				return
			}
			c.env.heard(h.Object, h.Gen, r)
			c.over()
			c.ask(owner)
		})
		return
	}
}

// next takes one copy that an owner is to be asked about off the list.
func (c *confirmation) next(owner phalanx.NodeID) (h directory.Holding, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rest := c.of[owner]
	if len(rest) == 0 {
		return h, false
	}
	c.of[owner] = rest[1:]
	return rest[0], true
}

// over notes that nothing is to be heard about one more copy.
func (c *confirmation) over() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left == 0 {
		close(c.all)
	}
}
