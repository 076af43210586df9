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
	calls := make([]messages.GraphCall, len(g.Tasks))
	for v := range g.Tasks {
		t := &g.Tasks[v]
		c := g.Calls[t.Call]
		if n := len(t.Inputs); c.Kind == messages.CallFunction && n > 1 && r.IntN(3) == 0 && !readsActor(calls, t) {
			c = messages.GraphCall{Kind: messages.CallReduce, Op: phalanx.Sum, DType: phalanx.Float64, Num: 1 + r.IntN(n-1), Checkpoint: c.Checkpoint, Effect: core.None, Retries: c.Retries}
		}
		calls[v] = c
	}
	known := map[messages.GraphCall]int32{}
	g.Calls = nil
	for v, c := range calls {
		at, is := known[c]
		if !is {
			at = int32(len(g.Calls))
			known[c] = at
			g.Calls = append(g.Calls, c)
		}
		g.Tasks[v].Call = at
	}
}

func readsActor(calls []messages.GraphCall, t *messages.GraphTask) bool {
	for _, in := range t.Inputs {
		if in.OfTask() && calls[in.N].Actors {
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
