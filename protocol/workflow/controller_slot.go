package workflow

// waits takes that an attempt waits for a disk that is away, and takes no slot, or goes on. One that goes on takes a slot
// though all may be taken: it is the member's business how it shares its processors then.
func (c *Controller) waits(m *member, w Waits) {
	f := m.flights[w.ID]
	if h := c.runs[w.ID.Run]; f == nil && h != nil && h.held != nil {
		f = h.held.found[w.ID.Task]
	}
	if f == nil || f.id != w.ID || f.to != m || f.slot != w.On {
		return
	}
	if f.slot = !w.On; f.slot {
		c.place.use(m, 1)
	} else {
		c.place.use(m, -1)
	}
}
