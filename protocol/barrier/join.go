package barrier

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx/protocol/agenda"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// joining are this node's calls that wait for the Config of a barrier (CallConfig).
type joining struct {
	joins    map[Key]*join
	joiners  map[uint64]*join // by call
	joinsDue agenda.Agenda[Key]
}

// join is all calls of a node that wait for one barrier's Config: one question is asked for
// all of them.
type join struct {
	key   Key
	calls []uint64
	made  time.Duration // the Stamp of its questions
	asked time.Duration // when the first of them was sent
	asks  retry.Backoff
	heard bool // the present primary has answered: no participant has given a Config yet, and it will tell
}

func newJoining() joining {
	return joining{joins: map[Key]*join{}, joiners: map[uint64]*join{}}
}

// join takes a CallConfig. One with a Config is of a caller whose Config was refused: it is
// asked after a while, so that a node whose participants disagree does not ask without end.
func (c *Core) join(e Call) {
	j := c.joins[e.Key]
	if j == nil {
		j = &join{key: e.Key, made: c.now}
		c.joins[e.Key] = j
		at := c.now
		if !e.Config.None() {
			at += c.cfg.Resend
		}
		c.joinsDue.Set(e.Key, at)
	}
	j.calls = append(j.calls, e.ID)
	c.joiners[e.ID] = j
}

// joinAnew asks the primaries of a new view, which know nothing of earlier questions. Answers
// to these do not count any more.
func (c *Core) joinAnew() {
	for _, k := range sorted(c.joins) {
		j := c.joins[k]
		j.made, j.heard = max(j.made+1, c.now), false
		j.asks.Answered()
		c.joinsDue.Set(k, c.now)
	}
}

// askJoins sends the questions whose time has come.
func (c *Core) askJoins() {
	for k, ok := c.joinsDue.Take(c.now); ok; k, ok = c.joinsDue.Take(c.now) {
		j, to := c.joins[k], c.primary(k)
		if to == "" {
			continue // the first view comes
		}
		if !j.asks.Waits() {
			j.asked = c.now
		}
		j.asks.Sent(c.now)
		c.joinsDue.Set(k, c.now+c.joinAgain(j))
		c.send(to, WhoOpened{Key: k, Stamp: j.made})
	}
}

// joinAgain is after how long a question is repeated. A primary that has answered tells of the
// Config by itself: it is asked rarely, and by no more than a thousand questions a second.
func (c *Core) joinAgain(j *join) time.Duration {
	if j.heard {
		return max(c.cfg.Poll, time.Duration(len(c.joins))*time.Millisecond)
	}
	return c.pauses(c.askTrip).After(j.asks.Times())
}

// opened takes the primary's answer.
func (c *Core) opened(m Opened) {
	j := c.joins[m.Key]
	if j == nil || c.terms.Outdated(m.Term) || m.Stamp != j.made {
		return
	}
	if !j.heard {
		c.askTrip.Took(min(c.now-j.asked, c.cfg.Poll))
	}
	d := Done{Term: m.Term, Config: m.Config}
	switch {
	case m.Fired && m.Late == CatchUp:
		d.Outcome, d.Verdict = Forgotten, Behind
	case m.Fired:
		d.Outcome, d.Verdict = Forgotten, LateFire
	case m.Config.None():
		j.heard = true
		c.joinsDue.Set(m.Key, c.now+c.joinAgain(j))
		return
	}
	c.endJoin(j)
	for _, id := range j.calls {
		delete(c.joiners, id)
		d.ID = id
		c.emit(d)
	}
}

// giveUpJoin ends a CallConfig. It reports whether the call was one.
func (c *Core) giveUpJoin(id uint64) bool {
	j := c.joiners[id]
	if j == nil {
		return false
	}
	delete(c.joiners, id)
	if j.calls = slices.DeleteFunc(j.calls, func(x uint64) bool { return x == id }); len(j.calls) == 0 {
		c.endJoin(j)
	}
	c.giveUpOn(j.key, nil, GivenUp{ID: id, Primary: c.primary(j.key), Heard: j.heard, Unopened: true, Withdrawn: true})
	return true
}

func (c *Core) endJoin(j *join) {
	delete(c.joins, j.key)
	c.joinsDue.Cancel(j.key)
}
