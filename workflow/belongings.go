package workflow

import (
	"maps"
	"slices"
	"sync"

	"github.com/phalanx-go/phalanx"
	flow "github.com/phalanx-go/phalanx/node/workflow"
)

// belongings are what the node has of runs. All incarnations of the process share them: when it joins again its store has the
// objects of the one before, of which attempts may still go on.
type belongings struct {
	mu     sync.Mutex
	all    *flow.Belongings
	doomed map[phalanx.ObjectID]bool // are to be deleted, and could not be yet: the node is no member for a while
}

func newBelongings() *belongings {
	return &belongings{all: flow.NewBelongings(), doomed: map[phalanx.ObjectID]bool{}}
}

// doom notes that objects are to be deleted.
func (b *belongings) doom(ids ...phalanx.ObjectID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		b.doomed[id] = true
	}
}

// spare notes that an object is deleted.
func (b *belongings) spare(id phalanx.ObjectID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.doomed, id)
}

// condemned returns what is to be deleted.
func (b *belongings) condemned() []phalanx.ObjectID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.doomed))
}

func (b *belongings) with(f func(*flow.Belongings)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(b.all)
}
