package sim

import "time"

// readFor is the longest time that a caller reads the copy of a Get.
const readFor = 300 * time.Millisecond

// read has a caller hold a complete copy for a while, as a View or a Reader does.
func (n *node) read(c *copied) {
	if !n.table.Use(&c.Copy) {
		return
	}
	n.after(n.w.draw(readFor), func() {
		n.unuse(c)
		if c.evicted {
			n.w.fail("(13) %s has evicted %s@%v, which was read", n.id, c.Object, c.Gen)
		}
		n.w.step(n, "read")
	})
}

// unuse ends a use of a copy. A dropped copy then gives its room back.
func (n *node) unuse(c *copied) {
	if n.table.Unuse(&c.Copy) {
		n.memory.release(c)
	}
}
