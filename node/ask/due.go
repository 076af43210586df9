package ask

import (
	"cmp"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx/protocol/directory"
)

// Due returns when a Tick has something to do; now or earlier: at once.
func (c *Requests) Due() (at time.Duration, ok bool) {
	at, ok = c.agenda.Due()
	return max(at, c.ticked+grain), ok
}

// book puts r, which is pending, where it belongs in the agenda. Callers book after each
// change of a field that due looks at.
func (c *Requests) book(r *request) { c.agenda.Set(r.Num, c.due(r)) }

// due returns when r needs a tick.
func (c *Requests) due(r *request) time.Duration {
	at := r.again
	if up, ok := r.givenUpAt(); ok {
		at = min(at, up)
	}
	if complains, ok := c.complainsAt(r); ok {
		at = min(at, complains)
	}
	if r.ackTo != "" {
		at = min(at, r.ackAt)
	}
	return at
}

// tick handles due requests: it sends them in the order of their numbers, then the
// acknowledgements of watches, for which no caller waits; last it tells callers that their
// requests have taken too long.
func (c *Requests) tick() {
	c.ticked = c.now
	var again []*request
	var acks, tell []Effect
	for range atOnce {
		num, ok := c.agenda.Take(c.now)
		if !ok {
			break
		}
		r := c.pending[num]
		if up, ok := r.givenUpAt(); ok && up <= c.now {
			tell = append(tell, c.giveUp(r)...)
			continue
		}
		if complains, ok := c.complainsAt(r); ok && complains <= c.now {
			r.told = c.now
			tell = append(tell, Silent{By: r.impatient, Err: c.unavailable(r)})
		}
		if r.ackTo != "" && r.ackAt <= c.now {
			acks = append(acks, Send{To: r.ackTo, Shard: r.shard, What: directory.WatchAcked{From: c.cfg.Self, Num: r.Num, Object: r.Object, Version: r.watched.Version()}})
			r.ackTo = ""
		}
		if r.again <= c.now && c.aim(r) {
			again = append(again, r)
		}
		c.book(r)
	}
	slices.SortFunc(again, byNum)
	for _, r := range again {
		c.send(r)
	}
	c.out = append(append(c.out, acks...), tell...)
}

// byNum orders requests by age.
func byNum(a, b *request) int { return cmp.Compare(a.Num, b.Num) }
