package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/internal/durable/memory"
	node "github.com/phalanx-go/phalanx/node/ledger"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// leading returns the Core of a node that leads a ledger of one disk, and knows so many others, whose nodes are members.
func leading(tb testing.TB, others int) (*node.Core, time.Duration) {
	tb.Helper()
	c, now, step := resumed(tb, func(node.Effect) {})
	v := node.Viewed{Self: "n#1", Number: 1, Members: []node.Member{{Node: "n#1", Address: "n:1", Keeps: true}}}
	for i := range others {
		v.Members = append(v.Members, node.Member{Node: phalanx.NodeID(fmt.Sprintf("o%d#1", i)), Address: fmt.Sprint("o:", i), Keeps: true})
	}
	step(v)
	for i := range others {
		step(node.Heard{Hello: disk(i)})
	}
	for range 20 {
		*now += 100 * time.Millisecond
		step(node.Tick{})
	}
	if len(c.Voters()) == 0 {
		tb.Fatalf("it does not lead: %s", c)
	}
	return c, *now
}

// resumed returns the core of a node with the folder of a ledger of its own, and what gives it events. It is in no view.
func resumed(tb testing.TB, does func(node.Effect)) (c *node.Core, at *time.Duration, step func(node.Event)) {
	tb.Helper()
	d, err := memory.NewFolder(1, durable.Space{Free: 9e9, Total: 9e9}).Open(memory.Config{Later: func(f func()) { f() }})
	if err != nil {
		tb.Fatal(err)
	}
	replica, err := d.Begin()
	if err != nil {
		tb.Fatal(err)
	}
	d.Apply(ledger.Create(replica), func(error) {})
	state, err := d.State()
	if err != nil {
		tb.Fatal(err)
	}
	c, err = node.New(node.Config{Name: "n", Address: "n:1", Host: "h", Disk: replica >> 16, Ledger: 7, Opened: 1, Run: 1})
	if err != nil {
		tb.Fatal(err)
	}
	now := time.Duration(0)
	step = func(ev node.Event) {
		for _, e := range c.Step(now, ev) {
			does(e)
			switch e := e.(type) {
			case node.ReadRecord:
				step(node.Recorded{Epoch: e.Epoch})
			case node.FromReplica:
				if p, ok := e.Effect.(ledger.Persist); ok {
					d.Apply(p.Write, func(error) {})
					step(node.ForReplica{Event: ledger.Written{Number: p.Write.Number}})
				}
			}
		}
	}
	step(node.Opened{Ledger: 7, State: state})
	return c, &now, step
}

// disk is what the node of the ith other disk says.
func disk(i int) node.Hello {
	id := uint64(1000 + i)
	return node.Hello{Address: fmt.Sprint("o:", i), Node: phalanx.NodeID(fmt.Sprintf("o%d#1", i)), Host: fmt.Sprint("h", i), View: 1, Ledger: 7, Disk: id, Replica: id<<16 | 1, Opened: 1, Run: uint64(i + 1)}
}

// A step of the leader's node takes as long with many disks as with a few.
func BenchmarkStepOfTheLeader(b *testing.B) {
	for _, disks := range []int{2, 64, 256} {
		b.Run(fmt.Sprint(disks), func(b *testing.B) {
			c, now := leading(b, disks)
			for b.Loop() {
				now += 50 * time.Microsecond
				c.Step(now, node.Tick{})
			}
		})
	}
}
