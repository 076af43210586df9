package view

import (
	"fmt"
	"strings"

	"github.com/phalanx-go/phalanx"
)

// String returns the ids, and the shards grouped by equal states.
func (v View) String() string {
	members := make([]string, 0, len(v.Members))
	for _, m := range v.Members {
		if m.Leaving {
			members = append(members, string(m.ID)+"(leaving)")
		} else {
			members = append(members, string(m.ID))
		}
	}
	shards := make([]string, 0, len(v.Shards))
	for _, s := range v.Shards {
		shards = append(shards, s.String())
	}
	text := fmt.Sprintf("view %s: members %s; voters %s; shards %s", Numbered(v.Number), list(members), list(v.Voters), list(shards))
	if len(v.Missing) > 0 {
		missing := make([]phalanx.NodeID, len(v.Missing))
		for i, m := range v.Missing {
			missing[i] = m.ID
		}
		text += "; missing " + list(missing)
	}
	return text
}

// String returns "epoch:owner/backup+next", and after an "!" the epoch that
// began by loss.
func (s Shard) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:%s", s.Epoch, s.Owner)
	if s.Backup != "" {
		fmt.Fprintf(&b, "/%s", s.Backup)
	}
	if s.Next != "" {
		fmt.Fprintf(&b, "+%s", s.Next)
	}
	if s.LostAt != 0 {
		fmt.Fprintf(&b, "!%d", s.LostAt)
	}
	return b.String()
}

func list[T ~string](items []T) string {
	var b strings.Builder
	for i, s := range items {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(string(s))
	}
	return "[" + b.String() + "]"
}

func (c AddMember) String() string { return fmt.Sprintf("add %s", c.Member.ID) }
func (c RemoveMember) String() string {
	if c.Dead {
		return fmt.Sprintf("remove %s, which is dead", c.Node)
	}
	if c.HandedOver != 0 {
		return fmt.Sprintf("remove %s, which has handed over as of view %d", c.Node, c.HandedOver)
	}
	return fmt.Sprintf("remove %s", c.Node)
}
func (c Leaving) String() string {
	if c.Stays {
		return fmt.Sprintf("%s stays", c.Node)
	}
	return fmt.Sprintf("%s is leaving", c.Node)
}
func (c InSync) String() string {
	parts := make([]string, 0, len(c.Shards))
	for _, s := range c.Shards {
		parts = append(parts, fmt.Sprintf("%d@%d:%s", s.Shard, s.Epoch, s.Node))
	}
	return "in sync " + list(parts)
}
func (c seat) String() string { return "voters " + list(c.Voters) }
func (c Drop) String() string { return fmt.Sprintf("drop %s from %d@%d", c.Node, c.Shard, c.Epoch) }

func (e Send) String() string { return fmt.Sprintf("send %s: %s", e.To, Describe(e.Data)) }
func (e Push) String() string {
	return fmt.Sprintf("push %s: term=%d view=%d", e.To, e.Term, e.View.Number)
}
func (e SendBeat) String() string {
	text := fmt.Sprintf("beat %s: view=%d stamp=%v", e.To, e.Beat.View, e.Beat.Stamp)
	if e.By != "" {
		text += " by " + string(e.By)
	}
	return text
}
func (e Unanswered) String() string { return fmt.Sprintf("%s does not answer", e.Node) }
func (e SendReply) String() string {
	return fmt.Sprintf("reply %s: term=%d view=%d stamp=%v valid=%v", e.To, e.Reply.Term, e.Reply.View, e.Reply.Stamp, e.Reply.Valid)
}
func (e Forward) String() string {
	if e.Relayed {
		return fmt.Sprintf("relay %s: %v", e.To, e.Command)
	}
	return fmt.Sprintf("forward %s: %v", e.To, e.Command)
}
func (e SendHalt) String() string {
	if e.Halt.Release {
		return fmt.Sprintf("release %s: form=%d", e.To, e.Halt.Form)
	}
	return fmt.Sprintf("halt %s: form=%d stamp=%v", e.To, e.Halt.Form, e.Halt.Stamp)
}
func (e SendHalted) String() string {
	h := e.Halted
	return fmt.Sprintf("halted %s: form=%d stamp=%v why=%d promised=%d to=%s term=%d view=%d", e.To, h.Form, h.Stamp, h.Why, h.Promised, name(h.To), h.Term, h.View.Number)
}
func (e Formed) String() string    { return fmt.Sprintf("formed view %s", Numbered(e.View.Number)) }
func (e NotFormed) String() string { return fmt.Sprintf("not formed: %v", e.Err) }
func (e Publish) String() string   { return fmt.Sprintf("publish %v", e.View) }
func (e Lease) String() string     { return fmt.Sprintf("lease until %v", e.Until) }
func (e Lead) String() string      { return fmt.Sprintf("%s leads term %d", name(e.Leader), e.Term) }
func (e Fenced) String() string    { return "fenced" }
func (e Settled) String() string   { return fmt.Sprintf("settled: %v", e.Command) }
func (e GaveUp) String() string    { return fmt.Sprintf("gave up: %v", e.Command) }
func (e Reject) String() string    { return fmt.Sprintf("reject %s: %v", e.From, e.Err) }

func name(id phalanx.NodeID) string {
	if id == "" {
		return "nobody"
	}
	return string(id)
}

// String describes this node's part in the decisions.
func (c *Core) String() string {
	s := fmt.Sprintf("view %s, %s leads term %d", Numbered(c.view.Number), name(c.leader), c.term)
	if c.voter == nil {
		return s
	}
	v := c.voter
	status := v.node.BasicStatus()
	s += fmt.Sprintf("; a %v in term %d, has applied %d of %d entries", status.RaftState, status.GetTerm(), v.applied, v.last())
	if s += ", voters " + list(c.named(v.conf.GetVoters())); v.joint() {
		s += ", before " + list(c.named(v.conf.GetVotersOutgoing()))
	}
	if entries, err := v.log.Entries(v.applied+1, v.last()+1, 1<<16); err == nil {
		for _, e := range entries {
			s += fmt.Sprintf(" [%s]", describeEntry(e))
		}
	}
	return s
}
