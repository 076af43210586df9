package ask

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Owing lists this node's copies to new owners (specification 2.6), until they
// acknowledge the list.
type Owing struct {
	self  phalanx.NodeID
	view  uint64 // the number of the last one learned
	owed  []owed // to the owner of each shard
	round uint64 // of the last list
}

// NewOwing returns an Owing without a view: the node owes nothing yet.
func NewOwing(self phalanx.NodeID) *Owing { return &Owing{self: self} }

// OwingEvent is an input of Owing.
type OwingEvent interface{ owingEvent() }

// The events of Owing, besides Learn.
type (
	// Taken says that a node has taken the holdings of a shard.
	Taken struct {
		From  phalanx.NodeID
		Shard int
		Epoch uint64
	}
	// Tell is due when Due says so. Next is the next number of a request: the holdings
	// that the host lists after this contain the reports of all smaller numbers.
	Tell struct{ Next uint64 }
)

func (Learn) owingEvent() {}
func (Taken) owingEvent() {}
func (Tell) owingEvent()  {}

// List has the host list all copies of this node to the owner of their shard: Head, with the
// holdings in parts.
type List struct {
	To    phalanx.NodeID
	Shard int
	Head  directory.Holdings
}

// Step takes an event and returns the lists to send.
func (o *Owing) Step(now time.Duration, ev OwingEvent) []List {
	switch ev := ev.(type) {
	case Learn:
		o.learn(ev.View)
	case Taken:
		if ev.Shard < len(o.owed) {
			o.owed[ev.Shard].Take(ev.From, ev.Epoch)
		}
	case Tell:
		return o.tell(now, ev.Next)
	}
	return nil
}

func (o *Owing) learn(v view.View) {
	if len(o.owed) != len(v.Shards) {
		o.owed = make([]owed, len(v.Shards))
	}
	for i, s := range v.Shards {
		o.owed[i].Learn(s.Owner, s.Epoch, s.LostAt, v.Number == o.view+1)
	}
	o.view = v.Number
}

func (o *Owing) tell(now time.Duration, next uint64) (out []List) {
	for i := range o.owed {
		to := &o.owed[i]
		if !to.Tell(now) {
			continue
		}
		o.round++
		out = append(out, List{To: to.Owner, Shard: i, Head: directory.Holdings{From: o.self, Epoch: to.Epoch, Round: o.round, Before: next}})
	}
	return out
}

// Due returns when Tell has something to do; now or earlier: at once.
func (o *Owing) Due() (at time.Duration, ok bool) {
	for i := range o.owed {
		if to := &o.owed[i]; to.Open() && (!ok || to.at() < at) {
			at, ok = to.at(), true
		}
	}
	return at, ok
}
