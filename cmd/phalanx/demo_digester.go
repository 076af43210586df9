package main

import (
	"crypto/sha256"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

const digesterKind = "demo-digester"

// digester is an actor of the application. Asked with the id of an object, it
// answers with the SHA-256 of its node's copy, or with an error.
type digester struct {
	node  *cluster.Node
	asked map[phalanx.ObjectID][]*actor.PID
}

func newDigester(n *cluster.Node) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return &digester{node: n, asked: map[phalanx.ObjectID][]*actor.PID{}} })
}

// Receive gets the object from the store and looks at all of it.
func (d *digester) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *wrapperspb.StringValue:
		id := phalanx.ObjectID(m.GetValue())
		d.asked[id] = append(d.asked[id], c.Sender())
		c.Request(d.node.Store(), &storenode.Get{Object: id, NoWait: true})
	case *storenode.Got:
		var answer any
		if m.Err != nil {
			answer = wrapperspb.String(m.Err.Error())
		} else {
			sum := sha256.Sum256(m.View.Bytes())
			m.View.Release()
			answer = wrapperspb.Bytes(sum[:])
		}
		who := d.asked[m.Object]
		c.Send(who[0], answer)
		if d.asked[m.Object] = who[1:]; len(who) == 1 {
			delete(d.asked, m.Object)
		}
	}
}
