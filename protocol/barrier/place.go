package barrier

import (
	"cmp"
	"slices"

	"github.com/phalanx-go/phalanx"
)

// ring is members that can manage, each with the hash of its id.
type ring struct {
	members []phalanx.NodeID
	hashes  []uint64
}

func newRing(members []phalanx.NodeID) ring {
	r := ring{members: members, hashes: make([]uint64, len(members))}
	for i, id := range members {
		r.hashes[i] = hash(string(id))
	}
	return r
}

// managers returns the k members that manage the barriers of a place, the primary first. Each
// place has an order of its own, in which a member that comes or goes moves no other
// (rendezvous hashing).
func (r ring) managers(place uint32, k int) []phalanx.NodeID {
	type ranked struct {
		id   phalanx.NodeID
		rank uint64
	}
	first := make([]ranked, 0, k+1)
	for i, id := range r.members {
		x := ranked{id, mix(r.hashes[i] ^ mix(uint64(place)+1))}
		at, _ := slices.BinarySearchFunc(first, x, func(a, b ranked) int { return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.id, b.id)) })
		if first = slices.Insert(first, at, x); len(first) > k {
			first = first[:k]
		}
	}
	list := make([]phalanx.NodeID, len(first))
	for i, x := range first {
		list[i] = x.id
	}
	return list
}

// place is where the barriers of a name are managed. Some names share one.
func place(name string) uint32 { return uint32(mix(hash(name))) }

// hash is FNV-1a.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// mix makes numbers that are alike unlike.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
