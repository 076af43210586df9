package directory

import "slices"

// givenUpKept is how many requests a node remembers that it has given up: those of the
// last seconds, whose copies may still be on their way.
const givenUpKept = 1000

// GivenUp remembers which requests its node has given up. A node cancels a request that it
// gives up, and the owner, which remembers that, grants nothing to a late copy of it. An
// owner that has taken over since does not remember: it would ask the receiver about the
// lease only after some seconds, and keep a place in a queue for good.
//
// The zero value is empty. It is not safe for concurrent use.
type GivenUp struct {
	nums []uint64
	next int // the oldest, once there are givenUpKept
}

// Add notes that the node has given up its request num.
func (g *GivenUp) Add(num uint64) {
	if len(g.nums) < givenUpKept {
		g.nums = append(g.nums, num)
		return
	}
	g.nums[g.next] = num
	g.next = (g.next + 1) % givenUpKept
}

// Grants reports whether r grants something to a request that was given up: then the
// request has to be cancelled once more.
func (g *GivenUp) Grants(r Reply) bool {
	res := r.Result
	return res.Kind == 0 && !res.NotOwner && (res.Lease != 0 || res.Waiting) && slices.Contains(g.nums, r.Num)
}
