package coordinator

import (
	"fmt"

	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// does shows an effect of the core to observers.
func (c *Coordinator) does(e reduce.Effect) {
	target, publish := c.run.req.Target, c.env.Store.Publish
	switch e := e.(type) {
	case reduce.Remember:
		if c.run.tree.planted(e.Degree) {
			publish(actors.ReduceStarted{Target: target, Sources: len(c.run.req.Sources), Num: c.run.req.Num, Degree: e.Degree})
		}
	case reduce.Command:
		c.run.tree.command(e)
	case reduce.Result:
		publish(actors.ReduceCompleted{Target: target, Generation: e.Gen, Num: len(e.In), Replaced: c.run.replaced, Took: c.env.Now() - c.run.memory.Began()})
	case reduce.Notify:
		c.notify(e)
	}
}

// notify publishes a step of recovery.
func (c *Coordinator) notify(n reduce.Notify) {
	target, publish := c.run.req.Target, c.env.Store.Publish
	switch n.What {
	case reduce.NotePlaced, reduce.NoteMoved:
		c.run.tree.place(n)
	case reduce.NoteLost, reduce.NoteEmptied:
		c.run.tree.lost(n, c.env.Now())
		cause := n.Reason.String()
		if n.Text != "" {
			cause += ", " + n.Text
		}
		c.lost = fmt.Sprintf("place %d was lost, %s", n.Place, cause)
		if n.Reason == reduce.LostUnheld { // it was told of when it died
			return
		}
		publish(actors.PlaceLost{Target: target, Place: n.Place, Node: n.Node, Source: n.Source, Cause: cause})
	case reduce.NoteReplaced:
		c.run.replaced++
		publish(actors.PlaceReplaced{Target: target, Place: n.Place, Node: n.Node, Source: n.Source, Took: c.run.tree.since(n.Place, c.env.Now())})
		c.run.tree.place(n)
	case reduce.NoteCleared:
		publish(actors.AncestorsCleared{Target: target, Cleared: n.Places, Cause: c.lost})
	}
}
