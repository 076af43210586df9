package group

import (
	"math/bits"
	"slices"
)

// Neighbours returns the neighbours of a rank in the binomial graph of n ranks: the ranks
// 2^k above and below it, modulo n, for every 2^k < n. They are in order, without
// itself.
func Neighbours(rank, n int) []int {
	var all []int
	for d := 1; d < n; d *= 2 {
		all = append(all, (rank+d)%n, (rank-d+n)%n)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Degree returns how many neighbours each of n ranks has. So many members less one
// can fail, and the others still reach each other.
func Degree(n int) int {
	if n < 2 {
		return 0
	}
	d := 2 * bits.Len(uint(n-1))
	switch bits.OnesCount(uint(n)) {
	case 1:
		return d - 1
	case 2:
		return d - 2
	}
	return d
}

// WaveMessages returns how many messages a revoke takes among n live members: each
// tells its neighbours, except the one that told it.
func WaveMessages(n int) int { return n*Degree(n) - (n - 1) }
