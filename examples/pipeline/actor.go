package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/digits"
	"github.com/phalanx-go/phalanx/storenode"
)

// kind is the kind of the actors that train.
const kind = "pipeline-trainer"

func kinds() map[string]func(*cluster.Node) *actor.Props {
	return map[string]func(*cluster.Node) *actor.Props{kind: func(n *cluster.Node) *actor.Props {
		return actor.PropsFromProducer(func() actor.Actor { return &trainer{node: n} })
	}}
}

// epoch names the objects and actors of one attempt to train an epoch.
type epoch string

func (e epoch) plan() phalanx.ObjectID { return phalanx.ObjectID(e + "/plan") }
func (e epoch) data() phalanx.ObjectID { return phalanx.ObjectID(e + "/data") }
func (e epoch) weights(round int) phalanx.ObjectID {
	return phalanx.ObjectID(fmt.Sprintf("%s/weights/%d", e, round))
}
func (e epoch) gradient(round, part int) phalanx.ObjectID {
	return phalanx.ObjectID(fmt.Sprintf("%s/gradient/%d/%d", e, round, part))
}
func (e epoch) sum(round, try int) phalanx.ObjectID {
	return phalanx.ObjectID(fmt.Sprintf("%s/sum/%d/%d", e, round, try))
}
func (e epoch) trainer(part int) string { return fmt.Sprintf("%s/trainer/%d", e, part) }

// plan is what the actors of an epoch need to know.
type plan struct{ Parts, Hidden int }

// patience is how long an actor waits for the weights of the next round: if they do not come the task has been lost.
const patience = 10 * time.Second

// trainer is an actor that computes gradients on its part of the samples. Its name and the store give it all it needs;
// it ends when something does not come.
type trainer struct {
	node    *cluster.Node
	epoch   epoch
	part    int
	plan    plan
	own     []digits.Sample
	round   int
	started bool
}

// Receive takes one step: plan, samples, then weights of each round.
func (t *trainer) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		name, part, ok := strings.Cut(c.Self().GetId(), "/trainer/")
		n, err := strconv.Atoi(part)
		if !ok || err != nil || t.started {
			c.Stop(c.Self())
			return
		}
		t.epoch, t.part, t.started = epoch(name), n, true
		t.get(c, t.epoch.plan())
	case *storenode.Got:
		err := m.Err
		if err == nil {
			err = t.got(c, m.View)
			m.View.Release()
		}
		if err != nil {
			c.Stop(c.Self())
		}
	case *storenode.PutDone:
		if m.Err != nil {
			c.Stop(c.Self())
		}
	}
}

func (t *trainer) get(c actor.Context, id phalanx.ObjectID) {
	c.Request(t.node.Store(), &storenode.Get{Object: id, Deadline: patience})
}

func (t *trainer) got(c actor.Context, v *storenode.View) error {
	switch id := v.Info().Object; id {
	case t.epoch.plan():
		t.get(c, t.epoch.data())
		return json.Unmarshal(v.Bytes(), &t.plan)
	case t.epoch.data():
		a, err := cluster.ArrayOf[float32](v)
		if err != nil {
			return err
		}
		samples, err := parseSamples(a.Values())
		if err != nil || t.part >= t.plan.Parts {
			return fmt.Errorf("part %d of %d: %w", t.part, t.plan.Parts, err)
		}
		t.own = digits.Split(samples, t.plan.Parts)[t.part]
	default:
		weights, err := cluster.ArrayOf[float32](v)
		if err != nil {
			return err
		}
		gradient := make([]float32, len(weights.Values()))
		digits.Model{Hidden: t.plan.Hidden}.Gradient(weights.Values(), t.own, gradient)
		c.Request(t.node.Store(), &storenode.Put{Object: t.epoch.gradient(t.round, t.part), Bytes: cluster.BytesOf(gradient), Deadline: patience,
			Meta: phalanx.Meta{DType: phalanx.Float32, Shape: []int64{int64(len(gradient))}}})
		t.round++
	}
	t.get(c, t.epoch.weights(t.round))
	return nil
}
