package view

import (
	"bytes"
	"slices"
	"time"
)

// proposal is a command of the own node that is not visible yet.
type proposal struct {
	cmd    Command
	data   []byte
	next   time.Duration // when it is sent again
	giveUp time.Duration // unless it is asked for again
}

func (c *Core) propose(ev Propose) {
	if ev.From != "" {
		if _, joins := ev.Command.(AddMember); !joins && c.view.Number > 0 && !c.view.Has(ev.From) {
			return // it was removed; its suspicions may have been on their way for as long as it was cut off
		}
		c.dispatch(ev.Command, true, ev.Relayed)
		return
	}
	if l, ok := ev.Command.(Leaving); ok && l.Node == c.cfg.Self.ID {
		c.intend(l)
	}
	if c.view.Number > 0 && ev.Command.settled(c.view) {
		c.emit(Settled{Command: ev.Command})
		return
	}
	c.enqueue(ev.Command)
}

// enqueue asks for cmd until the view shows it, or for as long as it counts.
func (c *Core) enqueue(cmd Command) {
	data := EncodeCommand(cmd)
	giveUp := c.now + c.cfg.GiveUpAfter
	if c.lapses(cmd) {
		giveUp = c.now + c.cfg.SilentAfter
	}
	if i := slices.IndexFunc(c.own, func(p proposal) bool { return bytes.Equal(p.data, data) }); i >= 0 {
		if c.lapses(cmd) {
			c.own[i].giveUp = giveUp
		}
		return
	}
	c.own = append(c.own, proposal{cmd: cmd, data: data, next: c.now + c.cfg.HeartbeatEvery, giveUp: giveUp})
	c.dispatch(cmd, false, false)
}

// intend notes whether this node wants to leave. A mark that it has asked for before may
// come after it has taken that back, for as long as a command may be on its way.
func (c *Core) intend(l Leaving) {
	c.leaving, c.stays = !l.Stays, 0
	if l.Stays {
		c.stays = c.now + c.cfg.GiveUpAfter
	}
	c.own = slices.DeleteFunc(c.own, func(p proposal) bool { return p.cmd == Leaving{Node: l.Node, Stays: !l.Stays} })
}

// lapses reports whether cmd counts only while it is repeated. A suspected node
// may turn out to be well: then no node repeats the suspicion, and it stays.
func (c *Core) lapses(cmd Command) bool {
	remove, ok := cmd.(RemoveMember)
	return ok && remove.Node != c.cfg.Self.ID
}

// dispatch brings cmd nearer to the leader. Another's command is passed on only
// once, so that none runs in circles.
func (c *Core) dispatch(cmd Command, others, relayed bool) {
	to := c.leader
	switch {
	case c.lead != nil:
		c.offer(cmd)
		return
	case relayed:
		return
	case to == "" && !others:
		to = c.nextVoter()
	}
	if to != "" && to != c.cfg.Self.ID {
		c.emit(Forward{To: to, Relayed: others, Command: cmd})
	}
}

func (c *Core) retry() {
	kept := c.own[:0]
	for _, p := range c.own {
		if c.now >= p.giveUp {
			c.emit(GaveUp{Command: p.cmd})
			continue
		}
		if c.now >= p.next {
			p.next = c.now + c.cfg.HeartbeatEvery
			c.dispatch(p.cmd, false, false)
		}
		kept = append(kept, p)
	}
	c.own = kept
}

// goOn has this node removed if it hands over although it did not want to: it was
// the leader, and a node wanted it removed. That node may trust it again by
// now, and it would hand over for ever; removed, it can join again. It asks for that
// as long as it takes. A node that could not leave takes its mark back.
func (c *Core) goOn() {
	self := c.cfg.Self.ID
	switch m, ok := c.view.Member(self); {
	case !ok || !m.Leaving || c.leaving:
	case c.now < c.stays:
		c.enqueue(Leaving{Node: self, Stays: true})
	default:
		c.enqueue(RemoveMember{Node: self})
	}
}

// settleOwn drops commands that the newest view shows.
func (c *Core) settleOwn() {
	c.own = slices.DeleteFunc(c.own, func(p proposal) bool {
		if !p.cmd.settled(c.view) {
			return false
		}
		c.emit(Settled{Command: p.cmd})
		return true
	})
}
