package reduce

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// Part is the role of a node in an AllReduce.
type Part uint8

const (
	Either  Part = iota // makes the target, or follows the node that has begun it first
	Leads               // makes it: no other node is expected to
	Follows             // waits for it, FollowFor at most, before it does as Either
)

// FollowFor is how long a small target is waited for, in which time it would come:
// the node that leads may not take part.
const FollowFor = 50 * time.Millisecond

// PartOf returns the part of a node that has source has, of size bytes, in an
// AllReduce of num of sources. Of small arrays (4.5) the node with the first source
// makes the target, so that not all ask its owner for the maker, and then for the target.
func PartOf(sources []phalanx.ObjectID, num, degree int, has phalanx.ObjectID, size, inlineLimit int64) Part {
	switch {
	case size >= inlineLimit || degree != 0 || num != len(sources):
		return Either
	case has == sources[0]:
		return Leads
	}
	return Follows
}
