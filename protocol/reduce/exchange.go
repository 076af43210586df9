package reduce

// A source that another Reduce makes is on the node of that Reduce's root, whose link is
// busy with the inputs of the source. A place with children there would have their
// streams come over the same link, and of a chain of Reduces all roots would be on one
// node. So such a source rather takes a leaf, whose source is complete and can as well
// be where the streams end.

// exchange gives p, whose turn it is, to the source of a leaf, and the leaf to s, if that
// is better; it reports whether it did. No root runs yet, so no reader has seen the outputs
// that are cleared above the leaf; none is, if the leaf has not been told yet.
func (c *Coordinator) exchange(p *place, s *source) bool {
	if !s.making || len(c.children(p)) == 0 || c.places[0].life != vacant {
		return false
	}
	for i := range c.tree.Len() {
		q := c.places[c.tree.Position(i)]
		if q.life != live || !q.final || q.source.making || len(c.children(q)) > 0 {
			continue
		}
		old, node, told := q.source, q.node, q.told
		c.unwanted(q, false)
		c.become(q, vacant)
		q.source = nil
		c.unhand(q, false)
		if told {
			c.disown(q)
		}
		c.put(p, old, node)
		c.putAs(NoteMoved, q, s, c.pick(s).node)
		return true
	}
	return false
}
