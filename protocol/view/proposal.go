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
			return // it was removed; what it held of others may have been on its way for as long as it was cut off
		}
		c.dispatch(ev.Command, true, ev.Relayed)
		return
	}
	if c.view.Number > 0 && ev.Command.settled(c.view) {
		c.emit(Settled{Command: ev.Command})
		return
	}
	if l, ok := ev.Command.(Leaving); ok && l.Node == c.cfg.Self.ID {
		c.leaving = true
	}
	data := EncodeCommand(ev.Command)
	giveUp := c.now + c.cfg.GiveUpAfter
	if c.lapses(ev.Command) {
		giveUp = c.now + c.cfg.SilentAfter
	}
	if i := slices.IndexFunc(c.own, func(p proposal) bool { return bytes.Equal(p.data, data) }); i >= 0 {
		if c.lapses(ev.Command) {
			c.own[i].giveUp = giveUp
		}
		return
	}
	c.own = append(c.own, proposal{cmd: ev.Command, data: data, next: c.now + c.cfg.HeartbeatEvery, giveUp: giveUp})
	c.dispatch(ev.Command, false, false)
}

// lapses reports whether cmd counts only while it is repeated. Who is suspected
// may turn out to be well: then nobody says so any more, and it stays.
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
// the leader, and somebody wanted it removed. Whoever that was may trust it again
// by now, and it would hand over for ever; removed, it can join again.
func (c *Core) goOn() {
	if m, ok := c.view.Member(c.cfg.Self.ID); ok && m.Leaving && !c.leaving {
		c.propose(Propose{Command: RemoveMember{Node: c.cfg.Self.ID}})
	}
}

// settleOwn drops what the newest view shows.
func (c *Core) settleOwn() {
	c.own = slices.DeleteFunc(c.own, func(p proposal) bool {
		if !p.cmd.settled(c.view) {
			return false
		}
		c.emit(Settled{Command: p.cmd})
		return true
	})
}
