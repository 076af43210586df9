package bench

import (
	"fmt"

	"github.com/phalanx-go/phalanx"
)

// The operations that can be measured.
const (
	Broadcast = "broadcast" // the first node has an object, all others get it
	Gather    = "gather"    // each has an object, the first gets all
	Reduce    = "reduce"    // each has an array, the first gets their sum
	AllReduce = "allreduce" // each has an array, all get their sum
	RoundTrip = "roundtrip" // the first puts an object that the second gets, and the other way around
)

// Ops are all operations.
var Ops = []string{Broadcast, Gather, Reduce, AllReduce, RoundTrip}

// Task is one node's part of a run.
type Task struct {
	Op   string
	Name string // begins the run's ids
	Rank int
	Of   int
	Size int64 // of an object in bytes
}

// ID is the object of a rank.
func (t Task) ID(rank int) phalanx.ObjectID {
	return phalanx.ObjectID(fmt.Sprintf("%s/%d", t.Name, rank))
}

func (t Task) target() phalanx.ObjectID { return phalanx.ObjectID(t.Name + "/sum") }

// puts reports whether this node puts its object before the run.
func (t Task) puts() bool { return t.Op != RoundTrip && (t.Op != Broadcast || t.Rank == 0) }

// sum is the right value of every element of the target.
func (t Task) sum() float32 { return float32(t.Of*(t.Of+1)) / 2 }

// Made are the objects that a run leaves.
func (t Task) Made() []phalanx.ObjectID {
	switch t.Op {
	case Broadcast:
		return []phalanx.ObjectID{t.ID(0)}
	case Reduce, AllReduce:
		return append(t.all(), t.target())
	}
	return t.all()
}

func (t Task) all() []phalanx.ObjectID {
	var ids []phalanx.ObjectID
	for i := range t.Of {
		ids = append(ids, t.ID(i))
	}
	return ids
}
