package reduce

import (
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

// slowOp is how long an op may take for one block before the coordinator hears of it: it may never
// return, and the node cannot end it.
const slowOp = time.Second

// Call is a call of an op that has not returned.
type Call struct {
	Since  time.Duration
	Source phalanx.ObjectID // the source whose bytes the op combines
}

// OpRuns tells the core which of the calls for an output takes too long: the first one. Without one the
// core hears that all return.
func OpRuns(now time.Duration, gen core.PlaceGen, op phalanx.Op, calls []Call) core.OpRuns {
	for _, c := range calls {
		if now-c.Since >= slowOp {
			return core.OpRuns{Gen: gen, Text: fmt.Sprintf("the op %q does not return; it was called for %q", string(op), string(c.Source))}
		}
	}
	return core.OpRuns{Gen: gen}
}
