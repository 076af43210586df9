package workflow

import (
	"slices"
	"time"
)

// unit is rows that become durable at once, and what comes after that.
type unit struct {
	rows []Row
	size int
	then func()
}

// written is a Write that is not durable.
type written struct {
	number uint64
	at     time.Duration
	bytes  int
	then   []func()
}

// add makes rows durable at once, with this step's Write or, if they do not fit in, with one of their own.
func (c *Controller) add(then func(), rows ...Row) {
	size := 0
	for _, r := range rows {
		size += r.size()
	}
	c.units = append(c.units, unit{rows, size, then})
	c.bytes += size
}

// flush puts units into Writes, in order. The ledger refuses more than MaxUncommitted bytes at once, and a workflow may have more: units
// wait while mostWritten bytes are not durable.
func (c *Controller) flush() {
	var w Write
	var is written
	next := func() {
		if len(w.Rows) > 0 {
			c.number++
			w.Number, is.number, is.at = c.number, c.number, c.now
			c.written = append(c.written, is)
			c.onWay += is.bytes
			c.emit(w)
		}
		w, is = Write{}, written{}
	}
	taken := 0
	for _, u := range c.units {
		if is.bytes+u.size > MaxWrite {
			next()
		}
		if c.onWay+is.bytes >= mostWritten {
			break
		}
		taken++
		w.Rows = append(w.Rows, u.rows...)
		is.bytes += u.size
		if u.then != nil {
			is.then = append(is.then, u.then)
		}
	}
	next()
	c.units = slices.Delete(c.units, 0, taken)
}

// durable takes that Writes up to a number are durable.
func (c *Controller) durable(number uint64) {
	for len(c.written) > 0 && c.written[0].number <= number {
		is := c.written[0]
		c.written = c.written[1:]
		c.bytes -= is.bytes
		c.onWay -= is.bytes
		for _, f := range is.then {
			f()
		}
	}
}

// stalled reports whether the oldest Write has waited so long that another controller may be near: nothing is
// dispatched (workflow specification 3.2).
func (c *Controller) stalled() bool {
	return len(c.written) > 0 && c.now >= c.written[0].at+stallAfter
}

// full reports whether too much is not durable.
func (c *Controller) full() bool { return c.bytes > MaxUncommitted }

func (c *Controller) read(key, end string, limit int, then func([]Row)) {
	c.asked++
	c.reads[c.asked] = then
	c.emit(Read{Number: c.asked, Key: key, End: end, Limit: limit})
}

// confirmThen calls f once it is certain that no other controller had begun when it was asked.
func (c *Controller) confirmThen(f func()) { c.confirms = append(c.confirms, f) }

// lately calls f once it is certain that no other controller had begun a second ago: a ledger that sleeps says nothing by
// itself.
func (c *Controller) lately(f func()) {
	if c.now-c.sure <= time.Second {
		f()
		return
	}
	c.confirmThen(f)
}

// confirm asks for all that wait, once what was asked before is answered.
func (c *Controller) confirm() {
	if len(c.confirming) == 0 && len(c.confirms) > 0 {
		c.confirming, c.confirms = c.confirms, nil
		c.asked++
		c.confirmAs, c.confirmAt = c.asked, c.now
		c.emit(Confirm{Number: c.asked})
	}
}

func (c *Controller) confirmed(number uint64) {
	if number != c.confirmAs {
		return
	}
	c.sure = c.confirmAt
	all := c.confirming
	c.confirming = nil
	for _, f := range all {
		f()
	}
}

// lookup calls then with the run of an id if it is in memory; else with its row, or nil if there is none.
func (c *Controller) lookup(id string, then func(*hosted, *Name)) {
	if waits, is := c.locked[id]; is {
		c.locked[id] = append(waits, func() { c.lookup(id, then) })
		return
	}
	if h := c.ids[id]; h != nil {
		then(h, nil)
		return
	}
	if waits, is := c.looking[id]; is {
		c.looking[id] = append(waits, then)
		return
	}
	c.looking[id] = []func(*hosted, *Name){then}
	c.read(idKey(id), "", 1, func(rows []Row) {
		var name *Name
		if len(rows) > 0 {
			n := rows[0].Value.(Name)
			name = &n
		}
		waits := c.looking[id]
		delete(c.looking, id)
		for _, then := range waits {
			_, busy := c.locked[id]
			if busy || c.ids[id] != nil {
				c.lookup(id, then)
			} else {
				then(nil, name)
			}
		}
	})
}

// lock has lookups of an id wait until unlock.
func (c *Controller) lock(id string) {
	if _, is := c.locked[id]; !is {
		c.locked[id] = nil
	}
}

func (c *Controller) unlock(id string) {
	waits := c.locked[id]
	delete(c.locked, id)
	for _, f := range waits {
		f()
	}
}
