package workflow

// beaten takes how far an attempt has come.
func (c *Controller) beaten(m *member, b Beaten) {
	h := c.runs[b.ID.Run]
	switch {
	case h == nil:
	case h.held != nil:
		if f := h.held.found[b.ID.Task]; f != nil && f.id == b.ID && f.to == m {
			c.setProgress(h, b.ID.Task, b.Progress)
		}
	case m.flights[b.ID] != nil:
		c.setProgress(h, b.ID.Task, b.Progress)
	}
}

// setProgress keeps what the next attempt of a task is given; nil: nothing. The bytes are kept in memory only, and all
// together are bounded: an attempt without them begins anew.
func (c *Controller) setProgress(h *hosted, v int, bytes []byte) {
	c.progress -= len(h.progress[v].bytes)
	delete(h.progress, v)
	if bytes == nil || len(bytes) > MaxProgress || c.progress+len(bytes) > mostProgress {
		return
	}
	if h.progress == nil {
		h.progress = map[int]progress{}
	}
	h.progress[v] = progress{h.run.tasks[v].gen, bytes}
	c.progress += len(bytes)
}

// progressOf returns what the next attempt of a task is given.
func (h *hosted) progressOf(v int) []byte {
	if p := h.progress[v]; p.gen == h.run.tasks[v].gen {
		return p.bytes
	}
	return nil
}

func (c *Controller) dropProgress(h *hosted) {
	for _, p := range h.progress {
		c.progress -= len(p.bytes)
	}
	h.progress = nil
}
