package reduce

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/phalanx-go/phalanx"
)

func (c *Coordinator) start(ev Start) {
	c.now = max(c.now, ev.Now)
	switch c.phase {
	case idle:
		if err := c.cfg.validate(); err != nil {
			c.fail(err, false)
			return
		}
		c.phase = beginning
		c.begin()
		if !c.cfg.Shared { // n of them would be told n times of each source
			c.watchSources()
		}
	case beginning, following, inspecting:
		c.begin()
	default:
		if c.answer != nil {
			c.emit(c.answer)
		}
	}
}

func (c *Coordinator) begin() {
	c.ask = retry{pending: true, sent: c.now}
	c.emit(c.beginEffect())
}

func (c *Coordinator) beginEffect() Begin {
	return Begin{Target: c.cfg.Target, Request: c.cfg.Request, Node: c.cfg.Node, Attempt: c.cfg.Attempt, After: c.after}
}

// watchSources goes out together with Begin, to save a round trip; nothing is
// placed before Begun.
func (c *Coordinator) watchSources() {
	if !c.watch {
		c.watch = true
		c.emit(Watch{Sources: c.cfg.Sources})
	}
}

func (c *Coordinator) unwatch() {
	if c.watch {
		c.watch = false
		c.emit(Unwatch{})
	}
}

func (c *Coordinator) begun(ev Begun) {
	switch c.phase {
	case beginning, following:
		c.ask.pending = false
		c.reduce, c.gen = ev.Gen, ev.Gen
		c.phase = running
		if c.unsaid != nil {
			c.fail(c.unsaid, true)
			return
		}
		for _, r := range c.early {
			c.ready(r)
		}
		c.early = nil
		if c.ring != gathering { // members of a ring report their sources
			c.watchSources()
		}
	case inspecting:
		c.ask.pending = false
		c.gen = ev.Gen
		if c.unsaid != nil {
			c.fail(c.unsaid, true)
			return
		}
		c.tryRebuild()
	case ended:
		if c.ask.pending { // it failed before this answer came
			c.ask.pending = false
			c.gen = ev.Gen
			c.stopFound(false)
			c.release()
		}
	}
}

func (c *Coordinator) attached(ev Attached) {
	if ev.Final {
		c.gen = ev.Gen // for those that have made it
	}
	if c.phase == ended && c.ask.pending {
		c.ask.pending = false
		c.final = c.final || ev.Final // an earlier attempt has come so far
		c.stopFound(c.final)
	}
	if c.phase != beginning && c.phase != following && c.phase != inspecting {
		return
	}
	if !ev.Final {
		if c.phase == beginning {
			c.phase, c.unsaid = following, nil
			c.unwatch()
		}
		c.following, c.leader = ev.Gen, ev.Coordinator
		if c.cfg.Shared {
			c.emit(Join{Node: ev.Coordinator, Target: c.cfg.Target, Reduce: ev.Gen})
		}
		return // Begin is repeated until it is final
	}
	if len(ev.In) == 0 {
		if c.cfg.Num < len(c.sources) {
			c.end(Fail{Err: c.fault(c.cfg.Target, phalanx.ErrLost, "this request made the target, which can be read; the list of its sources was lost with the target's directory shard")}, true)
			return
		}
		ev.In = c.cfg.Sources
	}
	c.end(Result{In: ev.In, Out: ev.Out, Gen: ev.Gen, Size: ev.Size, Digest: ev.Digest}, true)
}

// made ends a request for all sources that another coordinator has carried out:
// there is nothing to ask about it.
func (c *Coordinator) made(ev Made) {
	if c.phase == following && ev.Gen == c.following && c.cfg.Num == len(c.sources) {
		c.ask.pending = false
		c.end(Result{In: c.cfg.Sources, Gen: ev.Gen, Size: ev.Size, Digest: ev.Digest}, true)
		return
	}
	if c.phase != ended {
		c.start(Start{Now: ev.Now})
	}
}

func (c *Coordinator) rejected(ev Rejected) {
	if c.phase == ended && c.ask.pending {
		c.ask.pending = false
		c.stopFound(false)
	}
	begins := c.phase == beginning || c.phase == following || c.phase == inspecting
	if begins && ev.Kind == phalanx.ErrDeleted && c.after.Less(ev.Gen) && c.deletedBefore(ev.Deleted) {
		c.after = ev.Gen
		c.begin()
		return
	}
	if begins {
		c.fail(c.fault(c.cfg.Target, ev.Kind, "the target cannot be begun: %s", ev.Text), false)
	}
}

// deletedBefore reports whether a deleted generation of the target was not made by this
// Reduce, nor by the one that it follows: both end with their target. If the binding of
// the latter was only released, the deleted target is older, and this Reduce goes on.
func (c *Coordinator) deletedBefore(gen phalanx.Generation) bool {
	made := cmp.Or(c.reduce, c.following)
	return made.IsZero() || gen.Less(made)
}

func (c *Coordinator) targetGone(ev TargetGone) {
	if c.phase != idle && c.phase != ended {
		c.fail(c.fault(c.cfg.Target, ev.Kind, "the target is gone: %s", ev.Text), false)
	}
}

// fault returns an error that names an object.
func (c *Coordinator) fault(object phalanx.ObjectID, kind phalanx.Kind, format string, args ...any) *phalanx.Error {
	return &phalanx.Error{Op: "reduce", Object: object, Kind: kind, Err: fmt.Errorf(format, args...)}
}

// expired fails and names what was missing.
func (c *Coordinator) expired() {
	if c.unsaid != nil {
		c.fail(c.unsaid, true)
		return
	}
	err := c.fault(c.cfg.Target, phalanx.ErrDeadline, "the directory has not answered yet")
	if c.phase == inspecting && !c.ask.pending && len(c.resumed.waiting) > 0 {
		err.Node = c.resumed.waiting[0].node
		err.Err = fmt.Errorf("the node has not reported the places it runs, which a restarted coordinator has to know")
	}
	if c.phase == running {
		ready := 0
		for _, s := range c.sources {
			if s.position >= 0 || s.arrival > 0 {
				ready++
			} else if err.Object == c.cfg.Target && !s.deleted {
				err.Object = s.id
			}
		}
		if ready < c.cfg.Num {
			err.Err = fmt.Errorf("%d of %d sources are ready, %d are needed for %q; no live node has this one",
				ready, len(c.sources), c.cfg.Num, string(c.cfg.Target))
		} else {
			err.Object = c.cfg.Target
			err.Err = fmt.Errorf("%d sources are ready, but the result is not complete yet", ready)
			if p := c.inNeed(); p != nil {
				err.Node = p.node
				err.Err = fmt.Errorf("place %d waits for memory for its output of %q: %s", p.pos, string(p.source.id), p.waiting.Text)
			}
			if p := c.blocked(); p != nil {
				err.Node = p.node
				err.Err = errors.New(p.combining.Text)
			}
			if c.combine.pending {
				err.Node = c.cfg.Node
				err.Err = fmt.Errorf("the op %q has not combined its %d sources yet", string(c.cfg.Op), len(c.combine.inputs))
			}
		}
	}
	if c.phase == following {
		err.Node = c.leader
		err.Err = fmt.Errorf("another coordinator has not finished the target yet")
	}
	c.fail(err, true)
}
