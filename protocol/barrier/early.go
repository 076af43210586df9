package barrier

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// early are the requests to a primary before it can act: until it has gathered the knowledge of
// others, and is a member for certain. A node that has just joined has no lease yet.
type early struct {
	all    []kept
	at     map[source]int // where in all the question of a node about a barrier is
	weight int
}

type kept struct {
	Heard
	weight int
	since  time.Duration
}

// source is a node that asks about a barrier: its last request contains all earlier ones.
type source struct {
	from phalanx.NodeID
	key  Key
}

// Bounds of the kept messages. Senders repeat any that exceed them.
const (
	earlyLimit  = 4096
	earlyWeight = 16 << 20
)

// keep keeps a message of a barrier whose primary this node is, in the place of an earlier one.
func (c *Core) keep(from phalanx.NodeID, k Key, m Message, weight int) {
	e := &c.early
	if c.primary(k) != c.view.Self {
		return
	}
	one := kept{Heard{From: from, Message: m}, weight, c.now}
	question, is := m.(Reached)
	i, again := e.at[source{from, k}]
	again = again && is
	switch {
	case again && e.all[i].Message.(Reached).Stamp > question.Stamp: // it is late
	case again && e.weight-e.all[i].weight+weight <= earlyWeight:
		e.weight += weight - e.all[i].weight
		e.all[i] = one
	case !again && len(e.all) < earlyLimit && e.weight+weight <= earlyWeight:
		e.weight += weight
		if is {
			if e.at == nil {
				e.at = map[source]int{}
			}
			e.at[source{from, k}] = len(e.all)
		}
		e.all = append(e.all, one)
	}
}

// hearEarly hears the kept messages. It drops a message that its sender has not repeated for
// several of its pauses: the sender may not want it any more.
func (c *Core) hearEarly() {
	all := c.early.all
	c.early = early{}
	for _, one := range all {
		waited := c.now - one.since
		if waited > 3*c.cfg.Poll {
			continue
		}
		if m, is := one.Message.(Reached); is {
			m.Requests = slices.Clone(m.Requests)
			for i := range m.Requests {
				m.Requests[i].Ago += waited
			}
			one.Message = m
		}
		c.heard(one.From, one.Message)
	}
}
