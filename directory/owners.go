package directory

import (
	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Owner returns the node that owns id in the present view, or "".
func (c *Client) Owner(id phalanx.ObjectID) phalanx.NodeID {
	s, _, _ := c.shard(id)
	return s.Owner
}

// Epoch returns the epoch of id's shard in the present view, or 0.
func (c *Client) Epoch(id phalanx.ObjectID) uint64 {
	s, _, _ := c.shard(id)
	return s.Epoch
}

// Shards returns how many shards there are; 0 before the first view.
func (c *Client) Shards() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.core.View().Shards)
}

// View returns the number of the present view, 0 before the first.
func (c *Client) View() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.core.View().Number
}

// Requests returns how many requests were made, repeats not counted.
func (c *Client) Requests() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.core.Asked()
}

// Tell sends an event about id to node's replica of its shard.
func (c *Client) Tell(node phalanx.NodeID, id phalanx.ObjectID, ev core.Event) {
	if _, i, ok := c.shard(id); ok {
		_ = c.to.Send(node, i, ev) // no caller waits for it
	}
}

func (c *Client) shard(id phalanx.ObjectID) (s view.Shard, index int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.core.Shard(id)
}
