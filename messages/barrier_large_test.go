package messages

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/phalanx-go/phalanx"
	limits "github.com/phalanx-go/phalanx/internal/wire"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// crossing is some cores whose messages cross as bytes. Time passes when nothing is on its way.
type crossing struct {
	t       *testing.T
	now     time.Duration
	cores   map[phalanx.NodeID]*barrier.Core
	view    barrier.Viewed
	queue   []*BarrierLetter
	longest int
	parts   map[string]int // messages of a kind
	lose    func(*BarrierLetter) bool
	done    map[uint64]barrier.Done
	ids     uint64
}

func newCrossing(t *testing.T, n int) *crossing {
	c := &crossing{t: t, cores: map[phalanx.NodeID]*barrier.Core{}, parts: map[string]int{}, done: map[uint64]barrier.Done{}}
	for range n {
		c.view.Members = append(c.view.Members, c.start())
	}
	c.learn()
	return c
}

func (c *crossing) start() phalanx.NodeID {
	id := phalanx.MakeNodeID(fmt.Sprint("n", len(c.cores)), uint64(len(c.cores)+1))
	c.cores[id] = barrier.NewCore(barrier.CoreConfig{Attempts: uint64(len(c.cores)) << 20})
	return id
}

// learn gives all members the next view.
func (c *crossing) learn() {
	c.view.Number++
	for _, id := range c.view.Members {
		v := c.view
		v.Self = id
		c.step(id, v)
		c.step(id, barrier.Leased{Until: time.Hour})
	}
}

func (c *crossing) step(id phalanx.NodeID, e barrier.Event) {
	core := c.cores[id]
	if core == nil {
		return
	}
	for _, o := range core.Step(c.now, e) {
		switch o := o.(type) {
		case barrier.Send:
			l := BarrierToProto(id, o.To, o.Message)
			c.longest = max(c.longest, proto.Size(l))
			c.parts[fmt.Sprintf("%T", o.Message)]++
			if c.lose == nil || !c.lose(l) {
				c.queue = append(c.queue, l)
			}
		case barrier.Done:
			c.done[o.ID] = o
		}
	}
}

// settle delivers what is on its way, and lets time pass for so long.
func (c *crossing) settle(d time.Duration) {
	for end := c.now + d; ; {
		for len(c.queue) > 0 {
			l := c.queue[0]
			c.queue = c.queue[1:]
			from, to, m, err := BarrierFromProto(wire(c.t, l))
			if err != nil {
				c.t.Fatal(err)
			}
			c.step(to, barrier.Heard{From: from, Message: m})
		}
		if c.now >= end {
			return
		}
		c.now += 10 * time.Millisecond
		for _, id := range slices.Sorted(maps.Keys(c.cores)) {
			if at, ok := c.cores[id].Due(); ok && at <= c.now {
				c.step(id, barrier.Tick{})
			}
		}
	}
}

func (c *crossing) call(on phalanx.NodeID, call barrier.Call) uint64 {
	c.ids++
	call.ID = c.ids
	c.step(on, call)
	return call.ID
}

// A barrier with many long labels goes in parts, each short enough, to its primary, its
// backups, one that joins, a primary after it, and those who ask for its hosts. The other
// barriers of its primary go on.
func TestLargeBarriersCrossInParts(t *testing.T) {
	const most = 2*(256<<10) + 4096 // a piece of the state, the changes after it, and what goes with them
	sizes := []int{45_000}
	if testing.Short() {
		sizes = []int{5000}
	}
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			c := newCrossing(t, 4)
			key := barrier.Key{Name: "large"}
			cfg := barrier.Config{Max: n}
			managers := barrier.ManagersOf(c.view, key.Name)
			on := slices.DeleteFunc(slices.Clone(c.view.Members), func(id phalanx.NodeID) bool { return slices.Contains(managers, id) })[0]
			lost := 0
			c.lose = func(l *BarrierLetter) bool {
				lost++
				return lost%17 == 0
			}
			ids := map[uint64]bool{}
			enter := func(i int) {
				ids[c.call(on, barrier.Call{Kind: barrier.CallEnter, Key: key, Config: cfg, Entry: barrier.Entry{Host: on.Name(), Label: fmt.Sprint(strings.Repeat("x", 200), i)}})] = true
			}
			small := func(when string) {
				t.Helper()
				for i := 0; ; i++ {
					k := barrier.Key{Name: fmt.Sprint(when, i)}
					if barrier.ManagersOf(c.view, k.Name)[0] != barrier.ManagersOf(c.view, key.Name)[0] {
						continue
					}
					id := c.call(on, barrier.Call{Kind: barrier.CallEnter, Key: k, Config: barrier.Config{Max: 1}, Entry: barrier.Entry{Host: "a"}})
					c.settle(2 * time.Second)
					if d := c.done[id]; d.Verdict != barrier.Fire {
						t.Fatalf("%s: another barrier of the primary: %+v", when, d)
					}
					return
				}
			}
			for i := range n - 1 {
				enter(i)
			}
			c.settle(time.Second)
			small("entered")
			c.view.Members = append(c.view.Members, c.start())
			c.learn()
			small("after a join")
			gone := barrier.ManagersOf(c.view, key.Name)[0]
			delete(c.cores, gone)
			c.view.Members = slices.DeleteFunc(c.view.Members, func(id phalanx.NodeID) bool { return id == gone })
			c.learn()
			small("after a failover")
			if len(c.done) != 3 {
				t.Fatalf("%d have passed", len(c.done))
			}
			enter(n - 1)
			c.settle(5 * time.Second)
			for id := range ids {
				if d, ok := c.done[id]; !ok || d.Verdict != barrier.Fire {
					t.Fatalf("call %d: %+v, %v", id, d, ok)
				}
			}
			hosts := c.call(on, barrier.Call{Kind: barrier.CallHosts, Key: key})
			c.settle(5 * time.Second)
			if got := len(c.done[hosts].Hosts[on.Name()]); got != n {
				t.Errorf("%d of %d have passed", got, n)
			}
			if c.longest > most {
				t.Errorf("a message has %d bytes, and %d are wanted", c.longest, most)
			}
			for _, kind := range []string{"Reached", "Answers", "Replicate", "Gathered", "Passed"} {
				if got := c.parts["barrier."+kind]; got < n*200>>18 {
					t.Errorf("%d messages %s", got, kind)
				}
			}
			t.Logf("the longest of %v has %d bytes", c.parts, c.longest)
		})
	}
}

// The longest Config is told in one message to those who join.
func TestTheLongestConfigCanBeTold(t *testing.T) {
	cfg := barrier.Config{Timeout: time.Hour, MinWait: time.Hour}
	for i := range barrier.MaxExpect / (200 + 3) {
		cfg.Expect = append(cfg.Expect, fmt.Sprintf("%0200d", i))
	}
	cfg.Max = len(cfg.Expect)
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	m := barrier.Opened{Key: barrier.Key{Name: strings.Repeat("n", barrier.MaxLabel), Generation: math.MaxUint64}, Term: math.MaxUint64, Stamp: math.MaxInt64, Config: cfg}
	l := BarrierToProto(phalanx.NodeID(longest(1)), phalanx.NodeID(longest(2)), m)
	if n := proto.Size(l); n < barrier.MaxExpect || n > limits.MaxControl {
		t.Errorf("it has %d bytes, %d can be sent", n, limits.MaxControl)
	}
	if _, _, got, err := BarrierFromProto(wire(t, l)); err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("it does not cross: %v", err)
	}
}

// What barriers send is cut by weights, since their core knows no encoding.
func TestNothingOfABarrierIsLongerThanItsWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		check := func(m proto.Message, weight int) {
			if is := proto.Size(m); is+1+4 > weight { // with its tag and length in a list
				t.Fatalf("%d bytes weigh %d: %v", is, weight, m)
			}
		}
		e := anyOf[barrier.Entrance]().Draw(t, "entrance")
		e.Tries = make([]uint64, len(e.Nodes))
		for i := range e.Tries {
			e.Tries[i] = rapid.Uint64().Draw(t, "try")
		}
		check(fromEntrances([]barrier.Entrance{e})[0], e.Weight())
		op := anyOf[barrier.Op]().Draw(t, "op")
		check(fromOp(op), op.Weight())
		r := anyOf[barrier.Reached]().Draw(t, "reached")
		check(fromReached(r), r.Weight())
		a := anyOf[barrier.Answered]().Draw(t, "answered")
		check(fromAnswered(a), a.Weight())
		q := anyOf[barrier.Asked]().Draw(t, "asked")
		check(fromAsked(q), q.Weight())
		s := anyOf[barrier.State]().Draw(t, "state")
		s.Entrances, s.Queue, s.Holders, s.Asks, s.Adaptive.Took = nil, nil, nil, nil, nil
		for _, tomb := range s.Tombs {
			check(fromBarrierState(barrier.State{Tombs: []barrier.Tomb{tomb}}).GetTombs()[0], tomb.Weight())
		}
		s.Tombs = nil
		check(fromBarrierState(s), s.Weight())
	})
}
