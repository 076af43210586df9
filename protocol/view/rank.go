package view

import (
	"cmp"
	"strings"

	"github.com/phalanx-go/phalanx"
)

// fnv is FNV-1a.
func fnv[T ~string | ~[]byte](s T) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// mix spreads every bit of x over all others (the end of splitmix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// raftID derives raft's name for a node. It is never 0 and never one of the two
// that raft reserves for its local threads.
func raftID(id phalanx.NodeID) uint64 {
	h := mix(fnv(id)) >> 1
	return max(h, 1)
}

// weight is how well node suits shard: rendezvous hashing.
func weight(node phalanx.NodeID, shard int) uint64 {
	return mix(fnv(node) ^ mix(uint64(shard)+0x9e3779b97f4a7c15))
}

// wanted returns the two members that should own and back up shard, the owner
// first; the second is empty in a view of one member. Members that are leaving
// come after all others, so that their shards move away, but only to someone.
func wanted(members []Member, shard int) (first, second phalanx.NodeID) {
	var a, b Member
	for _, m := range members {
		switch {
		case a.ID == "" || better(m, a, shard):
			a, b = m, a
		case b.ID == "" || better(m, b, shard):
			b = m
		}
	}
	return a.ID, b.ID
}

func better(m, n Member, shard int) bool {
	if m.Leaving != n.Leaving {
		return n.Leaving
	}
	return cmp.Or(cmp.Compare(weight(m.ID, shard), weight(n.ID, shard)), cmp.Compare(m.ID, n.ID)) > 0
}

// younger reports whether id is a later incarnation than than, of one name.
func younger(id, than phalanx.NodeID) bool {
	_, a, _ := strings.Cut(string(id), "#")
	_, b, _ := strings.Cut(string(than), "#")
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) > 0 // both are hexadecimal
}
