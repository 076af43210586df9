package directory

import (
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Owner returns the node that owns id in the present view, or "".
func (c *Client) Owner(id phalanx.ObjectID) phalanx.NodeID {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.view.Shards) == 0 {
		return ""
	}
	return c.view.Shards[id.Shard(len(c.view.Shards))].Owner
}

// Shards returns how many shards there are; 0 before the first view.
func (c *Client) Shards() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.view.Shards)
}

// View returns the number of the present view, 0 before the first.
func (c *Client) View() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.view.Number
}

// Epoch returns the epoch of id's shard in the present view, or 0.
func (c *Client) Epoch(id phalanx.ObjectID) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.view.Shards) == 0 {
		return 0
	}
	return c.view.Shards[id.Shard(len(c.view.Shards))].Epoch
}

// Tell sends an event about id to node's replica of its shard.
func (c *Client) Tell(node phalanx.NodeID, id phalanx.ObjectID, ev core.Event) {
	c.mu.Lock()
	n := len(c.view.Shards)
	c.mu.Unlock()
	if n > 0 {
		_ = c.to.Send(node, id.Shard(n), ev) // nobody waits for it
	}
}

// Learn takes a new view: requests go at once to owners that are new, or that
// have lost and got the shard since.
func (c *Client) Learn(v view.View) {
	c.mu.Lock()
	c.view = v
	maps.DeleteFunc(c.spoke, func(n phalanx.NodeID, _ time.Duration) bool { return !v.Has(n) })
	now := c.now()
	var moved []*request
	for _, r := range c.pending {
		if s := v.Shards[r.shard]; !r.held && (r.owner != s.Owner || r.epoch != s.Epoch) {
			moved = append(moved, r)
		}
	}
	slices.SortFunc(moved, byNum)
	var out []outgoing
	for i, r := range moved {
		send := c.aim(r, now)
		if i >= atOnce { // the owner is not flooded with the rest
			r.again = now + time.Duration(i/atOnce)*grain
		} else if send {
			out = append(out, r.outgoing())
		}
		c.book(r, now)
	}
	c.mu.Unlock()
	for _, o := range out {
		c.send(o)
	}
}
