package leave

import (
	"fmt"
	"strings"

	"github.com/phalanx-go/phalanx"
)

// Remains says why a node cannot leave.
type Remains struct {
	Unmarked                               bool // no view says that it leaves
	Puts, Places, Reduces, Making, Objects []phalanx.ObjectID
	Services                               []string // that have something which others do not have yet
	Shards                                 int
	Silent, Waiting                        []phalanx.NodeID // owners that have not answered, and owners that wait until others keep Objects
	Why                                    *Answered        // an owner's last answer about one of Objects; nil: there is none
}

// named is how many objects of a kind are named.
const named = 3

// Error says what remains.
func (r Remains) Error() string {
	var all []string
	if r.Unmarked {
		all = append(all, "no view marks the node as leaving yet")
	}
	add := func(ids []phalanx.ObjectID, one, many string) {
		if len(ids) == 0 {
			return
		}
		var names []string
		for _, id := range ids[:min(named, len(ids))] {
			names = append(names, fmt.Sprintf("%q", string(id)))
		}
		if len(ids) > named {
			names = append(names, "…")
		}
		if len(ids) == 1 {
			many = one
		}
		all = append(all, fmt.Sprintf("%d %s (%s)", len(ids), many, strings.Join(names, ", ")))
	}
	add(r.Puts, "put has not ended", "puts have not ended")
	add(r.Places, "place of a reduce has not ended", "places of reduces have not ended")
	add(r.Reduces, "reduce has not ended", "reduces have not ended")
	add(r.Making, "object is not final", "objects are not final")
	add(r.Objects, "object was not handed over", "objects were not handed over")
	for _, name := range r.Services {
		all = append(all, fmt.Sprintf("the %s were not handed over", name))
	}
	for _, n := range r.Silent {
		all = append(all, fmt.Sprintf("owner %s has not answered", n))
	}
	for _, n := range r.Waiting {
		all = append(all, fmt.Sprintf("owner %s has not found enough members with memory for them", n))
	}
	if r.Why != nil {
		all = append(all, fmt.Sprintf("%s said of %q: %v: %s", r.Why.Node, string(r.Why.Object), r.Why.Kind, r.Why.Text))
	}
	switch {
	case r.Shards == 1:
		all = append(all, "1 shard was not handed over")
	case r.Shards > 1:
		all = append(all, fmt.Sprintf("%d shards were not handed over", r.Shards))
	}
	if len(all) == 0 {
		return "the node had not looked at everything yet"
	}
	return strings.Join(all, "; ")
}
