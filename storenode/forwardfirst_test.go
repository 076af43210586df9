package storenode

import (
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// A verdict is carried out from its first field to its last: who works on an object has the
// order before the copy goes.
func TestAnOrderIsForwardedBeforeTheCopyGoes(t *testing.T) {
	for order, gen := range map[directory.Order]phalanx.Generation{directory.PushDrop: first, directory.PushReset: second, directory.PushAbort: first} {
		env := alone(t)
		c := small(t, env.Table, "o0", 30, false)
		c.gen = first
		heard, here := 0, false
		put := env.System.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(pushed); ok {
				heard++
				here = env.Table.lookup("o0") != nil
			}
		}, actor.WithDispatcher(actor.NewSynchronizedDispatcher(300))))
		env.active.puts = map[phalanx.ObjectID][]*actor.PID{"o0": {put}}
		s := &Store{env: env}
		s.pushed(nil, Pushed{From: "owner#1", Push: directory.Push{To: env.Self, Object: "o0", Order: order, Gen: gen, Seq: 1<<32 | 5}})
		if heard != 1 || !here || env.Table.lookup("o0") != nil {
			t.Errorf("%v: heard %d times, the copy was here: %v", order, heard, here)
		}
	}
}
