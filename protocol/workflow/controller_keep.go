package workflow

import "strings"

// pass notes that a leader has led for another minute, or for several if it was late, and deletes what has been kept long enough.
func (c *Controller) pass() {
	for ; c.now >= c.ticks; c.ticks += minute {
		c.minutes++
	}
	c.add(nil, c.clock())
	c.expire()
	c.wake()
}

// wake loads the runs that have slept long enough. A run that is in memory, or has ended, has left its row behind.
func (c *Controller) wake() {
	c.read("wake/", wakeKey(c.minutes+1, ""), mostListed, func(rows []Row) {
		done := c.page(rows, c.wake)
		for _, r := range rows {
			id := strings.SplitN(r.Key, "/", 3)[2]
			c.lookup(id, func(h *hosted, n *Name) {
				if h != nil || n == nil || n.State != Waiting || wakeKey(n.Until, id) != r.Key {
					c.add(nil, Row{Key: r.Key})
					done()
					return
				}
				c.load(id, n, func(h *hosted) {
					if h == nil {
						c.publish(RunStuck{Run: n.Run, ID: id, Why: "this version cannot go on with it"})
						c.add(nil, Row{Key: r.Key})
					}
					done()
				})
			})
		}
	})
}

// page returns a function to call as each row of a page has its deletion written. After the last one next reads the page that follows, if
// there may be one: before, it would find the same rows.
func (c *Controller) page(rows []Row, next func()) (done func()) {
	left := len(rows)
	return func() {
		if left--; left == 0 && len(rows) == mostListed {
			c.add(next, c.clock())
		}
	}
}

// expire deletes the rows of ids whose time is over. A Start that still finds a row attaches to its run, so that no
// row of a new run is deleted.
func (c *Controller) expire() {
	c.read("until/", untilKey(c.minutes+1, ""), mostListed, func(rows []Row) {
		done := c.page(rows, c.expire)
		for _, r := range rows {
			parts := strings.SplitN(r.Key, "/", 3)
			id := parts[2]
			c.lookup(id, func(h *hosted, n *Name) {
				if h != nil || n == nil || untilKey(n.Until, id) != r.Key || n.State != Finished && n.State != Forgotten {
					c.add(nil, Row{Key: r.Key}) // another run has the id
					done()
					return
				}
				gone := []Row{{Key: r.Key}, {Key: idKey(id)}}
				if n.State == Finished {
					gone = append(gone, Row{Key: runKey(n.Run, ""), End: runEnd(n.Run)})
				}
				c.deleteRun(id, n, nil, gone...)
				done()
			})
		}
	})
}

// forget deletes a run that has ended. Its id stays for a while, so that a late Start does not begin it again.
func (c *Controller) forget(k *call, id string) {
	c.find(k, id, func(h *hosted, u UID, n *Name) {
		if h != nil || n.State != Finished {
			c.fail(k, invalid("run %q has not ended: cancel it before", id))
			return
		}
		until := c.minutes + tombstone
		kept := Name{Run: u, State: Forgotten, Until: until}
		c.deleteRun(id, n, func() { c.answer(k, Answer{Run: u}) }, Row{Key: untilKey(n.Until, id)}, Row{Key: runKey(u, ""), End: runEnd(u)},
			Row{Key: idKey(id), Value: kept}, Row{Key: untilKey(until, id), Value: Active{}})
	})
}

// deleteRun writes rows that delete a run, and then has members drop its results. Calls for the id wait until then.
func (c *Controller) deleteRun(id string, n *Name, then func(), rows ...Row) {
	c.lock(id)
	u, ended := n.Run, n.State == Finished
	c.add(func() {
		if ended {
			for _, m := range c.sortedMembers() {
				c.free(m, Released{Run: u, Results: true})
			}
		}
		if then != nil {
			then()
		}
		c.unlock(id)
	}, rows...)
}
