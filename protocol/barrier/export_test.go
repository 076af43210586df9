package barrier

// Joining returns how many calls and barriers a node waits for a Config of, and how many nodes
// a primary tells.
func (c *Core) Joining() (calls, barriers, askers int) {
	n := 0
	for _, nodes := range c.askers {
		n += len(nodes)
	}
	return len(c.joiners), len(c.joins) + c.joinsDue.Len(), max(n, c.askersDue.Len())
}
