package view

import (
	"github.com/phalanx-go/phalanx"
)

// plan moves every shard as far towards its wanted pair as it can go without
// copying, names the Next whose copying leads on, and starts
// new epochs. Old holds the shards as they were before the command.
func (v *View) plan(old []Shard) {
	if len(v.Members) == 0 {
		return
	}
	for i := range v.Shards {
		first, second := wanted(v.Members, i)
		v.Shards[i] = v.Shards[i].plan(first, second).since(old[i])
	}
}

func (s Shard) plan(first, second phalanx.NodeID) Shard {
	if s.Owner == "" { // new, or lost
		s.Owner = first
		if s.Epoch > 0 {
			s.LostAt = s.Epoch + 1
		}
	}
	switch {
	case second == "":
		s.Next = ""
	case s.Backup == "":
		// Any backup soon is worth more than the right one later: nothing is
		// acknowledged without one. So a node that is copying goes on.
		if s.Next == "" || s.Next == s.Owner {
			s.Next = first
			if s.Owner == first {
				s.Next = second
			}
		}
	case s.Owner == first && s.Backup == second:
		s.Next = ""
	case s.Owner == second && s.Backup == first:
		s.Owner, s.Backup, s.Next = first, second, ""
	case s.Next != first && s.Next != second || s.has(s.Next):
		s.Next = first
		if s.has(first) {
			s.Next = second
		}
	}
	return s
}

// synced returns s after Next caught up.
func (s Shard) synced(first, second phalanx.NodeID) Shard {
	if s.Backup != "" && (s.Backup == first || s.Backup == second) {
		s.Owner = s.Backup // Next was not to replace the backup, so it is the owner that is not wanted
	}
	s.Backup, s.Next = s.Next, ""
	return s
}

// without returns s after id was removed or dropped. Its Owner is empty if it
// was lost.
func (s Shard) without(id phalanx.NodeID) Shard {
	switch id {
	case s.Owner:
		s.Owner, s.Backup = s.Backup, ""
	case s.Backup:
		s.Backup = ""
	case s.Next:
		s.Next = ""
	}
	return s
}

// since returns s in the epoch that follows old's, if some node must stop relying
// on old. A Next that is called off and asked again later has missed changes in
// between, so its messages of the first time must be told apart.
func (s Shard) since(old Shard) Shard {
	if s.Owner == old.Owner && s.Backup == old.Backup && s.LostAt == old.LostAt && (old.Next == "" || s.Next == old.Next) {
		return s
	}
	s.Epoch = old.Epoch + 1
	return s
}

func (s Shard) has(id phalanx.NodeID) bool { return id != "" && (id == s.Owner || id == s.Backup) }
