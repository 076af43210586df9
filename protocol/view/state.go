package view

import (
	"encoding/json"
	"slices"

	"github.com/phalanx-go/phalanx"
)

// maxGone bounds how many removed nodes are remembered. A command would have to
// be delayed for as long as it takes to remove that many to have an effect.
const maxGone = 4096

// state is the state that the voters replicate. It is a value: apply returns another
// one and leaves published ones alone.
type state struct {
	View View
	Gone []phalanx.NodeID // removed, oldest first: they never come back
}

// apply returns the state after cmd, and whether that made a difference.
func (s state) apply(cmd Command) (state, bool) {
	if s.void(cmd) {
		return s, false
	}
	old, deserted := s.View.Shards, s.View.deserted()
	s.View, s.Gone = s.View.clone(), slices.Clone(s.Gone)
	v := &s.View
	switch cmd := cmd.(type) {
	case AddMember:
		if old, ok := v.Namesake(cmd.Member.ID); ok {
			s.remove(old.ID)
			v.Left = v.Number + 1
		}
		if deserted { // its members had no node to hand over to, and now have one
			v.Left = v.Number + 1
		}
		cmd.Member.Leaving = false
		v.found(cmd.Member.ID)
		v.Members = append(v.Members, cmd.Member)
		v.noteFirsts(cmd.Member)
	case RemoveMember:
		s.remove(cmd.Node)
		if cmd.HandedOver == 0 {
			v.Left = v.Number + 1
		}
	case Leaving:
		v.Members[v.index(cmd.Node)].Leaving = !cmd.Stays
		if cmd.Stays { // handing over its copies counts no more, and others could hand over to it
			v.Left = v.Number + 1
		}
	case InSync:
		for _, sync := range cmd.Shards {
			if sync.counts(*v) {
				v.Shards[sync.Shard] = v.Shards[sync.Shard].synced(wanted(v.Members, sync.Shard))
			}
		}
	case Drop:
		v.Shards[cmd.Shard] = v.Shards[cmd.Shard].without(cmd.Node)
	case seat:
		v.Voters = v.living(cmd.Voters)
	}
	v.plan(old)
	if drop, ok := cmd.(Drop); ok { // also where the same node begins to copy again
		v.Shards[drop.Shard].Epoch = old[drop.Shard].Epoch + 1
	}
	if lost(old, v.Shards) { // with the copies that it kept for leaving members
		v.Left = v.Number + 1
	}
	v.Number++
	return s, true
}

// lost reports whether a shard has been lost since old.
func lost(old, now []Shard) bool {
	for i := range now {
		if now[i].LostAt != old[i].LostAt {
			return true
		}
	}
	return false
}

// void reports whether cmd would change nothing.
func (s state) void(cmd Command) bool {
	switch cmd := cmd.(type) {
	case AddMember:
		old, taken := s.View.Namesake(cmd.Member.ID)
		if slices.Contains(s.Gone, cmd.Member.ID) || s.View.Common.Admit(cmd.Common) != nil || taken && old.ID != cmd.Replaces {
			return true
		}
	case RemoveMember:
		if len(s.View.Members) == 1 { // no member would be left to know
			return true
		}
	}
	return cmd.settled(s.View)
}

// removes returns the member that would be one no more after cmd, or "".
func (s state) removes(cmd Command) phalanx.NodeID {
	if s.void(cmd) {
		return ""
	}
	switch cmd := cmd.(type) {
	case RemoveMember:
		return cmd.Node
	case AddMember:
		old, _ := s.View.Namesake(cmd.Member.ID)
		return old.ID
	}
	return ""
}

func (s *state) remove(id phalanx.NodeID) {
	v := &s.View
	v.Members = slices.DeleteFunc(v.Members, func(m Member) bool { return m.ID == id })
	v.Voters = v.living(v.Voters)
	for i := range v.Shards {
		v.Shards[i] = v.Shards[i].without(id)
	}
	s.Gone = append(s.Gone, id)
	if len(s.Gone) > maxGone {
		s.Gone = slices.Clone(s.Gone[len(s.Gone)-maxGone:])
	}
}

func decodeState(data []byte) (state, error) {
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return state{}, err
	}
	return s, s.View.valid()
}
