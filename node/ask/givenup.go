package ask

import (
	"slices"

	"github.com/phalanx-go/phalanx/protocol/directory"
)

// How many requests a node remembers: those of the last seconds, whose copies may still be
// on their way.
const (
	givenUpKept  = 1000
	answeredKept = 8192
)

// givenUp remembers which requests of its node are over without anything that was granted.
// A node cancels a request that it gives up, and the owner, which remembers that, grants
// nothing to a late copy of it. An owner that has taken over since does not remember, nor
// does any that a Locate was answered without a lease: it would ask the receiver about the
// lease only after some seconds, and keep a place in a queue for good.
//
// The zero value is empty. It is not safe for concurrent use.
type givenUp struct{ given, answered recent }

// recent are the last of many numbers.
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

// Answered notes what has ended request num. One that was answered with inline bytes is not
// cancelled: that would take the copy off the list which its node made of them.
func (g *givenUp) Answered(num uint64, b directory.Body, res directory.Result) {
	if _, ok := b.(directory.Locate); ok && res.Lease == 0 && !res.IsInline {
		g.answered.add(num, answeredKept)
	}
}

// Grants reports whether r grants something to a request that is over: then the request has
// to be cancelled once more.
func (g *givenUp) Grants(r directory.Reply) bool {
	res := r.Result
	return res.Kind == 0 && !res.NotOwner && (res.Lease != 0 || res.Waiting) &&
		(slices.Contains(g.given.nums, r.Num) || slices.Contains(g.answered.nums, r.Num))
}
