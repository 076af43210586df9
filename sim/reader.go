package sim

import "time"

// readFor is how long a caller looks at what a Get has brought it, at most.
const readFor = 300 * time.Millisecond

// read has a caller hold a complete copy for a while, as a View or a Reader does.
func (n *node) read(c *copied) {
	c.readers++
	n.after(n.w.draw(readFor), func() {
		c.readers--
		if c.evicted {
			n.w.fail("(13) %s has evicted %s@%v, which was read", n.id, c.Object, c.Gen)
		}
		n.memory.serve()
		n.w.step(n, "read")
	})
}

// inUse reports whether a reader, a stream or a place of this node is in c.
func (n *node) inUse(c *copied) bool {
	return c.readers > 0 || n.serving(c) > 0 || n.reduces.uses(c)
}
