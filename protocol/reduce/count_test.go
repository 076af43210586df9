package reduce

import (
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// crowd is a coordinator of very many large sources, three nodes have one third each.
type crowd struct {
	*Coordinator
	sources []phalanx.ObjectID
	sent    []Stop
}

func newCrowd(n int) *crowd {
	c := &crowd{sources: make([]phalanx.ObjectID, n)}
	for i := range c.sources {
		c.sources[i] = phalanx.ObjectID(fmt.Sprint("source/", i))
	}
	c.Coordinator = New(Config{Target: "sum", Sources: c.sources, Num: n, Op: phalanx.Sum, Node: "a#1", Attempt: 1, Degree: 2})
	c.Step(Start{})
	c.Step(Begun{Gen: phalanx.Generation{Epoch: 1, Seq: 1}})
	return c
}

func (c *crowd) ready(i int) Ready {
	node := phalanx.NodeID(fmt.Sprintf("%c#1", 'a'+i%3))
	return Ready{Source: c.sources[i], Node: node, Gen: phalanx.Generation{Epoch: 1, Seq: 1}, Meta: phalanx.Meta{Size: 8 << 20, DType: phalanx.Int64}, Kind: Complete, Final: true}
}

// step acknowledges the commands that ev leads to.
func (c *crowd) step(ev Event) (events int) {
	for _, e := range c.Step(ev) {
		switch e := e.(type) {
		case Command:
			events += c.step(Acked{Place: e.State.Place, Node: e.Node, Attempt: 1, Version: e.State.Version})
		case Stop:
			c.sent = append(c.sent, e)
		}
	}
	return events + 1
}

// From the first source to the end of the last place, what one event costs does not grow
// with the number of sources, or this test would take minutes.
func TestManyLargeSources(t *testing.T) {
	const n = 50_000
	c := newCrowd(n)
	for i := range n {
		c.step(c.ready(i))
	}
	root := c.Places()[0]
	lost := c.Places()[n-1]
	c.step(PlaceLost{Place: lost.Place, Gen: lost.Gen, Reason: LostPanic})
	c.step(Tick{Now: time.Second})
	if p := c.Places()[0]; p.Gen == root.Gen || p.Source != root.Source {
		t.Errorf("the root was %v, and is %v: it must make again what held the place that was lost", root, p)
	}
	c.step(Tick{Now: 3 * time.Second}) // its node is tried again
	for i, p := range c.Places() {
		if p.State != "live" || !p.Final || !p.Acked {
			t.Fatalf("place %d is %+v", i, p)
		}
	}
	c.step(Restarted{From: c.gen, Gen: phalanx.Generation{Epoch: 1, Seq: 2}})
	c.step(RootDone{Place: 0, Gen: c.Places()[0].Gen, TargetGen: c.gen, Size: 8 << 20})
	c.sent = nil
	c.step(Finalised{Gen: c.gen})
	if len(c.sent) != n {
		t.Fatalf("%d places are stopped at the end", len(c.sent))
	}
	for _, s := range c.sent {
		c.step(Stopped{Place: s.Place, Node: s.Node, Gen: s.Gen})
	}
	if !c.Ended() {
		t.Error("it has not ended")
	}
}

// BenchmarkEvent has ever more sources become ready and take their places: the time is
// that of one event.
func BenchmarkEvent(b *testing.B) {
	for _, n := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			events := 0
			for b.Loop() {
				b.StopTimer()
				c := newCrowd(n)
				b.StartTimer()
				for i := range n {
					events += c.step(c.ready(i))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
		})
	}
}
