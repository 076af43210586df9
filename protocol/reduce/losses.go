package reduce

import (
	"maps"
	"slices"
)

// While the target is to become final its places stay as they are: their outputs are
// complete, and their copies are wanted until the owner has answered. The coordinator
// notes a place that is lost meanwhile. If the root has ended, so that the target does not
// become final, the Reduce goes on without the noted places.

// loss is the loss of a place while the target was to become final.
type loss struct {
	why     Reason
	text    string
	emptied bool // its source cannot be used either
}

// noteLoss keeps a loss for later. The loss of its source prevails over other losses of a place.
func (c *Coordinator) noteLoss(p *place, l loss) {
	if c.losses == nil {
		c.losses = map[int]loss{}
	}
	if c.losses[p.pos].why == 0 || l.emptied {
		c.losses[p.pos] = l
	}
}

// rootGone goes on without the root, whose node has told the owner that it has ended
// before this coordinator heard of it.
func (c *Coordinator) rootGone(text string) {
	c.phase = running
	c.finalise, c.done = retry{}, nil
	c.included, c.leftOver = nil, nil
	losses := c.losses
	c.losses = nil
	if failed, is := c.answer.(Fail); is { // its caller has gone as it was to become final
		c.fail(failed.Err, true)
		return
	}
	root := c.places[0]
	c.breakRing(root) // also if the root's node has left the view meanwhile
	if others := func(h *holder) bool { return h.node != root.node && c.takes(h) }; slices.ContainsFunc(root.source.holders, others) {
		c.bar(root.source, root.node)
	}
	c.lose(root, LostPanic, text, false)
	noted := slices.Sorted(maps.Keys(losses))
	for _, pos := range noted { // all of them before any parent is asked for their outputs
		if l := losses[pos]; l.emptied {
			c.empty(c.places[pos], l.why, l.text)
		} else {
			c.lose(c.places[pos], l.why, l.text, false)
		}
	}
	c.consultDead()
	unmatched := c.unmatched
	c.unmatched = nil
	for _, r := range unmatched {
		c.ready(r)
	}
}

// consultDead asks about every dead place. While the root was done it held all of them, so
// that no place was asked.
func (c *Coordinator) consultDead() {
	for _, p := range c.places {
		if p.life == dead && !p.asked.pending {
			c.consult(p)
		}
	}
}

// keepUnmatched notes a source that does not match the others, while that does not matter.
func (c *Coordinator) keepUnmatched(ev Ready) {
	if c.phase != finalising {
		return
	}
	if i := slices.IndexFunc(c.unmatched, func(r Ready) bool { return r.Source == ev.Source }); i >= 0 {
		c.unmatched[i] = ev
		return
	}
	c.unmatched = append(c.unmatched, ev)
}

// strike bars the node of a place for its source, once, however often the place says that
// it is lost while the target is to become final.
func (c *Coordinator) strike(p *place) {
	if c.losses[p.pos].why == 0 {
		c.bar(p.source, p.node)
	}
}
