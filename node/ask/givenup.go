package ask

import (
	"slices"

	"github.com/phalanx-go/phalanx/protocol/directory"
)

// How many requests a node remembers: copies of the last seconds' requests may still be on
// their way.
const (
	givenUpKept  = 1000
	answeredKept = 8192
)

// givenUp remembers which requests of its node have ended without a grant. A node cancels a
// request that it gives up, and the owner, which remembers that, grants nothing to a late copy
// of it. But an owner that has taken over since does not remember, and no owner remembers that
// it answered a Locate without a lease. It would ask the receiver about the lease only after
// some seconds, and keep a place in a queue for good.
//
// The zero value is empty. It is not safe for concurrent use.
type givenUp struct{ given, answered recent }

// recent has the last of many numbers.
type recent struct {
	nums []uint64
	next int // the oldest, once there are enough
}

func (r *recent) add(num uint64, kept int) {
	if len(r.nums) < kept {
		r.nums = append(r.nums, num)
		return
	}
	r.nums[r.next] = num
	r.next = (r.next + 1) % kept
}

// Add notes that the node has given up its request num.
func (g *givenUp) Add(num uint64) { g.given.add(num, givenUpKept) }

// Answered notes the answer that has ended request num. A request that was answered with inline
// bytes is not cancelled: the owner would take the copy made of them off its list.
func (g *givenUp) Answered(num uint64, b directory.Body, res directory.Result) {
	if _, ok := b.(directory.Locate); ok && res.Lease == 0 && !res.IsInline {
		g.answered.add(num, answeredKept)
	}
}

// Grants reports whether r grants something to a request that is over: then the node has to
// cancel the request once more.
func (g *givenUp) Grants(r directory.Reply) bool {
	res := r.Result
	return res.Kind == 0 && !res.NotOwner && (res.Lease != 0 || res.Waiting) &&
		(slices.Contains(g.given.nums, r.Num) || slices.Contains(g.answered.nums, r.Num))
}
