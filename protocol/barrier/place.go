package barrier

import (
	"cmp"
	"slices"

	"github.com/phalanx-go/phalanx"
)

// managersOf returns the k members that manage the barriers called name, the
// primary first. Each name has an order of its own, in which a member that comes or
// goes moves no other (rendezvous hashing).
func managersOf(name string, members []phalanx.NodeID, k int) []phalanx.NodeID {
	type ranked struct {
		id   phalanx.NodeID
		rank uint64
	}
	all := make([]ranked, len(members))
	for i, id := range members {
		all[i] = ranked{id, rank(name, id)}
	}
	slices.SortFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.id, b.id))
	})
	list := make([]phalanx.NodeID, 0, k)
	for _, r := range all[:min(k, len(all))] {
		list = append(list, r.id)
	}
	return list
}

// rank is FNV-1a of both, with its bits mixed, as those of similar names are alike.
func rank(name string, id phalanx.NodeID) uint64 {
	h := uint64(14695981039346656037)
	for _, s := range []string{name, "\x00", string(id)} {
		for i := range len(s) {
			h = (h ^ uint64(s[i])) * 1099511628211
		}
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
