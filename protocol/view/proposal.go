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
	giveUp time.Duration
}

func (c *Core) propose(ev Propose) {
	if ev.From != "" {
		c.dispatch(ev.Command, true, ev.Relayed)
		return
	}
	if c.view.Number > 0 && ev.Command.settled(c.view) {
		c.emit(Settled{Command: ev.Command})
		return
	}
	data := EncodeCommand(ev.Command)
	if slices.ContainsFunc(c.own, func(p proposal) bool { return bytes.Equal(p.data, data) }) {
		return
	}
	c.own = append(c.own, proposal{cmd: ev.Command, data: data, next: c.now + c.cfg.HeartbeatEvery, giveUp: c.now + c.cfg.GiveUpAfter})
	c.dispatch(ev.Command, false, false)
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
