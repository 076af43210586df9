package dataplane

import (
	"fmt"
	"sync"

	"github.com/phalanx-go/phalanx"
)

// strangers are the connections of nodes that were no members when they connected: of a joining
// node that this node does not know yet, or of one that only claims to be a node. All share one
// bound, so that they leave room for members.
type strangers struct {
	mu    sync.Mutex
	links map[*link]phalanx.NodeID
}

// member reports whether Lookup knows node.
func (c *Conns) member(node phalanx.NodeID) bool {
	_, ok := c.cfg.Lookup(node)
	return ok
}

// meet notes l if its node is no member, and refuses it if there are too many strangers.
func (c *Conns) meet(l *link, node phalanx.NodeID) error {
	if c.member(node) {
		return nil
	}
	s := &c.strangers
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.links) >= c.cfg.MaxStrangers {
		for l, n := range s.links {
			if c.member(n) { // it has become a member
				delete(s.links, l)
			}
		}
	}
	if len(s.links) >= c.cfg.MaxStrangers {
		return &phalanx.Error{Op: "hello", Node: node, Kind: phalanx.ErrUnavailable,
			Err: fmt.Errorf("this node knows no such member, and %d connections of such nodes are open", len(s.links))}
	}
	if s.links == nil {
		s.links = map[*link]phalanx.NodeID{}
	}
	s.links[l] = node
	return nil
}

func (c *Conns) unmeet(l *link) {
	c.strangers.mu.Lock()
	defer c.strangers.mu.Unlock()
	delete(c.strangers.links, l)
}

// host returns the peer of a connection, and keeps it until part.
func (c *Conns) host(node phalanx.NodeID) *peer {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.peerLocked(node)
	p.guests++
	return p
}

// part forgets p if that was its last connection and it is no member: strangers can use any number
// of names.
func (c *Conns) part(p *peer) {
	member := c.member(p.node)
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.guests--; p.guests > 0 || member || c.peers[p.node] != p || p.used() {
		return
	}
	delete(c.peers, p.node)
	p.cancel()
}

// used reports whether this node has anything for the peer, or a connection to it.
func (p *peer) used() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running || p.queued > 0 || len(p.idle) > 0
}
