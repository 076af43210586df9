package bench

import (
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/phalanx-go/phalanx"
)

// The operations that can be measured.
const (
	Broadcast = "broadcast" // the first node has an object, all others get it
	Gather    = "gather"    // each has one, the first gets all
	Reduce    = "reduce"    // each has an array, the first gets their sum
	AllReduce = "allreduce" // each has an array, all get their sum
	RoundTrip = "roundtrip" // the first puts one that the second gets, and the other way around
)

// Ops are all of them.
var Ops = []string{Broadcast, Gather, Reduce, AllReduce, RoundTrip}

// order is what an agent is to do, as JSON in a message that every member knows.
type order struct {
	Do   string // prepare, run, check
	Op   string
	Name string // what the ids begin with
	Rank int
	Of   int
	Size int64 // of an object in bytes
}

// answer is what became of an order.
type answer struct {
	Err  string       `json:",omitempty"`
	Kind phalanx.Kind `json:",omitempty"`
}

func encode(v any) *wrapperspb.StringValue {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("bench: %v", err)) // these always can be
	}
	return wrapperspb.String(string(b))
}

func decode(m *wrapperspb.StringValue, into any) error {
	return json.Unmarshal([]byte(m.GetValue()), into)
}

func answerOf(err error) answer {
	if err == nil {
		return answer{}
	}
	a := answer{Err: err.Error(), Kind: phalanx.ErrInternal}
	var e *phalanx.Error
	if errors.As(err, &e) {
		a.Kind = e.Kind
	}
	return a
}

// id is the object of a rank.
func (o order) id(rank int) phalanx.ObjectID {
	return phalanx.ObjectID(fmt.Sprintf("%s/%d", o.Name, rank))
}

func (o order) target() phalanx.ObjectID { return phalanx.ObjectID(o.Name + "/sum") }

// made are the objects that a run leaves.
func (o order) made() []phalanx.ObjectID {
	switch o.Op {
	case Broadcast:
		return []phalanx.ObjectID{o.id(0)}
	case Reduce, AllReduce:
		return append(o.all(), o.target())
	}
	return o.all()
}

func (o order) all() []phalanx.ObjectID {
	var ids []phalanx.ObjectID
	for i := range o.Of {
		ids = append(ids, o.id(i))
	}
	return ids
}
