package workflows

import (
	"math/rand/v2"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// reduceSome has some tasks of a graph that read several others reduce a number of these: they begin before all of them have ended, and
// their values show which they got.
func reduceSome(r *rand.Rand, g *messages.Graph) {
	calls := g.Calls
	g.Calls = nil
	for v := range g.Tasks {
		t := &g.Tasks[v]
		c := calls[t.Call]
		if n := len(t.Inputs); c.Kind == messages.CallFunction && n > 1 && r.IntN(3) == 0 && !readsActor(g, t) {
			c = messages.GraphCall{Kind: messages.CallReduce, Op: phalanx.Sum, DType: phalanx.Float64, Num: 1 + r.IntN(n-1), Checkpoint: c.Checkpoint, Effect: core.None, Retries: c.Retries}
		}
		t.Call = callIn(g, c)
	}
}

func readsActor(g *messages.Graph, t *messages.GraphTask) bool {
	for _, in := range t.Inputs {
		if in.OfTask() && g.Calls[g.Tasks[in.N].Call].Actors {
			return true
		}
	}
	return false
}

// reduces checks that an attempt of a reduce has as many inputs as it combines.
func (s *service) reduces(o core.Order, job *messages.Job) {
	if job.Call.Kind != messages.CallReduce {
		return
	}
	if o.Kind != core.Do || len(job.Args) < job.Call.Num {
		s.Fail("%+v, of kind %d, combines %d inputs, and has %d", o.ID, o.Kind, job.Call.Num, len(job.Args))
	}
	s.Met("workflow: reduce of some inputs")
}
