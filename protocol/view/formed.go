package view

import (
	"slices"

	"github.com/phalanx-go/phalanx"
)

// formed returns the state with which by begins a later form of the cluster. Only living
// stay members. Where the owner of a shard is gone its backup takes over, as when it is
// removed; where both are gone it is lost, and rebuilt. All shards begin a new epoch, far
// above all epochs that the earlier form may still reach: nothing that it does is as new.
func (s state) formed(by phalanx.NodeID, form Form, living []phalanx.NodeID) state {
	old := s.View
	s.View, s.Gone = s.View.clone(), slices.Clone(s.Gone)
	v := &s.View
	for _, m := range old.Members {
		if !slices.Contains(living, m.ID) {
			s.remove(m.ID)
			v.miss(m)
		}
	}
	v.Voters = []phalanx.NodeID{by}
	v.plan(old.Shards)
	for i := range v.Shards {
		is := &v.Shards[i]
		lost := is.LostAt != old.Shards[i].LostAt
		is.Epoch = old.Shards[i].Epoch + formEpochs
		if lost {
			is.LostAt = is.Epoch
		}
	}
	v.Number, v.Former = form.first(old.Number), by
	v.Left = v.Number
	return s
}

// miss notes that m was missing when the cluster was formed anew.
func (v *View) miss(m Member) {
	v.found(m.ID)
	v.Missing = append(v.Missing, m)
	if len(v.Missing) > maxMissing {
		v.Missing = v.Missing[len(v.Missing)-maxMissing:]
	}
}

// found takes the nodes with the name of id off the missing ones.
func (v *View) found(id phalanx.NodeID) {
	v.Missing = slices.DeleteFunc(v.Missing, func(m Member) bool { return m.ID.Name() == id.Name() })
}

// maxMissing bounds how many missing members a view names. The others learn that they were
// removed when they first ask a member for anything.
const maxMissing = 256

// Lost returns how many shards were lost as v began.
func (v View) Lost() (lost int) {
	for _, s := range v.Shards {
		if s.LostAt != 0 && s.LostAt == s.Epoch {
			lost++
		}
	}
	return lost
}
