package ask

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// learn takes a new view. Requests go at once to owners that are new, or that have lost and
// got the shard since.
func (c *Requests) learn(v view.View) {
	c.view = v
	maps.DeleteFunc(c.spoke, func(n phalanx.NodeID, _ time.Duration) bool { return !v.Has(n) })
	var moved []*request
	for _, r := range c.pending {
		if s := v.Shards[r.shard]; !r.held && (r.owner != s.Owner || r.epoch != s.Epoch) {
			moved = append(moved, r)
		}
	}
	slices.SortFunc(moved, byNum)
	for i, r := range moved {
		send := c.aim(r)
		if i >= atOnce { // the owner is not flooded with the rest
			r.again = c.now + time.Duration(i/atOnce)*grain
		} else if send {
			c.send(r)
		}
		c.book(r)
	}
}

// View returns the present view; its number is 0 before the first.
func (c *Requests) View() view.View { return c.view }

// Shard returns the row of id's shard in the present view, and its index; false before the
// first view.
func (c *Requests) Shard(id phalanx.ObjectID) (s view.Shard, index int, ok bool) {
	if len(c.view.Shards) == 0 {
		return view.Shard{}, 0, false
	}
	index = id.Shard(len(c.view.Shards))
	return c.view.Shards[index], index, true
}

// Asked returns how many requests were made, repeats not counted.
func (c *Requests) Asked() uint64 { return c.asked }

// Request returns a request that is not answered yet.
func (c *Requests) Request(num uint64) (r directory.Request, ok bool) {
	if p := c.pending[num]; p != nil {
		return p.Request, true
	}
	return directory.Request{}, false
}

// Unanswered yields the requests that wait for an answer, watches left out, in the order of
// their numbers.
func (c *Requests) Unanswered() iter.Seq[directory.Request] {
	return func(yield func(directory.Request) bool) {
		for _, num := range slices.Sorted(maps.Keys(c.pending)) {
			if r := c.pending[num]; !r.watch && !yield(r.Request) {
				return
			}
		}
	}
}
