package workflow

import (
	"sync"

	flow "github.com/phalanx-go/phalanx/node/workflow"
)

// belongings are what the node has of runs. All incarnations of the process share them: when it joins again its store has the
// objects of the one before, of which attempts may still go on.
type belongings struct {
	mu  sync.Mutex
	all *flow.Belongings
}

func newBelongings() *belongings { return &belongings{all: flow.NewBelongings()} }

func (b *belongings) with(f func(*flow.Belongings)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(b.all)
}
