package reduce

import (
	"github.com/phalanx-go/phalanx"
)

func (c *Coordinator) rootDone(ev RootDone) {
	if c.phase != running || ev.Place != 0 || len(c.places) == 0 {
		return
	}
	p := c.places[0]
	if p.life != live || p.gen != ev.Gen || c.restart.pending || ev.TargetGen != c.gen {
		return
	}
	if ev.Size != c.meta.Size {
		err := c.fault(c.cfg.Target, phalanx.ErrInternal, "its root made %d bytes, the sources have %d", ev.Size, c.meta.Size)
		err.Node = p.node
		c.fail(err, true)
		return
	}
	c.done = &ev
}

// tryFinalise asks for the end when the root is done and every source in the
// tree is final in the generation that was used.
func (c *Coordinator) tryFinalise() {
	if c.done == nil || c.phase != running {
		return
	}
	for range c.places { // from the one on that was waited for
		if p := c.places[c.unsure]; p.life == vacant || !p.final {
			return
		}
		c.unsure = (c.unsure + 1) % len(c.places)
	}
	c.finish()
}

func (c *Coordinator) finish() {
	c.phase = finalising
	c.finalise = retry{pending: true, sent: c.now}
	c.included, c.leftOver = c.split()
	c.emit(c.finaliseEffect())
}

func (c *Coordinator) finaliseEffect() Finalise {
	f := Finalise{Target: c.cfg.Target, Attempt: c.cfg.Attempt, Gen: c.gen, Meta: c.meta, Inline: c.inline}
	if c.inline {
		f.Digest = c.combine.digest
	} else {
		f.Digest, f.At = c.done.Digest, c.places[0].node
	}
	f.In, f.Out = c.included, c.leftOver
	return f
}

// split returns the sources that are in the result, and the others.
func (c *Coordinator) split() (in, out []phalanx.ObjectID) {
	combined := c.combine.set()
	for _, s := range c.sources {
		if s.position >= 0 || combined[s] {
			in = append(in, s.id)
		} else {
			out = append(out, s.id)
		}
	}
	return in, out
}

func (c *Coordinator) finalised(ev Finalised) {
	if c.phase != finalising || ev.Gen != c.gen {
		return
	}
	f := c.finaliseEffect()
	c.emit(Notify{What: NoteCompleted})
	c.end(Result{In: f.In, Out: f.Out, Gen: f.Gen, Size: f.Meta.Size, Digest: f.Digest}, true)
}

func (c *Coordinator) finaliseRefused(ev FinaliseRefused) {
	switch {
	case c.phase != finalising || ev.Gen != c.gen:
	case ev.Kind == phalanx.ErrLost && !c.inline:
		c.rootGone(ev.Text)
	default:
		c.phase = running // it is not final, and given back if it is still bound to this
		c.fail(c.fault(c.cfg.Target, ev.Kind, "the target cannot become final: %s", ev.Text), ev.Kind != phalanx.ErrDeleted)
	}
}

// completed reports whether the target became final.
func (c *Coordinator) completed() bool { return c.final }

// fail ends the Reduce with err. abort says whether the target is still bound
// to it, and to be released.
func (c *Coordinator) fail(err *phalanx.Error, abort bool) {
	if c.phase == ended {
		return
	}
	err.Op = "reduce"
	if c.phase == finalising && abort {
		// The owner may have made the target final already: the root's copy, which
		// is the only one, stays until that is known.
		if c.answer == nil {
			c.answer = Fail{Err: err}
			c.emit(c.answer)
		}
		return
	}
	was, restart := c.phase, c.restart
	unanswered := c.ask.pending && was == beginning
	c.end(Fail{Err: err}, false)
	switch {
	case !abort:
	case restart.pending: // find out first which generation there is to release
		c.restart = restart
	case was == running || was == inspecting && !c.gen.IsZero():
		c.release()
	case unanswered || was == inspecting: // find out first which places to release
		c.ask = retry{pending: true, sent: c.now}
	}
	if !c.ask.pending {
		c.stopFound(false)
	}
}

func (c *Coordinator) release() {
	c.abort = retry{pending: true, sent: c.now}
	c.emit(Abort{Target: c.cfg.Target, Attempt: c.cfg.Attempt, Gen: c.gen})
}

// end gives the caller its answer, if it has none, and frees everything.
func (c *Coordinator) end(answer Effect, final bool) {
	c.phase, c.final = ended, final
	c.ask, c.restart, c.finalise = retry{}, retry{}, retry{}
	if c.answer == nil {
		c.answer = answer
		c.emit(answer)
	}
	c.unwatch()
	for _, p := range c.places {
		if p.life == live {
			c.unwanted(p, final)
		}
	}
	if final {
		c.stopFound(true)
	}
	c.askLate()
	c.sendStops()
}

// stopFound stops places that a restart found and did not come to use; it stops
// places of nodes that were not asked yet when these answer. It must be known whether
// the target is final, since then the root's copy is to stay.
func (c *Coordinator) stopFound(final bool) {
	for _, f := range c.resumed.found {
		c.stopAt(f.held.State.Place, f.node, f.held.State.Gen, final)
	}
	c.resumed.found = nil
	c.sendStops()
}
