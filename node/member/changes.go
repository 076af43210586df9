package member

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Change is a change in a view of which the application hears.
type Change interface{ change() }

// The changes.
type (
	// Formed says that the cluster was formed anew, and how many shards lost all state with that.
	Formed struct{ LostShards int }
	// Joined says that Node is a member.
	Joined struct{ Node phalanx.NodeID }
	// Left says that Node was removed after it had handed over.
	Left struct{ Node phalanx.NodeID }
	// Down says that Node was removed without that.
	Down struct{ Node phalanx.NodeID }
	// ShardLost says that the owner and the backup of a shard are gone: Owner begins anew.
	ShardLost struct {
		Shard int
		Epoch uint64
		Owner phalanx.NodeID
	}
	// ShardMoved says that a shard has another owner.
	ShardMoved struct {
		Shard    int
		Epoch    uint64
		From, To phalanx.NodeID
		Cause    string
	}
)

func (Formed) change()     {}
func (Joined) change()     {}
func (Left) change()       {}
func (Down) change()       {}
func (ShardLost) change()  {}
func (ShardMoved) change() {}

// Changes returns the changes from old to v, in the order in which they are told.
func Changes(old, v view.View) (all []Change) {
	if old.Number != 0 && v.Form() != old.Form() {
		formed := Formed{}
		for i, s := range v.Shards {
			if i < len(old.Shards) && s.LostAt != old.Shards[i].LostAt {
				formed.LostShards++
			}
		}
		all = append(all, formed)
	}
	for _, m := range v.Members {
		if !old.Has(m.ID) {
			all = append(all, Joined{m.ID})
		}
	}
	for _, m := range old.Members {
		switch {
		case v.Has(m.ID):
		case m.Leaving:
			all = append(all, Left{m.ID})
		default:
			all = append(all, Down{m.ID})
		}
	}
	for i, s := range v.Shards {
		switch {
		case i >= len(old.Shards) || old.Shards[i].Owner == s.Owner || old.Shards[i].Owner == "":
		case s.LostAt == s.Epoch && s.LostAt != 0:
			all = append(all, ShardLost{i, s.Epoch, s.Owner})
		default:
			all = append(all, ShardMoved{i, s.Epoch, old.Shards[i].Owner, s.Owner, whyMoved(old.Shards[i].Owner, old, v)})
		}
	}
	return all
}

// whyMoved says why the owner of a shard in the view old is another one in v.
func whyMoved(owner phalanx.NodeID, old, v view.View) string {
	was, _ := old.Member(owner)
	is, stays := v.Member(owner)
	switch {
	case !stays && was.Leaving:
		return "its owner has left"
	case !stays:
		return "its owner is down"
	case is.Leaving:
		return "its owner leaves"
	}
	return "the shards are spread over other members"
}
