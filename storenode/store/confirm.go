package store

import (
	"context"
	"sync"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// confirmsAtOnce bounds how many copies Confirm asks one owner about at a time.
const confirmsAtOnce = 1000

// Confirm asks the owners of all complete copies whether the objects still have these
// generations, and drops the copies of others. It returns when all owners have answered, or
// ctx ends: the other questions and answers go on.
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

// ask asks an owner about one more copy, and about the next after the answer. It passes
// over a copy that the node has dropped since, or for which it asks leave to evict: the
// owner hears of that under a lower number than this question would have.
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

// next takes one copy off an owner's list.
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

// over notes that one more copy needs no answer.
func (c *confirmation) over() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left == 0 {
		close(c.all)
	}
}
